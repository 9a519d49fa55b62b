//! Vector clocks over a finished run.

use crate::objects::Resource;
use crate::strategy::RunSummary;
use crate::threads::Status;
use raddle_model::{Event, Handoff, Kind, ObjectId, Operation, Reads, ThreadId, Token, dependent};

/// The orders between threads that a clock tracks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edges {
    /// All: accesses to any common object, one of which writes.
    All,
    /// Only those of synchronisation, not the order of memory accesses.
    Synchronisation,
    /// Only those of synchronisation by which a thread waits until another one has done something. Excludes
    /// the order of locks, and that of a wait before the operation that ended it.
    Lasting,
}

/// For each event, the number of events of each thread that happen before it or are it.
#[derive(Debug)]
pub struct Clocks {
    threads: usize,
    /// Event after event, one number per thread.
    at: Vec<u32>,
    /// Event after event: the clock of the same thread just before, including what created or woke it.
    before: Vec<u32>,
}

impl Clocks {
    /// Computes the happens-before relation in which any two dependent events are ordered: the partial order
    /// of the run.
    pub fn partial_order(run: &RunSummary<'_>) -> Clocks {
        Builder::new(run, Edges::All).build()
    }

    /// Computes the relation in which only synchronisation orders events; two unordered dependent accesses
    /// are a data race.
    pub fn synchronisation(run: &RunSummary<'_>) -> Clocks {
        Builder::new(run, Edges::Synchronisation).build()
    }

    /// Computes the relation that is likely to hold in other runs too: creation and end of threads, wake-ups,
    /// barriers, and tokens that were posted, sent, initialised or unparked before they were taken. The order
    /// in which locks are taken is not part of it.
    pub fn lasting(run: &RunSummary<'_>) -> Clocks {
        Builder::new(run, Edges::Lasting).build()
    }

    /// Returns true if the `nth` event of `thread` (from 1) happens before event `later` or is that event.
    #[inline]
    pub fn ordered(&self, thread: ThreadId, nth: u32, later: usize) -> bool {
        self.at[later * self.threads + thread.index()] >= nth
    }

    /// Returns true if the `nth` event of `thread` (from 1) was already known to the thread of event `later`
    /// just before that event, so that no schedule can swap the two without changing what came before.
    #[inline]
    pub fn known_before(&self, thread: ThreadId, nth: u32, later: usize) -> bool {
        self.before[later * self.threads + thread.index()] >= nth
    }

    /// Returns the clock of an event: one number per thread.
    pub fn of(&self, event: usize) -> &[u32] {
        &self.at[event * self.threads..][..self.threads]
    }
}

/// Calls `found` with each pair of events of different threads that are dependent and that synchronisation
/// does not order: the conflicts of conflict analysis (thesis, section 4.2.3). Each pair is found once. Only
/// the clocks of threads and objects that are still needed are kept.
pub fn conflicts(run: &RunSummary<'_>, mut found: impl FnMut(usize, usize)) {
    let events = &run.trace.events;
    let mut nth = vec![0_u32; run.thread_count()];
    let mut on: Vec<Vec<(usize, u32)>> = vec![Vec::new(); run.object_count()];
    let each = |index: usize, before: &Clock| {
        let event = &events[index];
        nth[event.thread.index()] += 1;
        for (slot, (object, _)) in event.operation.objects().enumerate() {
            let earlier = &mut on[object.0 as usize];
            for &(other, count) in earlier.iter() {
                let thread = events[other].thread;
                // Two events may share both objects of the later one.
                let first =
                    events[other].operation.objects().any(|(o, _)| Some(o) == event.operation.object());
                if thread != event.thread
                    && (slot == 0 || !first)
                    && before.of(thread.index()) < count
                    && dependent(&events[other].operation, &event.operation, Reads::Independent)
                {
                    found(other, index);
                }
            }
            earlier.push((index, nth[event.thread.index()]));
        }
    };
    Builder::new(run, Edges::Synchronisation).walk(each, |_| ());
}

/// The events that a thread knows of.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a>(&'a Clock);

impl Known<'_> {
    /// Returns the number of events of `thread` that are known.
    #[inline]
    pub fn of(self, thread: ThreadId) -> u32 {
        self.0.of(thread.index())
    }
}

/// Calls `each` for every event with its number and what its thread knows through synchronisation just before it: an earlier
/// dependent event that it does not know is in conflict with it; see [`conflicts`].
pub fn walk_synchronisation(run: &RunSummary<'_>, mut each: impl FnMut(usize, Known<'_>)) {
    Builder::new(run, Edges::Synchronisation).walk(|index, clock| each(index, Known(clock)), |_| ());
}

/// Number of known events of each thread, for those threads of which some are known, and possibly others: a
/// run may have many threads that know of few others.
#[derive(Clone, Default, Debug)]
struct Clock(Vec<(u32, u32)>);

/// The number of threads up to which the clock of a thread has all of them from the start.
const FEW: usize = 16;

impl Clock {
    /// Creates the clock of a thread that knows of none of `threads` threads.
    fn new(threads: usize) -> Clock {
        let all = if threads <= FEW { threads as u32 } else { 0 };
        Clock((0..all).map(|thread| (thread, 0)).collect())
    }

    /// Returns true if each entry is at the number of its thread. Entries are sorted.
    #[inline]
    fn is_dense(&self) -> bool {
        self.0.last().is_none_or(|&(last, _)| last as usize + 1 == self.0.len())
    }

    #[inline]
    fn find(&self, thread: usize) -> Result<usize, usize> {
        // Where all threads are known, each is at its own number.
        if self.0.get(thread).is_some_and(|&(other, _)| other == thread as u32) {
            return Ok(thread);
        }
        self.0.binary_search_by_key(&(thread as u32), |&(other, _)| other)
    }

    fn of(&self, thread: usize) -> u32 {
        self.find(thread).map_or(0, |entry| self.0[entry].1)
    }

    #[inline]
    fn count(&mut self, thread: usize) {
        match self.find(thread) {
            Ok(entry) => self.0[entry].1 += 1,
            Err(entry) => self.0.insert(entry, (thread as u32, 1)),
        }
    }

    /// Joins the knowledge of `other`.
    #[inline]
    fn join(&mut self, other: &Clock) {
        if !self.is_dense() || !other.is_dense() {
            return self.join_sparse(other);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.1 = mine.1.max(theirs.1);
        }
        if let Some(more) = other.0.get(self.0.len()..) {
            self.0.extend_from_slice(more);
        }
    }

    #[inline(never)] // Keeps the case of few threads short.
    fn join_sparse(&mut self, other: &Clock) {
        let (mut next, mut missing) = (0, false);
        for &(thread, theirs) in &other.0 {
            while self.0.get(next).is_some_and(|entry| entry.0 < thread) {
                next += 1;
            }
            match self.0.get_mut(next) {
                Some(entry) if entry.0 == thread => entry.1 = entry.1.max(theirs),
                _ => missing = true,
            }
        }
        if missing {
            let known = std::mem::take(&mut self.0);
            let mut mine = known.into_iter().peekable();
            for &(thread, theirs) in &other.0 {
                while let Some(entry) = mine.next_if(|entry| entry.0 < thread) {
                    self.0.push(entry);
                }
                self.0.push(mine.next_if(|entry| entry.0 == thread).unwrap_or((thread, theirs)));
            }
            self.0.extend(mine);
        }
    }

    /// Appends one number for each of `threads` threads.
    #[inline]
    fn write(&self, threads: usize, into: &mut Vec<u32>) {
        if self.0.len() == threads {
            return into.extend(self.0.iter().map(|&(_, count)| count));
        }
        let from = into.len();
        into.resize(from + threads, 0);
        self.0.iter().for_each(|&(thread, count)| into[from + thread as usize] = count);
    }
}

struct Builder<'a> {
    run: &'a RunSummary<'a>,
    edges: Edges,
    threads: usize,
    /// Number of events of each thread in the whole run.
    total: Vec<u32>,
    /// Per thread: the last event at which its clock is needed.
    needed: Vec<usize>,
    now: Vec<Clock>,
    /// Per thread: its knowledge after its next step, because the virtual clock has moved.
    past: Vec<Option<Clock>>,
    /// Per object: the clock of the last write, and the joined clocks of the reads since.
    objects: Vec<Touched>,
}

/// The knowledge that is published at an object.
#[derive(Clone, Default)]
struct Touched {
    write: Clock,
    reads: Clock,
    /// The last event of the run that touches it.
    last: usize,
}

impl<'a> Builder<'a> {
    fn new(run: &'a RunSummary<'a>, edges: Edges) -> Builder<'a> {
        let threads = run.thread_count();
        let mut total = vec![0; threads];
        let mut objects = vec![Touched::default(); run.object_count()];
        for (index, event) in run.trace.events.iter().enumerate() {
            total[event.thread.index()] += 1;
            event.operation.objects().for_each(|(object, _)| objects[object.0 as usize].last = index);
        }
        Builder {
            run,
            edges,
            threads,
            total,
            needed: needed(run, edges),
            now: vec![Clock::new(threads); threads],
            past: vec![None; threads],
            objects,
        }
    }

    fn build(self) -> Clocks {
        let threads = self.threads;
        let size = self.run.trace.events.len() * threads;
        let (mut at, mut before) = (Vec::with_capacity(size), Vec::with_capacity(size));
        self.walk(|_, clock| clock.write(threads, &mut before), |clock| clock.write(threads, &mut at));
        Clocks { threads, at, before }
    }

    /// Calls `before` for every event with its number and the clock of its thread just before it, and `after` with the
    /// clock of its thread with it.
    fn walk(mut self, mut before: impl FnMut(usize, &Clock), mut after: impl FnMut(&Clock)) {
        let trace = self.run.trace;
        let born = |thread: usize| self.run.threads.get(ThreadId(thread as u32)).born as usize;
        // Threads that exist before the first event know of none.
        let mut next_thread = (0..self.threads).take_while(|&thread| born(thread) == 0).count();
        let mut freed = self.run.freed;
        let mut ticks = self.run.ticks;
        // Whatever a transaction learns is before all of it.
        let mut joined = self.run.trace.joined.as_slice();
        let mut whole = 0;
        for (index, event) in trace.events.iter().enumerate() {
            let thread = event.thread.index();
            let operation = &event.operation;
            while let Some((_, later)) = ticks.split_first().filter(|(tick, _)| **tick as usize <= index) {
                ticks = later;
                self.pass_time();
            }
            before(index, &self.now[thread]);
            let (learns, tells) = self.part(operation.kind);
            if learns {
                self.learn_from_objects(thread, operation.objects());
            }
            if !joined.is_empty() && self.edges == Edges::All && index >= whole {
                whole = index + 1;
                while let Some((_, later)) = joined.split_first().filter(|(next, _)| **next as usize == whole)
                {
                    joined = later;
                    if let Some(event) = trace.events.get(whole) {
                        self.learn_from_objects(thread, event.operation.objects());
                    }
                    whole += 1;
                }
            }
            if self.edges == Edges::All && operation.kind == Kind::Exit {
                (0..self.threads).for_each(|other| self.learn(thread, other));
            }
            if operation.kind == Kind::Join
                && let Some(target) = self.joined(operation)
            {
                self.learn(thread, target);
            }
            self.now[thread].count(thread);
            if tells {
                self.tell_objects(thread, operation.objects());
            }
            for (object, _) in operation.objects() {
                let object = &mut self.objects[object.0 as usize];
                if object.last == index {
                    *object = Touched::default();
                }
            }
            // Not every thread comes from a spawn: a timer appears with another step of the thread that sets
            // it.
            while next_thread < self.threads && born(next_thread) == index + 1 {
                if let Some(parent) = trace.parents.get(next_thread).copied().flatten() {
                    self.now[next_thread] = self.now[parent.index()].clone();
                }
                next_thread += 1;
            }
            after(&self.now[thread]);
            if let Some(past) = self.past[thread].take() {
                self.now[thread].join(&past);
            }
            if freed.first().is_some_and(|(step, _)| *step as usize == index) {
                let count = freed.iter().take_while(|(step, _)| *step as usize == index).count();
                let (mine, later) = freed.split_at(count);
                freed = later;
                self.free(thread, operation.kind, mine);
            }
            if self.needed[thread] <= index {
                self.now[thread] = Clock::default();
            }
        }
    }

    /// Returns two flags for operations of this kind: true if the operation learns from the objects that it
    /// touches, and true if the objects learn from it.
    fn part(&self, kind: Kind) -> (bool, bool) {
        match self.edges {
            Edges::All => (true, true),
            Edges::Synchronisation => (!kind.is_memory(), !kind.is_memory()),
            Edges::Lasting => match kind.info().handoff {
                Handoff::None => (false, false),
                Handoff::Gives(_) => (false, true),
                // An attempt at a semaphore may have failed, and other posts would have served as well.
                Handoff::Takes(Token::Permit) if kind.info().attempt => (false, false),
                Handoff::Takes(_) => (true, false),
            },
        }
    }

    fn learn_from_objects(&mut self, thread: usize, objects: impl Iterator<Item = (ObjectId, bool)>) {
        for (object, writes) in objects {
            let object = &self.objects[object.0 as usize];
            self.now[thread].join(&object.write);
            if writes {
                self.now[thread].join(&object.reads);
            }
        }
    }

    fn tell_objects(&mut self, thread: usize, objects: impl Iterator<Item = (ObjectId, bool)>) {
        for (object, writes) in objects {
            let (object, clock) = (&mut self.objects[object.0 as usize], &self.now[thread]);
            if self.edges == Edges::Lasting {
                // The publishing thread has not learnt what others published.
                object.write.join(clock);
            } else if writes {
                object.write.0.clone_from(&clock.0);
                object.reads.0.clear();
            } else {
                object.reads.join(clock);
            }
        }
    }

    /// Records that the virtual clock moved, which happens only when no thread is enabled. Whatever a thread
    /// does after its next step comes after everything so far. The next step itself was announced before: it
    /// could have come before others that it waited for.
    fn pass_time(&mut self) {
        if self.edges != Edges::All {
            return;
        }
        let mut all = Clock::default();
        self.now.iter().for_each(|clock| all.join(clock));
        self.past.iter_mut().for_each(|past| *past = Some(all.clone()));
    }

    /// Adds the knowledge of `other` to `thread`.
    fn learn(&mut self, thread: usize, other: usize) {
        let clock = self.now[other].clone();
        self.now[thread].join(&clock);
    }

    /// Returns the thread whose end `operation`, a join that is about to be executed, waited for. One that
    /// timed out has none.
    fn joined(&self, operation: &Operation) -> Option<usize> {
        let object = operation.object()?;
        let Resource::Thread(target) = self.run.objects.get(object).resource else { return None };
        let index = target.index();
        let done = self.run.threads.get(target).status == Status::Done;
        (done && self.now[index].of(index) == self.total[index]).then_some(index)
    }

    /// Passes knowledge to the threads that the latest event unblocked: that of the event, or of all arrivals
    /// if it opened a barrier.
    fn free(&mut self, thread: usize, kind: Kind, freed: &[(u32, ThreadId)]) {
        let mut clock = self.now[thread].clone();
        if kind == Kind::Barrier {
            freed.iter().for_each(|(_, arrived)| clock.join(&self.now[arrived.index()]));
        }
        freed.iter().for_each(|(_, woken)| self.now[woken.index()].join(&clock));
    }
}

/// Returns, per thread, the last event at which its clock is needed: its last one, or the one that creates
/// its last child. If threads are joined or meet at barriers, or if everything is ordered, it may be needed
/// until the end.
fn needed(run: &RunSummary<'_>, edges: Edges) -> Vec<usize> {
    let threads = run.thread_count();
    let events = &run.trace.events;
    let asked = |event: &Event| event.operation.kind == Kind::Join || event.operation.kind == Kind::Barrier;
    if edges == Edges::All || events.iter().any(asked) {
        return vec![usize::MAX; threads];
    }
    let mut needed = vec![0; threads];
    for (child, parent) in run.trace.parents.iter().enumerate() {
        if let Some(parent) = parent {
            let born = run.threads.get(ThreadId(child as u32)).born as usize;
            needed[parent.index()] = born.saturating_sub(1);
        }
    }
    for (index, event) in events.iter().enumerate() {
        let last = &mut needed[event.thread.index()];
        *last = (*last).max(index);
    }
    needed
}
