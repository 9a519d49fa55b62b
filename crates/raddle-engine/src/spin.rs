//! The one rule against starvation by spinning.
//!
//! A strategy that prefers one thread would run a loop such as `while !flag { yield }` for ever. So: **a thread that
//! has come back [`Config::patience`](crate::Config) times to the same operation without having written anything
//! rests.** A resting thread is not offered to the strategy until every thread that is enabled has taken a step
//! since, or until nothing else is enabled and no time-out can change that: the virtual clock goes on while all that
//! is left to do is spinning, and nobody has written since. It rests again after each further such return, until it writes. A compare-and-exchange
//! that failed, or a swap that put the same value back, has written nothing; the front end has to say so.
//!
//! A thread that polls under a lock (`lock; look; unlock` in a circle) goes round without writing too. But so does, to the
//! eye of a front end that does not see plain memory, one that works under a lock. So a circle with a lock in it is
//! given [`LOCKING`] times the patience, and then a rest only every `patience` returns. It rests where it is about to take a lock, if it
//! does in its circle: elsewhere it may have the one that the others wait for.
//!
//! A thread may also write while it waits: a task that puts itself back into its executor's queue until it finds a message. Nothing
//! tells that from work, so there is a second rule, far beyond any run that comes to an end by itself: **where an enabled thread had no step
//! for a quarter of the step limit, those that had one rest.** After that the span is half as long, and so on down to
//! `patience`, so that in the end all threads go on and the run ends. A thread that waits for a lock is enabled only for a moment of each circle
//! of those who take it, so then it is looked for that moment in each of the next `patience` steps.
//!
//! Effect on guarantees: schedules in which one thread makes more than `patience` idle returns in a row while others
//! could run are not explored, and a bound such as PCT's holds for runs without a rest. [`RunSummary::rests`]
//! (crate::RunSummary) counts them, so that nobody has to guess.

use crate::config::Config;
use crate::engine::Engine;
use crate::threads::{Status, Thread};
use raddle_model::{Failure, Holding, Kind, Operation, Progress, ThreadId, Verdict};

/// What is remembered of a thread's latest operations, to notice that it goes round in a circle. Brent's method: the
/// anchor moves to the current operation at every power of two, so a circle of any length is noticed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spin {
    anchor: u64,
    since: u32,
    power: u32,
    returns: u32,
    /// Whether the latest operation was a return.
    returned: bool,
    /// The power and the returns before the latest write, in case that it was none.
    before_write: (u32, u32),
    /// Whether a lock was taken since the latest effect on others.
    locked: bool,
    /// Whether it is to rest when it takes the next lock.
    owes: bool,
}

/// How much more patience there is with a circle in which locks are taken and given back.
const LOCKING: u32 = 16;

/// When it is looked next whether a thread starves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Invariant: no greater than the step limit.
    pub(crate) next_look: u64,
    /// How many steps an enabled thread may be without one.
    span: u64,
    /// The number of steps at which the run fails.
    limit: u64,
    /// In how many steps in a row it was looked for the moment in which one that waits for a lock is enabled.
    looks: u32,
}

impl Turns {
    /// The part of the step limit that a thread may be without a step at first.
    const PART: u64 = 4;

    /// At the beginning of a run.
    pub(crate) fn of(config: Config) -> Turns {
        let limit = config.step_limit;
        let span = if config.patience > 0 { limit.div_ceil(Turns::PART) } else { limit };
        Turns { next_look: span, span, limit, looks: 0 }
    }
}

/// What an executed operation means to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    /// Nothing.
    None,
    /// Nothing, once a lock that was taken has been given back.
    Lock,
    /// That something has changed.
    Lasting,
}

impl Spin {
    /// Takes note of an executed memory access or local step.
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

    /// Takes note that the memory access executed last, which was noted as a write, changed nothing.
    #[inline]
    pub(crate) fn note_no_write(&mut self, operation: &Operation) {
        (self.power, self.returns) = self.before_write;
        self.note(operation, Mark::None);
    }

    /// Takes note of an executed operation that left a mark for others, or none.
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

    /// Takes note of an executed operation of synchronisation, and of whether it acquired something.
    #[inline]
    pub(crate) fn note_synchronisation(&mut self, operation: &Operation, acquired: bool) {
        let mark = match operation.kind.info().progress {
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

    /// Whether the latest operation changed something for others.
    #[inline]
    pub(crate) fn has_just_written(&self) -> bool {
        self.power == 0
    }

    /// Whether the latest operation was a return to an earlier one.
    #[inline]
    pub(crate) fn has_returned(&self) -> bool {
        self.returned
    }

    /// Whether it is to rest instead of executing an operation of this kind: it has just come back once more than `patience` allows or,
    /// with locks in its circle, owes a rest since it did. Never, if that is 0.
    #[inline]
    pub(crate) fn is_over(&mut self, patience: u32, next: Kind) -> bool {
        let over = self.returned && self.returns >= patience && patience > 0;
        if !self.locked {
            return over;
        }
        // A whole circle without taking one: it has the lock all the time.
        let holds_on = self.owes && self.returned;
        self.owes |= over && self.is_long(patience);
        holds_on || self.owes && takes_lock(next)
    }

    /// Whether it is time for a thread to rest that takes locks.
    #[cold]
    fn is_long(&self, patience: u32) -> bool {
        self.returns >= patience.saturating_mul(LOCKING) && self.returns.is_multiple_of(patience)
    }

    /// How often it has come back to where it was without writing.
    #[inline]
    pub(crate) fn returns(&self) -> u32 {
        self.returns
    }
}

/// Whether an operation of this kind takes a lock, or tries to.
fn takes_lock(kind: Kind) -> bool {
    matches!(kind.info().holding, Holding::Takes(_) | Holding::Tries(_))
}

impl Engine {
    /// Holds `thread` back, if another one could run, now or when time has passed, or if the run waits
    /// for nobody. Tells whether it did.
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

    /// Ends a run that has taken all the steps it may. Otherwise lets only those threads run that had no step for too long, if
    /// there are any, until each had one.
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
        // A look takes as long as there are threads, so that many steps come between two.
        let span = self.turns.span.max(self.threads.len() as u64);
        self.turns.next_look = (self.steps + span).min(limit);
    }

    /// Lets the run take as many steps from now on as it could take at its beginning.
    pub fn restart_step_limit(&mut self) {
        self.turns.limit = self.steps.saturating_add(self.config.step_limit);
        self.turns.next_look = self.steps.saturating_add(self.turns.span).min(self.turns.limit);
        self.alarm = 0;
    }

    /// Whether a thread that had no step since `begun` waits for a lock.
    fn waits_long_for_lock(&self, begun: u64) -> bool {
        let waits = |thread: &Thread| {
            thread.status == Status::Pending && !thread.resting && takes_lock(thread.operation.kind)
        };
        self.threads.iter().any(|(_, thread)| thread.last_step <= begun && waits(thread))
    }

    /// Whether another thread has written last, and a resting one has not gone round once since: then it may find what it waits for, before
    /// time passes.
    #[cold]
    pub(crate) fn has_news_for_resting(&self) -> bool {
        self.resting.iter().any(|&resting| {
            let [_, rested] = self.threads.get(resting).rested;
            let mut others = self.threads.iter().filter(|&(other, _)| other != resting);
            others.any(|(_, other)| other.last_step > rested && other.spin.has_just_written())
        })
    }

    /// Offers resting threads again where every enabled thread has had its step, or none is enabled.
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

    /// Ends a run that has taken all the steps it may: with a livelock if every thread that can go on, now or when time has
    /// passed, is spinning, and otherwise without a verdict on the program.
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
