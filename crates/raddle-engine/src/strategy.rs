//! What a scheduling algorithm is.

use crate::Rng;
use crate::engine::Engine;
use crate::objects::{Objects, Resource};
use crate::pending::{ThreadSet, bit, bits};
use crate::threads::{Status, Threads};
use raddle_model::{Event, Ledger, LocationId, Name, ObjectId, Operation, ThreadId, Trace, Verdict};

/// Decides which thread runs next.
///
/// For each run the engine calls [`begin`](Strategy::begin), then [`choose`](Strategy::choose) once per step
/// (less often if the strategy answers with [`Choice::RunOn`]) and [`pick`](Strategy::pick) where a number is asked for, then [`learn`](Strategy::learn). A strategy reads no clock,
/// environment or file and depends on no hash order; all its randomness comes from the generator it is handed.
///
/// Knowledge reaches the next run through `learn` and nothing else: a run may happen in a copy of the strategy that
/// is thrown away afterwards ([`fork`](Strategy::fork)), and both ways must give the same schedules.
pub trait Strategy: Send + Sync {
    /// Starts a run. `rng` is this run's own stream.
    fn begin(&mut self, rng: Rng) -> Plan;

    /// Names the thread that takes the next step. Called with at least one enabled thread, also where there is only
    /// one; must answer with an enabled one, or cut the run off.
    fn choose(&mut self, point: &Point<'_>) -> Choice;

    /// Names a number below `arity`, which is at least 2: which waiter a signal wakes, or a data choice.
    fn pick(&mut self, arity: u32) -> u32;

    /// Takes note of a finished run. The default forgets it.
    fn learn(&mut self, _run: &RunSummary<'_>) {}

    /// What the strategy wants to have recorded or tracked. The default is as little as possible.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Whether `learn` can change what later runs do. If not, runs may be spread over cores in any order.
    fn learns(&self) -> bool;

    /// How many partial orders the strategy thinks the program has, if it keeps an estimate.
    fn space(&self) -> Option<f64> {
        None
    }

    /// What the strategy knows of iRoots, if it looks at them.
    fn ledger(&self) -> Option<&Ledger> {
        None
    }

    /// Takes note of what is known of iRoots from earlier searches. Called before the first run, if at all.
    fn recall(&mut self, _known: &Ledger) {}

    /// A copy with the same knowledge.
    fn fork(&self) -> Box<dyn Strategy>;
}

/// Whether there is another run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// There is.
    Run,
    /// Every schedule that the strategy promises has been run.
    Exhausted,
}

/// The answer of [`Strategy::choose`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// This thread takes the next step.
    Run(ThreadId),
    /// This thread takes the next step, and may make up to so many further memory accesses at once: the strategy would let
    /// it, as long as no other thread becomes enabled or disabled. It may be asked earlier all the same.
    RunOn(ThreadId, u32),
    /// The rest of the run would only repeat another one: end it here.
    CutOff,
}

/// What a strategy wants of a run: what is to be recorded or tracked beyond the events, and when the program may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Record the enabled threads of every point.
    pub enabled: bool,
    /// Keep [`Point::state`] up to date, and record it for every point.
    pub state: bool,
    /// Let [`Point::place_name`] and [`RunSummary::place_name`] be the same in all runs.
    pub places: bool,
    /// Let the end of the program ([`Kind::Exit`](raddle_model::Kind)) wait until nothing else can run, in the run that begins.
    pub exit_last: bool,
    /// Let time-outs fire at any moment, in the run that begins.
    pub timeouts_anytime: bool,
}

/// What is known before a step: every thread that could take it, with the operation it would execute.
#[derive(Clone, Copy)]
pub struct Point<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) changed: &'a ThreadSet,
    /// How many steps the run has taken so far.
    pub step: u64,
}

impl<'a> Point<'a> {
    /// The threads that can take the next step, in an order that depends only on the steps so far.
    #[inline]
    pub fn enabled(&self) -> &'a [ThreadId] {
        self.engine.threads.enabled()
    }

    /// Whether `thread` can take the next step.
    #[inline]
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.engine.threads.is_enabled(thread)
    }

    /// The next operation of `thread`; meaningful while it has one, as every enabled thread does.
    #[inline]
    pub fn operation(&self, thread: ThreadId) -> &'a Operation {
        self.engine.threads.operation(thread)
    }

    /// Whether `thread` has ended and has no next operation.
    #[inline]
    pub fn has_ended(&self, thread: ThreadId) -> bool {
        self.engine.threads.get(thread).status == Status::Done
    }

    /// The threads whose next operation is new, or that became enabled or disabled, since the last point. A thread
    /// may be named more than once.
    #[inline]
    pub fn changed(&self) -> impl Iterator<Item = ThreadId> + use<'a> {
        self.changed.iter()
    }

    /// Calls `action` with each thread that [`Point::changed`] names, and whether it is enabled.
    #[inline(always)] // The action is short.
    pub fn for_changed(&self, mut action: impl FnMut(ThreadId, bool)) {
        let enabled = self.engine.threads.enabled_few();
        bits(self.changed.few()).for_each(|thread| action(thread, enabled & bit(thread) != 0));
        for &thread in self.changed.many() {
            action(thread, self.is_enabled(thread));
        }
    }

    /// The event executed last, if there was one.
    #[inline]
    pub fn last(&self) -> Option<&'a Event> {
        self.engine.trace.events.last()
    }

    /// The same point for a strategy inside another one that does not see every step: `step` steps were its own, and
    /// `changed` are the changes since it was asked last.
    #[must_use]
    pub fn for_inner(&self, step: u64, changed: &'a ThreadSet) -> Point<'a> {
        Point { step, changed, ..*self }
    }

    /// The threads, enabled or not, whose next operation touches `object`.
    #[inline]
    pub fn pending_on(&self, object: ObjectId) -> impl Iterator<Item = ThreadId> + 'a {
        self.touching(object).map(|(thread, _)| thread)
    }

    /// As [`Point::pending_on`], with whether the operation writes `object`.
    #[inline]
    pub fn touching(&self, object: ObjectId) -> impl Iterator<Item = (ThreadId, bool)> + 'a {
        self.engine.pending.touching(object)
    }

    /// Calls `action` with each enabled thread but `thread` whose next operation touches `object`; if `writers`, only with
    /// those that write it.
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

    /// The same as bits, if the run has had at most `most` threads so far and a word has that many bits.
    #[inline]
    pub fn few(&self, most: usize) -> Option<SmallPoint<'a>> {
        let count = self.thread_count();
        (count <= most.min(64)).then_some(SmallPoint {
            engine: self.engine,
            changed: self.changed.few(),
            count,
        })
    }

    /// How many threads the run has had so far; their ids are below this number.
    #[inline]
    pub fn thread_count(&self) -> usize {
        self.engine.threads.len()
    }

    /// How many objects the run has had so far; their ids are below this number.
    #[inline]
    pub fn object_count(&self) -> usize {
        self.engine.objects.len()
    }

    /// The name of a thread, equal in all runs.
    #[inline]
    pub fn thread_name(&self, thread: ThreadId) -> Name {
        self.engine.threads.name(thread)
    }

    /// The name of an object, equal in all runs.
    #[inline]
    pub fn object_name(&self, object: ObjectId) -> Name {
        self.engine.objects.name(object)
    }

    /// The name of a place in the code, equal in all runs if [`Needs::places`] was asked for.
    #[inline]
    pub fn place_name(&self, location: LocationId) -> Name {
        self.engine.place_name(location)
    }

    /// Who created `thread`; nobody, if it was there from the start.
    #[inline]
    pub fn parent(&self, thread: ThreadId) -> Option<ThreadId> {
        self.engine.threads.parent(thread)
    }

    /// How many steps `thread` has taken.
    #[inline]
    pub fn progress(&self, thread: ThreadId) -> u32 {
        self.engine.threads.progress(thread)
    }

    /// A hash of where every thread stands and what every object holds, if the front end tells that; otherwise of the partial
    /// order so far, from which both follow. Equal states have equal hashes in the first case, and equivalent beginnings of
    /// a run in both. Means nothing unless [`Needs::state`] was asked for.
    #[inline]
    pub fn state(&self) -> u64 {
        self.engine.state()
    }

    /// The partial-order fingerprint of the steps so far: equal for equivalent beginnings of a run.
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

    /// Those for whom [`Point::for_rivals`] calls its action.
    #[inline]
    pub fn rivals(&self, thread: ThreadId, object: ObjectId, writers: bool) -> u64 {
        self.engine.pending.few(object, writers) & self.enabled() & !(1 << (thread.0 % 64))
    }
}

/// What a run was like, for [`Strategy::learn`] and for whoever started it.
#[derive(Clone, Copy)]
pub struct RunSummary<'a> {
    /// The events and decisions.
    pub trace: &'a Trace,
    /// How the run ended.
    pub verdict: &'a Verdict,
    /// The partial-order fingerprint: equal for equivalent schedules, and different for others but for a chance of
    /// about 2^-64 a pair.
    pub fingerprint: u64,
    /// How often a spinning thread was held back; zero means that the strategy's guarantee holds unimpaired.
    pub rests: u64,
    /// Who went on because of which event: waiters woken by a signal, and all who arrived at a barrier when it opened.
    pub(crate) freed: &'a [(u32, ThreadId)],
    /// How many events there were each time the clock moved because no thread was enabled.
    pub(crate) ticks: &'a [u32],
    pub(crate) threads: &'a Threads,
    pub(crate) objects: &'a Objects,
    pub(crate) places: &'a [Name],
}

impl<'a> RunSummary<'a> {
    /// The same run with another trace, for a strategy inside another one that does not see every step. Who was woken
    /// by whom is not known in it.
    #[must_use]
    pub fn with_trace(&self, trace: &'a Trace) -> RunSummary<'a> {
        RunSummary { trace, freed: &[], ticks: &[], ..*self }
    }

    /// The name of a thread, equal in all runs.
    pub fn thread_name(&self, thread: ThreadId) -> Name {
        self.threads.name(thread)
    }

    /// How many events there were each time the clock moved because no thread was enabled.
    pub fn ticks(&self) -> &'a [u32] {
        self.ticks
    }

    /// Whether a thread runs in the background.
    pub fn is_background(&self, thread: ThreadId) -> bool {
        self.threads.get(thread).background
    }

    /// Whether an object is a mailbox: nobody waits to send to it, and its owner waits until something has come.
    pub fn is_mailbox(&self, object: ObjectId) -> bool {
        matches!(self.objects.get(object).resource, Resource::Mailbox { .. })
    }

    /// The event that made a thread; none for those that were there from the start.
    pub fn made_at(&self, thread: ThreadId) -> Option<usize> {
        (self.threads.get(thread).born as usize).checked_sub(1)
    }

    /// The name of an object, equal in all runs.
    pub fn object_name(&self, object: ObjectId) -> Name {
        self.objects.name(object)
    }

    /// The name of a place in the code, equal in all runs if [`Needs::places`] was asked for.
    pub fn place_name(&self, location: LocationId) -> Name {
        self.places.get(location.index()).copied().unwrap_or(Name(u64::from(location.0)))
    }

    /// How many threads the run had.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// How many objects the run had.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// Whether `object` is a mutex that counts how often its owner takes it. Not known if it was destroyed.
    pub fn counts_again(&self, object: ObjectId) -> Option<bool> {
        self.objects.counts_again(object)
    }

    /// Whether `object` is a lock (mutex or read-write lock).
    pub fn is_lock(&self, object: ObjectId) -> bool {
        self.objects.is_lock(object)
    }
}
