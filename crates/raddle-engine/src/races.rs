//! Data races: two accesses of different threads to the same memory, at least one of which writes and at
//! least one of which is plain, such that neither happens before the other.
//!
//! Unless weak memory is explored ([`weak`]), a run is sequentially consistent whatever memory orders its
//! program names, but happens-before follows those orders, so that data published by a relaxed store is a
//! race even if the run read the right value. Happens-before is program order and:
//!
//! * from a spawn to the new thread, and from the end of a thread to a join that waited for it;
//! * from an unlock to later locks of a mutex; a wait on a condition variable unlocks and locks. The signal
//!   itself orders nothing, because a waiter may wake without one;
//! * from a writer's unlock of a read-write lock to later locks, and from a reader's to later writers;
//! * from posts of a semaphore to later waits that succeed, from the end of a one-time initialisation to
//!   those that find it ended or abandoned, from an unpark to a park that takes the token: if there are
//!   several, all count;
//! * from all arrivals at a barrier to all departures;
//! * from a send to the receive of that value; from the receives of a bounded channel to later sends; from
//!   the end of either side to an operation that finds it gone;
//! * from a releasing write to an acquiring read that reads it or a read-modify-write that follows in its
//!   release sequence, by the rules of C++20, which are Rust's: any other write ends the sequence, also one
//!   of the same thread. A fence makes the relaxed writes after it release and the relaxed reads before it
//!   acquire.
//!
//! The first race of a run is found at its second access, however far apart the two are. The method is that
//! of FastTrack (Flanagan and Freund, PLDI 2009): the last plain write and the plain reads since, each as a
//! thread and a count, against the vector clock of the thread. Not found under sequential consistency: values
//! that only a weaker memory model could show, and their consequences.

mod clock;
mod history;
mod messages;
mod synchronisation;
mod weak;

use crate::engine::{Engine, Reply};
use crate::strategy::Strategy;
use clock::{Clock, ThreadClocks};
use history::{History, Mark};
use messages::Messages;
use raddle_model::{
    Access, Failure, Kind, MemoryModel, MemoryOrder, ObjectId, Operation, RacingAccess, ThreadId, Touch,
};
use std::collections::VecDeque;
use weak::Weak;

pub use weak::OldRead;

/// The data races that end a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Races {
    /// None.
    #[default]
    Ignored,
    /// Races between plain accesses. Tracking starts at the first plain access of a run; nothing can race
    /// before it.
    BetweenPlain,
    /// Also races between a plain and an atomic access to the same object. Everything is tracked.
    All,
}

/// The race-detection state of an object.
#[derive(Default, Debug)]
struct Shadow {
    /// The clock that the next acquirer joins: of memory, the next acquiring read; of a lock, the next lock.
    published: Clock,
    /// The readers' unlocks of a read-write lock; the receives of a channel.
    given_back: Clock,
    /// The clock sent with each value in a channel, the oldest first.
    values: VecDeque<Clock>,
    history: History,
    /// Under weak memory, what an atomic holds; each message has what it published.
    messages: Messages,
}

impl Shadow {
    fn clear(&mut self) {
        self.published.clear();
        self.given_back.clear();
        self.values.clear();
        self.history.clear();
    }
}

/// Happens-before of the run so far, and the accesses that a later one may race with.
#[derive(Default, Debug)]
pub(crate) struct Tracker {
    on: bool,
    /// An executed compare-and-exchange that is not yet known to have written or not.
    exchange: Option<(ThreadId, Operation)>,
    /// A race that the front end may forgive before the next step.
    suspected: Option<Failure>,
    threads: Vec<ThreadClocks>,
    objects: Vec<Shadow>,
    is_weak: bool,
    /// In a box, so that an engine stays small.
    weak: Box<Weak>,
}

impl Tracker {
    /// Discards the previous run.
    #[inline]
    pub(crate) fn begin(&mut self, races: Races, memory: MemoryModel) {
        if self.on {
            self.exchange = None;
            self.suspected = None;
            self.threads.iter_mut().for_each(ThreadClocks::clear);
            self.objects.iter_mut().for_each(Shadow::clear);
        }
        self.on = races == Races::All;
        self.begin_weak(memory);
    }

    /// Returns true if anything is tracked.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Returns true if a memory access with this argument is relevant: it is plain, or anything is tracked.
    #[inline]
    pub(crate) fn watches(&self, argument: u64) -> bool {
        self.on | (argument == MemoryOrder::Plain as u64)
    }

    /// Returns true if an exchange or a race has to be settled before another operation is executed.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.exchange.is_some() || self.suspected.is_some()
    }

    /// Counts an event of `thread`.
    #[inline(always)] // On the path of each access under weak memory.
    fn tick(&mut self, thread: ThreadId) {
        self.make_room(thread);
        self.threads[thread.index()].now.increment(thread);
    }

    #[inline]
    fn make_room(&mut self, thread: ThreadId) {
        #[cold]
        fn grow(threads: &mut Vec<ThreadClocks>, thread: ThreadId) {
            threads.resize_with(thread.index() + 1, ThreadClocks::default);
        }
        if self.threads.len() <= thread.index() {
            grow(&mut self.threads, thread);
        }
    }

    fn make_room_for(&mut self, object: ObjectId) {
        if self.objects.len() <= object.index() {
            self.objects.resize_with(object.index() + 1, Shadow::default);
        }
    }

    fn parts(&mut self, thread: ThreadId, object: ObjectId) -> (&mut ThreadClocks, &mut Shadow) {
        self.make_room_for(object);
        (&mut self.threads[thread.index()], &mut self.objects[object.index()])
    }

    /// Records a memory access, which was event `step`. Returns the race that it completes.
    fn access(&mut self, thread: ThreadId, operation: &Operation, step: u32) -> Option<Failure> {
        let order = operation.memory_order()?;
        let mut race = None;
        // Under weak memory a plain access passes on what fences release, like a relaxed one: without a data race that
        // is known anyway, and a sequence lock whose data is volatile relies on it.
        let passes_on = order != MemoryOrder::Plain || self.is_weak;
        for touch in operation.touches {
            let Some(object) = touch.object() else { continue };
            let (clocks, shadow) = self.parts(thread, object);
            if passes_on {
                transfer(clocks, shadow, operation.kind, order);
            }
            let mark = Mark { thread, count: 0, step, location: operation.location, order };
            race = race.or(remember(clocks, shadow, mark, object, access_of(touch)));
        }
        race
    }
}

/// Adds an access, whose count is not known yet, to the history of its object; returns the race that it completes.
fn remember(
    clocks: &ThreadClocks,
    shadow: &mut Shadow,
    mut mark: Mark,
    object: ObjectId,
    access: Access,
) -> Option<Failure> {
    mark.count = clocks.now.of(mark.thread);
    let (first, earlier) = shadow.history.add(mark, access == Access::Write, &clocks.now)?;
    Some(Failure::DataRace { object, first: first.racing(earlier), second: mark.racing(access) })
}

/// Joins clocks for an atomic access: what it acquires from the object, and what it publishes there.
fn transfer(clocks: &mut ThreadClocks, shadow: &mut Shadow, kind: Kind, order: MemoryOrder) {
    if kind.reads_memory() {
        if order.acquires() {
            clocks.now.join(&shadow.published);
        } else {
            // A fence may follow.
            clocks.acquirable.join(&shadow.published);
        }
    }
    if kind.writes_memory() {
        let released = if order.releases() { &clocks.now } else { &clocks.fenced };
        if kind == Kind::Write {
            shadow.published.set(released);
        } else {
            shadow.published.join(released);
        }
    }
}

fn access_of(touch: Touch) -> Access {
    if touch.writes() { Access::Write } else { Access::Read }
}

impl Mark {
    fn racing(&self, access: Access) -> RacingAccess {
        let Mark { thread, step, location, order, .. } = *self;
        RacingAccess { thread, step, location, access, order }
    }
}

impl Engine {
    /// Records the memory access that `thread` has just executed; returns no reply if a race ended the run.
    #[cold]
    #[inline(never)]
    pub(crate) fn watch(&mut self, thread: ThreadId, strategy: &mut dyn Strategy) -> Option<Reply> {
        let operation = *self.threads.operation(thread);
        if self.races.is_weak {
            self.races.tick(thread);
            if self.races.is_weak_access(&operation) {
                return self.access_weakly(thread, &operation, strategy);
            }
            self.races.flatten(thread, &operation);
        } else if self.config.races == Races::Ignored && !self.races.on {
            return Some(Reply::Go);
        } else {
            self.races.on = true;
            self.races.tick(thread);
        }
        if operation.failure_order().is_some() {
            self.races.exchange = Some((thread, operation));
            self.alarm = 0;
            return Some(Reply::Go);
        }
        self.note_access(thread, &operation);
        if self.races.suspected.is_some() {
            return Some(Reply::Raced);
        }
        self.verdict.is_none().then_some(Reply::Go)
    }

    /// Keeps happens-before clocks in this run from its beginning, for [`Engine::clock`]. Must be called
    /// before the first step.
    pub fn keep_clocks(&mut self) {
        self.races.on = true;
    }

    /// Returns the number of events of each thread that happen before the next event of `thread`. Valid only
    /// in a run that [keeps clocks](Engine::keep_clocks).
    pub fn clock(&mut self, thread: ThreadId) -> &[u32] {
        self.settle_exchange();
        self.races.make_room(thread);
        self.races.threads[thread.index()].now.counts()
    }

    /// Forgives the race that the last access completed.
    pub fn forgive_race(&mut self) {
        self.races.suspected = None;
    }

    /// Forgets the accesses to `object`, memory that its sole owner has moved since: they happen before all later ones.
    #[cold]
    pub fn forget_accesses(&mut self, object: ObjectId) {
        if let Some(shadow) = self.races.objects.get_mut(object.index()) {
            shadow.history.clear();
        }
    }

    /// Records that the latest compare-and-exchange of `thread` wrote nothing because it found another value.
    /// Must be called before `thread` announces its next operation.
    #[inline]
    pub fn note_failed_exchange(&mut self, thread: ThreadId) {
        if let Some((exchanger, operation)) = &mut self.races.exchange
            && *exchanger == thread
            && let Some(order) = operation.failure_order()
        {
            // Only the first of its two touches is used.
            let object = operation.object().expect("an exchange touches an object");
            let read = Operation::new(Kind::Read, operation.location);
            *operation = read.on(object, Access::Read).ordered(order);
        }
    }

    /// Settles a pending exchange or race.
    #[cold]
    pub(crate) fn settle_races(&mut self) {
        self.settle_exchange();
        if let Some(race) = self.races.suspected.take() {
            self.fail(race);
        }
    }

    /// Records an exchange, now that its effect is known.
    fn settle_exchange(&mut self) {
        if let Some((thread, operation)) = self.races.exchange.take() {
            self.note_access(thread, &operation);
        }
    }

    fn note_access(&mut self, thread: ThreadId, operation: &Operation) {
        let step = self.trace.events.len() as u32 - 1;
        let race = self.races.access(thread, operation, step);
        self.note_race(race);
    }

    /// Takes note of an atomic access under weak memory; the thread goes on unless there was a race.
    fn note_atomic(&mut self, object: ObjectId, access: Access, mark: Mark) -> Option<Reply> {
        if self.config.races != Races::Ignored {
            let (clocks, shadow) = self.races.parts(mark.thread, object);
            let race = remember(clocks, shadow, mark, object, access);
            self.note_race(race);
            if self.races.suspected.is_some() {
                return Some(Reply::Raced);
            }
        }
        self.verdict.is_none().then_some(Reply::Go)
    }

    fn note_race(&mut self, race: Option<Failure>) {
        let Some(race) = race else { return };
        if self.config.races == Races::Ignored {
            return;
        }
        if self.config.judge_races {
            self.races.suspected = Some(race);
            self.alarm = 0;
        } else {
            self.fail(race);
        }
    }
}
