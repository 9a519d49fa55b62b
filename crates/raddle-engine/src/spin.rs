//! The rules against starvation by spinning.
//!
//! A strategy that prefers one thread would run a loop such as `while !flag { yield }` forever. So: **a
//! thread that has returned [`Config::patience`](crate::Config) times to the same operation without a write
//! rests.** A resting thread is descheduled: it is not offered to the strategy until every enabled thread has
//! taken a step since, or until nothing else is enabled and no timeout can change that: the virtual clock
//! advances while all that is left to do is spinning, and no thread has written since. It rests again after
//! each further such return, until it writes. A compare-and-exchange that failed, or a swap that stored the
//! same value, has written nothing; the front end must report it.
//!
//! A thread that polls under a lock (`lock; look; unlock` in a loop) returns without writing too. But a
//! thread that works under a lock looks the same to a front end that does not see plain memory. So a loop
//! with a lock in it gets [`LOCKING`] times the patience, and then rests only every `patience` returns. It
//! rests where it is about to take a lock, if its loop does: elsewhere it may hold the lock that others wait
//! for.
//!
//! A thread may also write while it waits: a task that puts itself back into its executor's queue until it
//! finds a message. This cannot be distinguished from work, so there is a second rule, far beyond any run
//! that ends by itself: **if an enabled thread had no step for a quarter of the step limit, those that had
//! one rest.** After that the span is halved, and so on down to `patience`, so that in the end all threads
//! continue and the run ends. A thread that waits for a lock is enabled only for a moment of each iteration
//! of the threads that take it, so the engine looks for that moment in each of the next `patience` steps.
//!
//! Effect on guarantees: schedules in which one thread makes more than `patience` idle returns in a row while
//! others could run are not explored, and a bound such as PCT's holds for runs without a rest.
//! [`RunSummary::rests`](crate::RunSummary) counts them.

use crate::config::Config;
use crate::engine::Engine;
use crate::threads::{Status, Thread};
use raddle_model::{Failure, Holding, Kind, Operation, Progress, ThreadId, Verdict};

/// A summary of a thread's latest operations, to detect loops. Brent's method: the anchor moves to the
/// current operation at every power of two, so a loop of any length is detected.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spin {
    anchor: u64,
    since: u32,
    power: u32,
    returns: u32,
    /// True if the latest operation was a return.
    returned: bool,
    /// The power and the returns before the latest write, in case it changed nothing.
    before_write: (u32, u32),
    /// True if a lock was taken since the latest effect on others.
    locked: bool,
    /// True if the thread has to rest at its next lock.
    owes: bool,
}

/// The factor on patience for a loop in which locks are taken and released.
const LOCKING: u32 = 16;

/// The next check for starving threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Invariant: no greater than the step limit.
    pub(crate) next_look: u64,
    /// Number of steps of the run that an enabled thread may go without one.
    span: u64,
    /// The step limit.
    limit: u64,
    /// Number of consecutive steps in which a thread that waits for a lock was looked for at a moment in
    /// which it is enabled.
    looks: u32,
}

impl Turns {
    /// The divisor of the step limit that yields the first span.
    const PART: u64 = 4;

    /// Returns the state at the beginning of a run.
    pub(crate) fn of(config: Config) -> Turns {
        let limit = config.step_limit;
        let span = if config.patience > 0 { limit.div_ceil(Turns::PART) } else { limit };
        Turns { next_look: span, span, limit, looks: 0 }
    }
}

/// The effect of an executed operation on others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    /// Nothing.
    None,
    /// None, once a lock that was taken has been released.
    Lock,
    /// A lasting change.
    Lasting,
}

impl Spin {
    /// Records an executed memory access or local step.
    #[inline]
    pub(crate) fn note_memory(&mut self, operation: &Operation) {
        if operation.kind.writes_memory() {
            let before_write = (self.power, self.returns);
            *self = Spin {
                returned: false,
                returns: 0,
                power: 0,
                before_write,
                locked: false,
                owes: false,
                ..*self
            };
        } else if operation.kind == Kind::Read {
            self.note(operation, Mark::None);
        } else {
            self.returned = false;
        }
    }

    /// Records that the latest memory access, which was recorded as a write, changed nothing.
    #[inline]
    pub(crate) fn note_no_write(&mut self, operation: &Operation) {
        (self.power, self.returns) = self.before_write;
        self.note(operation, Mark::None);
    }

    /// Records an executed operation and its effect on others.
    #[inline]
    fn note(&mut self, operation: &Operation, mark: Mark) {
        self.returned = false;
        if mark == Mark::Lasting {
            self.returns = 0;
            self.power = 0;
            self.locked = false;
            self.owes = false;
            return;
        }
        self.locked |= mark == Mark::Lock;
        let key = u64::from(operation.location.0) << 32
            | u64::from(operation.object().map_or(u32::MAX >> 8, |object| object.0)) << 8
            | operation.kind as u64;
        if self.power == 0 {
            *self = Spin { anchor: key, power: 1, since: 0, returns: 0, ..*self };
        } else if key == self.anchor {
            self.returns = self.returns.saturating_add(1);
            self.returned = true;
        }
        self.since += 1;
        if self.since >= self.power {
            *self = Spin { anchor: key, since: 0, power: self.power.saturating_mul(2), ..*self };
        }
    }

    /// Records an executed synchronisation operation; `acquired` if it acquired something.
    #[inline]
    pub(crate) fn note_synchronisation(&mut self, operation: &Operation, acquired: bool) {
        let progress = operation.kind.info().progress;
        if progress == Progress::Lasting {
            return self.note(operation, Mark::Lasting);
        }
        if progress == Progress::Lock {
            return self.note(operation, Mark::Lock);
        }
        self.note_other_synchronisation(operation, progress, acquired);
    }

    #[inline(never)] // Keeps the path of the most common operations short.
    fn note_other_synchronisation(&mut self, operation: &Operation, progress: Progress, acquired: bool) {
        let mark = match progress {
            Progress::Ignored => {
                self.returned = false;
                return;
            }
            Progress::None => Mark::None,
            Progress::IfAcquired | Progress::LockIfAcquired if !acquired => Mark::None,
            Progress::Lock | Progress::LockIfAcquired => Mark::Lock,
            Progress::Lasting | Progress::IfAcquired => Mark::Lasting,
        };
        self.note(operation, mark);
    }

    /// Returns true if the latest operation changed something for others.
    #[inline]
    pub(crate) fn has_just_written(&self) -> bool {
        self.power == 0
    }

    /// Returns true if the latest operation was a return to an earlier one.
    #[inline]
    pub(crate) fn has_returned(&self) -> bool {
        self.returned
    }

    /// Returns true if [`Spin::is_over`] may be true, whatever the next operation.
    #[inline]
    pub(crate) fn is_suspect(&self) -> bool {
        self.returned || self.owes
    }

    /// Returns true if it has to rest instead of executing an operation of this kind: it has just returned
    /// once more than `patience` allows or, with locks in its loop, owes a rest since it did. Never, if
    /// `patience` is 0.
    #[inline]
    pub(crate) fn is_over(&mut self, patience: u32, next: Kind) -> bool {
        let over = self.returned && self.returns >= patience && patience > 0;
        if !self.locked {
            return over;
        }
        // A whole iteration without taking one: it holds the lock all the time.
        let holds_on = self.owes && self.returned;
        self.owes |= over && self.is_long(patience);
        holds_on || self.owes && takes_lock(next)
    }

    /// Returns true if a thread that takes locks has to rest.
    #[cold]
    fn is_long(&self, patience: u32) -> bool {
        self.returns >= patience.saturating_mul(LOCKING) && self.returns.is_multiple_of(patience)
    }

    /// Returns the number of returns without a write.
    #[inline]
    pub(crate) fn returns(&self) -> u32 {
        self.returns
    }
}

/// Returns true if an operation of this kind takes a lock, or tries to.
fn takes_lock(kind: Kind) -> bool {
    matches!(kind.info().holding, Holding::Takes(_) | Holding::Tries(_))
}

impl Engine {
    /// Deschedules `thread` if another one can run, now or after time has passed, or if the run waits for no
    /// thread. Returns true if it did.
    #[cold]
    pub(crate) fn rest(&mut self, thread: ThreadId) -> bool {
        self.threads.settle();
        let others = self.threads.enabled().iter().any(|&other| other != thread)
            || self.next_deadline(Some(thread)).is_some()
            || self.alive == self.background
            || self.outside;
        if others {
            let steps = self.steps;
            let entry = self.threads.get_mut(thread);
            entry.resting = true;
            entry.spin.owes = false;
            entry.last_step = steps;
            entry.rested = [steps, entry.rested[0]];
            self.resting.push(thread);
            self.alarm = 0;
            self.rests += 1;
        }
        others
    }

    /// Ends a run that has reached the step limit. Otherwise, if enabled threads had no step for too long,
    /// lets only those run until each had one.
    #[cold]
    pub(crate) fn look_for_starving(&mut self) {
        let limit = self.turns.limit;
        if self.steps >= limit {
            return self.end_at_limit();
        }
        self.threads.settle();
        let begun = self.steps.saturating_sub(self.turns.span);
        let (starving, others): (Vec<ThreadId>, Vec<ThreadId>) =
            self.threads.enabled().iter().partition(|&&thread| self.threads.get(thread).last_step <= begun);
        if !starving.is_empty() {
            for thread in others {
                if self.rest(thread) {
                    self.threads.set_enabled(thread, false);
                    self.threads.note_change(thread);
                }
            }
            self.turns.span = (self.turns.span / 2).max(u64::from(self.config.patience));
        } else if self.turns.looks < self.config.patience && self.waits_long_for_lock(begun) {
            self.turns.looks += 1;
            self.turns.next_look = self.steps + 1;
            return;
        }
        self.turns.looks = 0;
        // A check takes time linear in the number of threads, so many steps come between two.
        let span = self.turns.span.max(self.threads.len() as u64);
        self.turns.next_look = (self.steps + span).min(limit);
    }

    /// Gives the run the full step limit again from now on.
    pub fn restart_step_limit(&mut self) {
        self.turns.limit = self.steps.saturating_add(self.config.step_limit);
        self.turns.next_look = self.steps.saturating_add(self.turns.span).min(self.turns.limit);
        self.alarm = 0;
    }

    /// Returns true if a thread that had no step since `begun` waits for a lock.
    fn waits_long_for_lock(&self, begun: u64) -> bool {
        let waits = |thread: &Thread| {
            thread.status == Status::Pending && !thread.resting && takes_lock(thread.operation.kind)
        };
        self.threads.iter().any(|(_, thread)| thread.last_step <= begun && waits(thread))
    }

    /// Returns true if another thread wrote last, and a resting one has not completed an iteration since: it
    /// may find what it waits for, before time passes.
    #[cold]
    pub(crate) fn has_news_for_resting(&self) -> bool {
        self.resting.iter().any(|&resting| {
            let [_, rested] = self.threads.get(resting).rested;
            let mut others = self.threads.iter().filter(|&(other, _)| other != resting);
            others.any(|(_, other)| other.last_step > rested && other.spin.has_just_written())
        })
    }

    /// Offers resting threads again if every enabled thread has had its step, or none is enabled.
    #[cold]
    pub(crate) fn end_rests(&mut self) {
        self.threads.settle();
        let threads = &self.threads;
        let slowest = threads.enabled().iter().map(|&t| threads.get(t).last_step).min().unwrap_or(u64::MAX);
        let mut index = 0;
        while let Some(&thread) = self.resting.get(index) {
            if slowest <= self.threads.get(thread).last_step {
                index += 1;
                continue;
            }
            self.resting.swap_remove(index);
            self.threads.get_mut(thread).resting = false;
            if self.can_run(thread) && self.threads.set_enabled(thread, true) {
                self.threads.note_change(thread);
            }
        }
    }

    /// Ends a run that has reached the step limit: with a livelock if every thread that can run, now or after
    /// time has passed, is spinning, and otherwise without a verdict on the program.
    #[cold]
    fn end_at_limit(&mut self) {
        let patience =
            if self.config.patience > 0 { self.config.patience } else { Config::default().patience };
        let can_go_on = |&(id, thread): &(ThreadId, &Thread)| {
            thread.status == Status::Pending && (self.can_run(id) || thread.deadline != u64::MAX)
        };
        let (spinning, others): (Vec<_>, Vec<_>) = (self.threads.iter().filter(can_go_on))
            .partition(|(_, thread)| thread.spin.returns() >= (patience / 2).max(1));
        let is_livelock = others.is_empty() && !spinning.is_empty();
        let spinning = spinning.into_iter().map(|(id, _)| id).collect();
        let limit = self.config.step_limit;
        if is_livelock || self.config.step_limit_fails {
            self.fail(Failure::StepLimit { limit, spinning });
        } else {
            self.end(Verdict::Inconclusive { limit });
        }
    }
}
