//! One run: announce, choose, execute.

use crate::config::{Config, Timeouts};
use crate::objects::{Objects, Resource};
use crate::pending::{Pending, bit, bits};
use crate::races::Tracker;
use crate::spin::Turns;
use crate::strategy::{Choice, Needs, Point, RunSummary, Strategy};
use crate::threads::{Status, Threads, Wake};
use raddle_model::{Failure, MemoryModel, Name, ObjectId, ThreadId, Trace, Verdict};

/// The next action of the front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Let `thread` run up to its next operation, then announce that or finish the thread.
    Resume {
        /// The thread.
        thread: ThreadId,
        /// The result of its operation.
        reply: Reply,
    },
    /// No thread can continue unless time passes or something comes from outside the program. The front end
    /// may wait for that and give tokens ([`Engine::give_token`]), then calls [`Engine::next`] again.
    /// Returned only after [`Engine::expect_outside`], and not twice before the next step.
    Idle {
        /// True if there are spinning threads, which will be resumed.
        spinning: bool,
        /// The virtual time at which the first wait ends by itself, if any does.
        until: Option<u64>,
    },
    /// The run is over; see [`Engine::summary`].
    Done,
}

/// The result of an executed operation for its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// No result: the thread begins, or continues.
    Go,
    /// The operation acquired what it asked for: a lock, a semaphore, a value of a channel or room for one.
    Acquired,
    /// The attempt failed.
    Busy,
    /// The time limit of the operation expired.
    TimedOut,
    /// The thread does not own the mutex.
    NotOwner,
    /// The thread would wait for itself.
    WouldDeadlock,
    /// A number: a data choice; 1 for the serial thread of a barrier that asked for one and 0 for the others.
    Number(u32),
    /// A new thread.
    Spawned(ThreadId),
    /// The thread has to run the one-time initialisation and then execute
    /// [`Kind::OnceEnd`](raddle_model::Kind::OnceEnd).
    RunOnce,
    /// The other side of the channel is gone.
    Closed,
    /// The access has completed a data race that the front end may judge.
    Raced,
}

/// The state of a run. The crate documentation describes the protocol.
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) needs: Needs,
    pub(crate) threads: Threads,
    pub(crate) objects: Objects,
    pub(crate) pending: Pending,
    pub(crate) trace: Trace,
    /// Threads that have to be resumed before the next choice.
    pub(crate) ready: Vec<(ThreadId, Reply)>,
    pub(crate) resting: Vec<ThreadId>,
    /// Invariant: the bits of the threads whose next operation locks a mutex and waits for it without a time limit.
    pub(crate) plain_lockers: u64,
    pub(crate) races: Tracker,
    /// The number of steps after which a program exit that waits may happen although other threads can run.
    pub(crate) exit_due: u64,
    /// See [`RunSummary`].
    pub(crate) freed: Vec<(u32, ThreadId)>,
    /// Number of events at each move of the virtual clock.
    pub(crate) ticks: Vec<u32>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) now: u64,
    /// True if a wait of the run had a time limit.
    pub(crate) timed: bool,
    pub(crate) steps: u64,
    /// Invariant: no greater than `turns.next_look` and `exit_due`; 0 while a thread is ready or resting, an
    /// exchange is not settled, the run is over, or points are recorded. As long as `steps` is below it and a
    /// thread is enabled, the engine only has to choose and execute.
    pub(crate) alarm: u64,
    pub(crate) fingerprint: u64,
    /// The sum that [`Engine::unprint`] removes from the fingerprint at the end.
    pub(crate) silent: u64,
    pub(crate) state: u64,
    /// True if the front end provides hashes of the states of threads and objects.
    pub(crate) has_state: bool,
    pub(crate) rests: u64,
    pub(crate) turns: Turns,
    pub(crate) alive: usize,
    /// Number of these in the background.
    pub(crate) background: usize,
    pub(crate) first_threads: usize,
    /// Number of steps that the running thread may take without a choice.
    pub(crate) burst: u64,
    /// True if something may come from outside.
    pub(crate) outside: bool,
    /// The step count at which [`Next::Idle`] was last returned.
    idle_at: Option<u64>,
    /// The thread whose next operation continues the transaction of its latest one.
    pub(crate) inside: Option<ThreadId>,
    /// Names of locations, by location. Kept across runs.
    pub(crate) location_names: Vec<Name>,
}

impl Engine {
    /// Creates an engine without a run.
    pub fn new(config: Config) -> Engine {
        Engine {
            config,
            needs: Needs::default(),
            threads: Threads::default(),
            objects: Objects::default(),
            pending: Pending::default(),
            trace: Trace::default(),
            ready: Vec::new(),
            resting: Vec::new(),
            plain_lockers: 0,
            races: Tracker::default(),
            exit_due: u64::MAX,
            freed: Vec::new(),
            ticks: Vec::new(),
            verdict: None,
            now: 0,
            timed: false,
            steps: 0,
            alarm: 0,
            fingerprint: 0,
            silent: 0,
            state: 0,
            has_state: false,
            rests: 0,
            turns: Turns::of(config),
            alive: 0,
            background: 0,
            first_threads: 0,
            burst: 0,
            outside: false,
            idle_at: None,
            inside: None,
            location_names: Vec::new(),
        }
    }

    /// Starts a run without threads and objects, tracking what the strategy needs.
    pub fn begin(&mut self, needs: Needs) {
        self.needs = needs;
        self.threads.clear();
        self.objects.clear();
        self.pending.clear();
        self.trace.clear();
        self.ready.clear();
        self.resting.clear();
        self.plain_lockers = 0;
        let memory = if needs.weak_memory { MemoryModel::Weak } else { self.config.memory };
        self.races.begin(self.config.races, memory);
        self.exit_due = u64::MAX;
        self.trace.exit_last = needs.exit_last || self.config.exit_last;
        self.trace.timeouts_anytime = needs.timeouts_anytime || self.config.timeouts == Timeouts::Anytime;
        self.freed.clear();
        self.ticks.clear();
        self.verdict = None;
        self.now = 0;
        self.timed = false;
        self.steps = 0;
        self.alarm = 0;
        self.fingerprint = 0;
        self.silent = 0;
        self.state = 0;
        self.has_state = false;
        self.rests = 0;
        self.turns = Turns::of(self.config);
        self.alive = 0;
        self.background = 0;
        self.first_threads = 0;
        self.burst = 0;
        self.outside = false;
        self.idle_at = None;
        self.inside = None;
    }

    /// Adds a thread that exists from the start. It will be resumed before the first choice.
    pub fn add_thread(&mut self) -> ThreadId {
        let name = self.threads.first(self.first_threads);
        self.first_threads += 1;
        self.new_thread(name, None)
    }

    /// Adds an object. `name` must be the same in all runs; see [`Name`].
    pub fn add_object(&mut self, name: Name, resource: Resource) -> ObjectId {
        self.pending.add_object();
        self.objects.add(name, resource)
    }

    /// Returns the object that represents `thread`, for [`Kind::Join`](raddle_model::Kind::Join).
    pub fn thread_object(&mut self, thread: ThreadId) -> ObjectId {
        if let Some(object) = self.threads.get(thread).object {
            return object;
        }
        let name = self.threads.name(thread).child(u64::MAX);
        let object = self.add_object(name, Resource::Thread(thread));
        self.threads.get_mut(thread).object = Some(object);
        object
    }

    /// Adds a thread with a name and the hash of that name.
    pub(crate) fn new_thread(&mut self, name: (Name, u64), parent: Option<ThreadId>) -> ThreadId {
        let thread = self.threads.add(name, parent);
        self.threads.get_mut(thread).born = self.trace.events.len() as u32;
        self.trace.parents.push(parent);
        self.make_ready(thread, Reply::Go);
        self.alive += 1;
        thread
    }

    /// Schedules `thread` to be resumed before the next choice.
    #[inline]
    pub(crate) fn make_ready(&mut self, thread: ThreadId, reply: Reply) {
        self.ready.push((thread, reply));
        self.alarm = 0;
    }

    /// Records that `thread`, which was resumed, has ended.
    #[inline(never)] // Once for each thread.
    pub fn finish(&mut self, thread: ThreadId) {
        self.threads.get_mut(thread).status = Status::Done;
        self.burst = 0;
        self.threads.set_enabled(thread, false);
        self.threads.note_change(thread);
        self.alive -= 1;
        self.background -= usize::from(self.threads.get(thread).background);
        if let Some(object) = self.threads.get(thread).object {
            self.refresh(object);
        }
    }

    /// Makes the run fail, even if it seemed to have passed; [`Engine::next`] will return [`Next::Done`].
    pub fn fail(&mut self, failure: Failure) {
        self.burst = 0;
        if matches!(self.verdict, None | Some(Verdict::Passed)) {
            self.end(Verdict::Failed { failure });
        }
    }

    /// Records that the latest write or read-modify-write of `thread` left the value unchanged: a failed
    /// compare-and-exchange, for example. Called before `thread` announces its next operation, it makes a
    /// loop around that operation count as spinning.
    #[inline]
    pub fn note_no_write(&mut self, thread: ThreadId) {
        let entry = self.threads.get_mut(thread);
        debug_assert_eq!(entry.status, Status::Running, "only a resumed thread has just executed something");
        debug_assert!(entry.operation.kind.writes_memory(), "it wrote nothing");
        entry.spin.note_no_write(&entry.operation);
    }

    /// Returns the name of a thread, which is equal in all runs.
    pub fn thread_name(&self, thread: ThreadId) -> Name {
        self.threads.name(thread)
    }

    /// Returns the number of objects in the run so far.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// Returns the number of steps so far.
    pub fn step_count(&self) -> u64 {
        self.steps
    }

    /// Returns the virtual time, in nanoseconds since the start of the run.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Continues the run: chooses and executes operations as needed, then returns a thread to resume.
    ///
    /// Every thread resumed before must have announced its next operation or have finished.
    #[inline(always)] // The front end has one call of it where speed matters.
    pub fn next(&mut self, strategy: &mut dyn Strategy) -> Next {
        loop {
            if self.steps >= self.alarm || self.threads.enabled_few() == 0 {
                if let Some(next) = self.attend() {
                    return next;
                }
                if let Some(thread) = self.inside.take() {
                    match self.execute_inside(thread, strategy) {
                        Some(reply) => return Next::Resume { thread, reply },
                        None => continue,
                    }
                }
            }
            debug_assert!(
                self.verdict.is_none() && self.ready.is_empty() && !self.races.is_unsettled(),
                "all work before a choice is done"
            );
            self.threads.settle();
            let point = Point { engine: self, changed: self.threads.changed(), step: self.steps };
            let (thread, more) = match strategy.choose(&point) {
                Choice::Run(thread) => (thread, 0),
                Choice::RunOn(thread, more) => (thread, more),
                Choice::CutOff => {
                    self.end(Verdict::CutOff);
                    continue;
                }
            };
            assert!(self.threads.is_enabled(thread), "a strategy chose a thread that is not enabled");
            self.threads.forget_changes();
            self.burst = if more > 0 { self.burst(more) } else { 0 };
            if let Some(reply) = self.execute(thread, strategy) {
                return Next::Resume { thread, reply };
            }
        }
    }

    /// Does the rare work before a choice. Returns the next action of the front end, if there is one.
    #[inline(never)] // Keeps the path of memory accesses short.
    fn attend(&mut self) -> Option<Next> {
        loop {
            if self.races.is_unsettled() {
                self.settle_races();
            }
            if self.verdict.is_some() {
                self.note_pending();
                return Some(Next::Done);
            }
            if let Some((thread, reply)) = self.ready.pop() {
                if self.ready.is_empty() {
                    self.calm_down();
                }
                return Some(Next::Resume { thread, reply });
            }
            if let Some(thread) = self.inside {
                if self.prepare_inside(thread) {
                    return None;
                }
                continue;
            }
            if !self.threads.any_enabled() && self.alive == self.background {
                self.end(Verdict::Passed);
                continue;
            }
            if self.outside && self.idle_at != Some(self.steps) && !self.threads.any_enabled() {
                self.idle_at = Some(self.steps);
                let spinning = !self.resting.is_empty();
                return Some(Next::Idle { spinning, until: self.next_deadline(None) });
            }
            if !self.resting.is_empty() {
                if !self.threads.any_enabled() && !self.has_news_for_resting() {
                    self.pass_time();
                }
                self.end_rests();
            }
            if !self.threads.any_enabled() && !self.pass_time() {
                self.end(self.deadlock());
                continue;
            }
            if self.verdict.is_some() {
                continue;
            }
            if self.steps >= self.turns.next_look {
                self.look_for_starving();
                continue;
            }
            if self.steps >= self.exit_due {
                self.let_exit();
                continue;
            }
            if self.needs.enabled {
                self.record_enabled();
            }
            if self.needs.state {
                self.trace.states.push(self.state());
            }
            self.calm_down();
            return None;
        }
    }

    /// Sets the alarm to the next step before which there is something to do, as there is nothing now.
    #[inline]
    fn calm_down(&mut self) {
        let records = self.needs.enabled || self.needs.state;
        let calm = self.resting.is_empty() && !records && self.inside.is_none();
        self.alarm = if calm { self.turns.next_look.min(self.exit_due) } else { 0 };
    }

    /// Ends the run with this verdict.
    pub(crate) fn end(&mut self, verdict: Verdict) {
        self.verdict = Some(verdict);
        self.burst = 0;
        self.alarm = 0;
    }

    /// Updates every thread that is about to touch `object`, whose state has changed.
    pub(crate) fn refresh(&mut self, object: ObjectId) {
        let mut cursor = self.pending.first(object);
        while let Some(thread) = self.pending.advance(&mut cursor) {
            let enabled = self.can_run(thread) && !self.threads.get(thread).resting;
            if self.threads.set_enabled(thread, enabled) {
                self.threads.note_change(thread);
            }
        }
    }

    /// Does [`Engine::refresh_mutex`] if there is a thread that is about to touch `object`.
    #[inline]
    pub(crate) fn update_rivals(&mut self, object: ObjectId, free: bool) {
        if self.pending.is_touched(object) {
            self.refresh_mutex(object, free);
        }
    }

    /// Updates every thread that is about to touch `object`, a mutex that has just been locked or unlocked.
    pub(crate) fn refresh_mutex(&mut self, object: ObjectId, free: bool) {
        if self.threads.is_wide() || !self.resting.is_empty() {
            return self.refresh(object);
        }
        let touching = self.pending.few(object, false);
        if touching == 0 {
            return;
        }
        let plain = touching & self.plain_lockers;
        self.threads.set_enabled_few(plain, free);
        for thread in bits(touching & !plain) {
            let enabled = self.can_run(thread);
            self.threads.set_enabled_few(bit(thread), enabled);
        }
    }

    #[cold]
    fn record_enabled(&mut self) {
        self.threads.settle();
        let from = self.trace.enabled.len();
        self.trace.enabled_from.push(from as u32);
        self.trace.enabled.extend_from_slice(self.threads.enabled());
        self.trace.enabled[from..].sort_unstable();
    }

    #[cold]
    fn note_pending(&mut self) {
        if self.trace.pending.is_empty() {
            let pending = |status| matches!(status, Status::Pending);
            let next = self.threads.iter().map(|(_, t)| pending(t.status).then_some(t.operation));
            self.trace.pending.extend(next);
        }
    }

    /// Returns the summary of the run. Complete once [`Engine::next`] has returned [`Next::Done`].
    pub fn summary(&self) -> RunSummary<'_> {
        self.summary_with(self.verdict.as_ref().expect("a summary is requested after the run is done"))
    }

    /// Summarizes the steps so far, as if the run had passed with the last one.
    pub fn summary_so_far(&self) -> RunSummary<'_> {
        self.summary_with(&Verdict::Passed)
    }

    fn summary_with<'a>(&'a self, verdict: &'a Verdict) -> RunSummary<'a> {
        RunSummary {
            trace: &self.trace,
            verdict,
            fingerprint: self.fingerprint.wrapping_sub(self.silent),
            rests: self.rests,
            freed: &self.freed,
            ticks: &self.ticks,
            forgot_writes: self.forgot_writes(),
            threads: &self.threads,
            objects: &self.objects,
            location_names: &self.location_names,
        }
    }

    /// Records that the latest event unblocked `thread`.
    pub(crate) fn note_freed(&mut self, thread: ThreadId) {
        self.freed.push((self.trace.events.len() as u32 - 1, thread));
    }

    /// Marks `thread` as woken for `wake`'s reason.
    pub(crate) fn wake(&mut self, thread: ThreadId, wake: Wake) {
        if wake == Wake::Signalled {
            self.note_freed(thread);
        }
        self.threads.get_mut(thread).wake = wake;
        self.advance_local(thread);
        let enabled = self.can_run(thread) && !self.threads.get(thread).resting;
        if self.threads.set_enabled(thread, enabled) {
            self.threads.note_change(thread);
        }
    }
}
