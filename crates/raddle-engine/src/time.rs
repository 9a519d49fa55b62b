//! The virtual clock: it stands still while any thread can run that is not resting.
//!
//! The program exit can be delayed in the same way, until nothing else can run. Time does not pass for it, so
//! it does not wait for sleeping threads; a real program would end before them.

use crate::objects::Resource;
use crate::threads::{Status, Thread, Wake};
use crate::{Engine, Timeouts};
use raddle_model::{BlockReason, Failure, Kind, MemoryModel, Operation, ThreadId, Verdict, Waits};

/// Number of steps that the program exit waits for other threads. Those that are not done by then may never
/// be: a program may exit while some of its threads loop forever.
const LONGEST_EXIT: u64 = 10_000;

impl Engine {
    /// Sets the deadline of `thread` for its announced operation, which has a time limit or ends the program.
    pub(crate) fn set_deadline(&mut self, thread: ThreadId) {
        let now = self.now;
        let entry = self.threads.get_mut(thread);
        let Operation { argument, kind, .. } = entry.operation;
        if kind.info().timed {
            // The clock stops at the last moment that is not "never".
            entry.deadline = now.saturating_add(argument).min(u64::MAX - 1);
            self.timed = true;
        } else if self.trace.exit_last {
            entry.deadline = now;
            self.exit_due = self.steps.saturating_add(LONGEST_EXIT);
            self.alarm = 0;
        }
    }

    /// Returns true if the next operation of `thread` may time out now.
    #[inline]
    pub(crate) fn may_time_out(&self, thread: ThreadId) -> bool {
        let entry = self.threads.get(thread);
        let anytime = self.trace.timeouts_anytime && entry.wake == Wake::None;
        entry.wake == Wake::TimedOut || (entry.deadline != u64::MAX && anytime)
    }

    /// Returns true if `thread`, which is about to exit the program, may do so now.
    pub(crate) fn may_exit(&self, thread: ThreadId) -> bool {
        !self.trace.exit_last || self.threads.get(thread).wake == Wake::TimedOut
    }

    /// Enables a pending program exit although other threads can still run.
    #[cold]
    pub(crate) fn let_exit(&mut self) {
        self.exit_due = u64::MAX;
        for index in 0..self.threads.len() as u32 {
            let thread = ThreadId(index);
            let entry = self.threads.get(thread);
            if waits(entry) && entry.operation.kind == Kind::Exit {
                self.wake(thread, Wake::TimedOut);
            }
        }
    }

    /// Returns true if the run had sleeps or time limits, and these ended only when nothing else could run.
    pub fn has_idle_timeouts(&self) -> bool {
        self.timed && !self.trace.timeouts_anytime
    }

    /// Sets [`Config::timeouts`](crate::Config) for the runs that begin from now on.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.config.timeouts = timeouts;
    }

    /// Sets [`Config::memory`](crate::Config) for the runs that begin from now on.
    pub fn set_memory(&mut self, memory: MemoryModel) {
        self.config.memory = memory;
    }

    /// Sets [`Config::time_limit`](crate::Config) for the rest of the run and for later runs.
    pub fn limit_time(&mut self, limit: u64) {
        self.config.time_limit = limit;
    }

    /// Moves the clock to the deadline of `thread`, which has timed out, possibly before others could run:
    /// the thread sees that its time is over.
    #[cold]
    pub(crate) fn pass_deadline(&mut self, thread: ThreadId) {
        let deadline = self.threads.get(thread).deadline;
        if deadline != u64::MAX && self.threads.get(thread).wake == Wake::None {
            self.now = self.now.max(deadline);
        }
    }

    /// Returns the verdict of a run that exceeds the time limit.
    pub(crate) fn out_of_time(&self) -> Verdict {
        Verdict::Failed { failure: Failure::TimeLimit { limit: self.config.time_limit } }
    }

    /// Moves the clock to the earliest deadline and wakes the threads that waited for it. Returns true if
    /// that enables a thread or ends the run.
    #[cold]
    pub(crate) fn pass_time(&mut self) -> bool {
        self.wait_behind_writers();
        while let Some(deadline) = self.next_deadline(None) {
            if deadline > self.config.time_limit {
                self.end(self.out_of_time());
                return true;
            }
            self.now = self.now.max(deadline);
            for index in 0..self.threads.len() as u32 {
                let thread = ThreadId(index);
                let entry = self.threads.get(thread);
                if waits(entry) && entry.deadline <= self.now {
                    self.leave_condition(thread);
                    self.wake(thread, Wake::TimedOut);
                }
            }
            if self.threads.any_enabled() {
                if self.resting.is_empty() {
                    self.ticks.push(self.trace.events.len() as u32);
                }
                return true;
            }
        }
        false
    }

    /// Ends the wait of `thread` for a condition variable, a lock, a semaphore, a token, a thread or a time, as if its
    /// time limit had expired; if it is about to begin to wait for a condition variable, as soon as it does. Has
    /// no effect on a thread that is about to do anything else. A front end calls this as part of a step of
    /// another thread, for cancellation and signals.
    pub fn interrupt(&mut self, thread: ThreadId) {
        self.burst = 0;
        let now = self.now;
        let entry = self.threads.get_mut(thread);
        if entry.status != Status::Pending {
            return;
        }
        let waits = entry.operation.kind.info().waits;
        match waits {
            Waits::Inside(BlockReason::Condition) => entry.interrupted = true,
            Waits::Before(
                BlockReason::Semaphore
                | BlockReason::Join
                | BlockReason::Condition
                | BlockReason::Mutex
                | BlockReason::ReadWriteLock
                | BlockReason::Park,
            )
            | Waits::Time
                if entry.wake == Wake::None =>
            {
                if waits == Waits::Time {
                    entry.deadline = now;
                }
                if let Some(condition) = self.condition_of(thread)
                    && let Resource::Condition { waiters } = &mut self.objects.get_mut(condition).resource
                {
                    waiters.retain(|&waiter| waiter != thread);
                }
                self.wake(thread, Wake::TimedOut);
            }
            Waits::Never | Waits::Before(_) | Waits::Inside(_) | Waits::Time | Waits::Quiet => {}
        }
    }

    /// Returns the earliest deadline of any waiting thread, `except` one. Called when no other thread is
    /// enabled.
    pub(crate) fn next_deadline(&self, except: Option<ThreadId>) -> Option<u64> {
        let waiting = self.threads.iter().filter(|&(id, thread)| Some(id) != except && waits(thread));
        waiting.map(|(_, thread)| thread.deadline).min().filter(|&deadline| deadline != u64::MAX)
    }

    /// Removes a thread whose wait is over from the condition variable it waits on.
    pub(crate) fn leave_condition(&mut self, thread: ThreadId) {
        let operation = *self.threads.operation(thread);
        if operation.kind != Kind::ConditionReacquire {
            return;
        }
        for (object, _) in operation.objects() {
            if let Resource::Condition { waiters } = &mut self.objects.get_mut(object).resource {
                waiters.retain(|&waiter| waiter != thread);
            }
        }
    }
}

/// Returns true if a thread that is not enabled waits for something, or for its deadline. A resting thread
/// does not: it could run.
fn waits(thread: &Thread) -> bool {
    thread.status == Status::Pending && matches!(thread.wake, Wake::None | Wake::Delayed) && !thread.resting
}
