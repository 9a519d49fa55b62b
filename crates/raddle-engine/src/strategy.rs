//! The interface of scheduling algorithms.

use crate::Rng;
use crate::engine::Engine;
use crate::objects::{Objects, Resource};
use crate::pending::{ThreadSet, bit, bits};
use crate::threads::{Status, Threads};
use raddle_model::{
    Event, Ledger, LocationId, Name, ObjectId, Operation, Stronger, ThreadId, Trace, Verdict,
};

/// A scheduling algorithm: chooses the next thread.
///
/// For each run the engine calls [`begin`](Strategy::begin), then [`choose`](Strategy::choose) once per step
/// (less often if the strategy answers [`Choice::RunOn`]) and [`pick`](Strategy::pick) for other decisions,
/// then [`learn`](Strategy::learn). A strategy reads no clock, environment or file and depends on no hash
/// order; all its randomness comes from the generator passed to `begin`.
///
/// Knowledge reaches the next run only through `learn`: a run may happen in a copy of the strategy that is
/// discarded afterwards ([`fork`](Strategy::fork)), and both ways must give the same schedules.
pub trait Strategy: Send + Sync {
    /// Starts a run. `rng` is this run's own stream.
    fn begin(&mut self, rng: Rng) -> Plan;

    /// Chooses the thread that takes the next step. Called with at least one enabled thread, also if there is
    /// only one; must return an enabled one, or cut the run off.
    fn choose(&mut self, point: &Point<'_>) -> Choice;

    /// Chooses a number below `arity`, which is at least 2: which waiter a signal wakes, or a data choice.
    fn pick(&mut self, arity: u32) -> u32;

    /// Names a number below `arity`, which is at least 2, under weak memory: which write a read returns, or behind which
    /// one a write goes. 0 is the newest. The default is [`pick`](Strategy::pick), which suits strategies that try
    /// all answers; randomized ones use [`Rng::message`], and those inside which another one runs ask that.
    fn pick_message(&mut self, arity: u32) -> u32 {
        self.pick(arity)
    }

    /// Learns from a finished run. The default ignores it.
    fn learn(&mut self, _run: &RunSummary<'_>) {}

    /// Returns the data that the strategy needs recorded or tracked. The default is as little as possible.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Returns the memory orders that are raised in the run that begins, under weak memory.
    fn stronger(&self) -> Vec<Stronger> {
        Vec::new()
    }

    /// Returns true if `learn` can change later runs. If not, runs may be spread over cores in any order.
    fn learns(&self) -> bool;

    /// Returns the estimated number of partial orders of the program, if the strategy estimates it.
    fn space(&self) -> Option<f64> {
        None
    }

    /// Returns the iRoots that the strategy knows, if it tracks them.
    fn ledger(&self) -> Option<&Ledger> {
        None
    }

    /// Adds the iRoots known from earlier searches. Called before the first run, if at all.
    fn recall(&mut self, _known: &Ledger) {}

    /// Returns a copy with the same knowledge.
    fn fork(&self) -> Box<dyn Strategy>;
}

/// The answer of [`Strategy::begin`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// There is another run.
    Run,
    /// Every schedule that the strategy promises has been run.
    Exhausted,
}

/// The answer of [`Strategy::choose`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// This thread takes the next step.
    Run(ThreadId),
    /// This thread takes the next step, and may execute up to this many further memory accesses at once: the
    /// strategy would choose it as long as no other thread becomes enabled or disabled. The engine may still
    /// ask earlier.
    RunOn(ThreadId, u32),
    /// The rest of the run would only repeat another one: end it here.
    CutOff,
}

/// The requests of a strategy: data to be recorded or tracked beyond the events, and when timeouts and the
/// program exit may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Record the enabled threads of every point.
    pub enabled: bool,
    /// Keep [`Point::state`] up to date, and record it for every point.
    pub state: bool,
    /// Keep [`Point::location_name`] and [`RunSummary::location_name`] the same in all runs.
    pub location_names: bool,
    /// Delay the program exit ([`Kind::Exit`](raddle_model::Kind)) until nothing else can run, in the run
    /// that begins.
    pub exit_last: bool,
    /// Let timeouts fire at any step, in the run that begins.
    pub timeouts_anytime: bool,
    /// Let accesses to atomics read old values in the run that begins, as under [`MemoryModel::Weak`](raddle_model::MemoryModel).
    pub weak_memory: bool,
}

/// A scheduling point: every thread that can take the next step, with the operation it would execute.
#[derive(Clone, Copy)]
pub struct Point<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) changed: &'a ThreadSet,
    /// Number of steps so far.
    pub step: u64,
}

impl<'a> Point<'a> {
    /// Returns the threads that can take the next step, in an order that depends only on the steps so far.
    #[inline]
    pub fn enabled(&self) -> &'a [ThreadId] {
        self.engine.threads.enabled()
    }

    /// Returns true if `thread` can take the next step.
    #[inline]
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.engine.threads.is_enabled(thread)
    }

    /// Returns the next operation of `thread`; meaningful while it has one, as every enabled thread does.
    #[inline]
    pub fn operation(&self, thread: ThreadId) -> &'a Operation {
        self.engine.threads.operation(thread)
    }

    /// Returns true if `thread` has ended and has no next operation.
    #[inline]
    pub fn has_ended(&self, thread: ThreadId) -> bool {
        self.engine.threads.get(thread).status == Status::Done
    }

    /// Iterates over the threads whose next operation is new, or that became enabled or disabled, since the
    /// last point. A thread may occur more than once.
    #[inline]
    pub fn changed(&self) -> impl Iterator<Item = ThreadId> + use<'a> {
        self.changed.iter()
    }

    /// Calls `action` with each thread of [`Point::changed`], and true if it is enabled.
    #[inline(always)] // The action is short.
    pub fn for_changed(&self, mut action: impl FnMut(ThreadId, bool)) {
        let enabled = self.engine.threads.enabled_few();
        bits(self.changed.few()).for_each(|thread| action(thread, enabled & bit(thread) != 0));
        for &thread in self.changed.many() {
            action(thread, self.is_enabled(thread));
        }
    }

    /// Returns the latest event, if any.
    #[inline]
    pub fn last(&self) -> Option<&'a Event> {
        self.engine.trace.events.last()
    }

    /// Returns the same point for a nested strategy that does not see every step: `step` steps were its own,
    /// and `changed` are the changes since it was last asked.
    #[must_use]
    pub fn for_inner(&self, step: u64, changed: &'a ThreadSet) -> Point<'a> {
        Point { step, changed, ..*self }
    }

    /// Iterates over the threads, enabled or not, whose next operation touches `object`.
    #[inline]
    pub fn pending_on(&self, object: ObjectId) -> impl Iterator<Item = ThreadId> + 'a {
        self.touching(object).map(|(thread, _)| thread)
    }

    /// Iterates over the threads of [`Point::pending_on`], with true if the operation writes `object`.
    #[inline]
    pub fn touching(&self, object: ObjectId) -> impl Iterator<Item = (ThreadId, bool)> + 'a {
        self.engine.pending.touching(object)
    }

    /// Calls `action` with each enabled thread except `thread` whose next operation touches `object`; with
    /// `writers`, only with those that write it.
    #[inline(always)] // The action is short.
    pub fn for_rivals(
        &self,
        thread: ThreadId,
        object: ObjectId,
        writers: bool,
        mut action: impl FnMut(ThreadId),
    ) {
        let Engine { threads, pending, .. } = self.engine;
        let few = pending.few(object, writers) & threads.enabled_few() & !bit(thread);
        bits(few).for_each(&mut action);
        for (other, writes) in pending.many(object) {
            if other != thread && (writes || !writers) && threads.is_enabled(other) {
                action(other);
            }
        }
    }

    /// Returns the same point with threads as bits, if the run has had at most `most` threads so far and a
    /// word has that many bits.
    #[inline]
    pub fn few(&self, most: usize) -> Option<SmallPoint<'a>> {
        let count = self.thread_count();
        (count <= most.min(64)).then_some(SmallPoint {
            engine: self.engine,
            changed: self.changed.few(),
            count,
        })
    }

    /// Returns the number of threads so far; their ids are below this number.
    #[inline]
    pub fn thread_count(&self) -> usize {
        self.engine.threads.len()
    }

    /// Returns the number of objects so far; their ids are below this number.
    #[inline]
    pub fn object_count(&self) -> usize {
        self.engine.objects.len()
    }

    /// Returns the name of a thread, which is equal in all runs.
    #[inline]
    pub fn thread_name(&self, thread: ThreadId) -> Name {
        self.engine.threads.name(thread)
    }

    /// Returns the name of an object, which is equal in all runs.
    #[inline]
    pub fn object_name(&self, object: ObjectId) -> Name {
        self.engine.objects.name(object)
    }

    /// Returns the name of a code location, which is equal in all runs if [`Needs::location_names`] was
    /// requested.
    #[inline]
    pub fn location_name(&self, location: LocationId) -> Name {
        self.engine.location_name(location)
    }

    /// Returns the thread that created `thread`; `None` if it existed from the start.
    #[inline]
    pub fn parent(&self, thread: ThreadId) -> Option<ThreadId> {
        self.engine.threads.parent(thread)
    }

    /// Returns the number of steps of `thread`.
    #[inline]
    pub fn progress(&self, thread: ThreadId) -> u32 {
        self.engine.threads.progress(thread)
    }

    /// Returns a hash of the position of every thread and the content of every object, if the front end
    /// provides them; otherwise of the partial order so far, which determines both. Equal states have equal
    /// hashes in the first case, and equivalent beginnings of a run in both. Meaningless unless
    /// [`Needs::state`] was requested.
    #[inline]
    pub fn state(&self) -> u64 {
        self.engine.state()
    }

    /// Returns the partial-order fingerprint of the steps so far: equal for equivalent beginnings of a run.
    #[inline]
    pub fn fingerprint(&self) -> u64 {
        self.engine.fingerprint
    }
}

/// A [`Point`] of a run with few threads: sets of threads are words, in which thread number `i` is the bit of value `1 << i`.
#[derive(Clone, Copy)]
pub struct SmallPoint<'a> {
    engine: &'a Engine,
    /// See [`Point::changed`].
    pub changed: u64,
    /// See [`Point::thread_count`].
    pub count: usize,
}

impl SmallPoint<'_> {
    /// See [`Point::enabled`].
    #[inline]
    pub fn enabled(&self) -> u64 {
        self.engine.threads.enabled_few()
    }

    /// Returns the threads, enabled or not, whose next operation touches `object`; with `writers`, those that write it.
    #[inline]
    pub fn touching(&self, object: ObjectId, writers: bool) -> u64 {
        self.engine.pending.few(object, writers)
    }

    /// Returns the threads for which [`Point::for_rivals`] calls its action.
    #[inline]
    pub fn rivals(&self, thread: ThreadId, object: ObjectId, writers: bool) -> u64 {
        self.engine.pending.few(object, writers) & self.enabled() & !(1 << (thread.0 % 64))
    }
}

/// The summary of a run, for [`Strategy::learn`] and for the caller of the run.
#[derive(Clone, Copy)]
pub struct RunSummary<'a> {
    /// The events and decisions.
    pub trace: &'a Trace,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// The partial-order fingerprint: equal for equivalent schedules, and different for others except with a
    /// probability of about 2^-64 a pair.
    pub fingerprint: u64,
    /// Number of times a spinning thread was descheduled; zero means that the strategy's guarantee holds
    /// without restriction.
    pub rests: u64,
    /// True if a choice of the run was smaller than the memory model allows, because writes had been dropped that could have
    /// been read.
    pub forgot_writes: bool,
    /// The threads that events unblocked: waiters woken by a signal, and all that arrived at a barrier when
    /// it opened.
    pub(crate) freed: &'a [(u32, ThreadId)],
    /// Number of events at each move of the virtual clock.
    pub(crate) ticks: &'a [u32],
    pub(crate) threads: &'a Threads,
    pub(crate) objects: &'a Objects,
    pub(crate) location_names: &'a [Name],
}

impl<'a> RunSummary<'a> {
    /// Returns the same run with another trace, for a nested strategy that does not see every step. It has no
    /// wake-ups.
    #[must_use]
    pub fn with_trace(&self, trace: &'a Trace) -> RunSummary<'a> {
        RunSummary { trace, freed: &[], ticks: &[], ..*self }
    }

    /// Returns the name of a thread, which is equal in all runs.
    pub fn thread_name(&self, thread: ThreadId) -> Name {
        self.threads.name(thread)
    }

    /// Returns the number of events at each move of the virtual clock, which moves when no thread is enabled.
    pub fn ticks(&self) -> &'a [u32] {
        self.ticks
    }

    /// Returns true if a thread runs in the background.
    pub fn is_background(&self, thread: ThreadId) -> bool {
        self.threads.get(thread).background
    }

    /// Returns true if an object is a mailbox: senders never wait, and its owner waits until something has
    /// come.
    pub fn is_mailbox(&self, object: ObjectId) -> bool {
        matches!(self.objects.get(object).resource, Resource::Mailbox { .. })
    }

    /// Returns the event that created a thread; `None` for those that existed from the start.
    pub fn made_at(&self, thread: ThreadId) -> Option<usize> {
        (self.threads.get(thread).born as usize).checked_sub(1)
    }

    /// Returns the name of an object, which is equal in all runs.
    pub fn object_name(&self, object: ObjectId) -> Name {
        self.objects.name(object)
    }

    /// Returns the name of a code location, which is equal in all runs if [`Needs::location_names`] was
    /// requested.
    pub fn location_name(&self, location: LocationId) -> Name {
        self.location_names.get(location.index()).copied().unwrap_or(Name(u64::from(location.0)))
    }

    /// Returns the number of threads.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Returns the number of objects.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// Returns true if `object` is a recursive mutex. `None` if it was destroyed.
    pub fn counts_again(&self, object: ObjectId) -> Option<bool> {
        self.objects.counts_again(object)
    }

    /// Returns true if `object` is a lock (mutex or read-write lock).
    pub fn is_lock(&self, object: ObjectId) -> bool {
        self.objects.is_lock(object)
    }
}
