//! The strategy that asks a [`Scheduler`].

use super::native::Limits;
use crate::shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::{Kind, ThreadId};
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The scheduler of the runs on this OS thread. A strategy can be sent to other threads, a scheduler cannot.
    static SCHEDULER: RefCell<Option<Installed>> = const { RefCell::new(None) };
}

struct Installed {
    scheduler: Box<dyn Scheduler>,
    /// The scheduler's panic payload. There is no further run then.
    panic: Option<Box<dyn Any + Send>>,
}

/// Calls `f`, in which [`AskScheduler`] asks `scheduler`. The error is the scheduler's panic payload.
pub(super) fn with<R>(
    scheduler: Box<dyn Scheduler>,
    f: impl FnOnce() -> R,
) -> Result<R, Box<dyn Any + Send>> {
    SCHEDULER.set(Some(Installed { scheduler, panic: None }));
    let result = catch_unwind(AssertUnwindSafe(f));
    let panic = SCHEDULER.take().and_then(|installed| installed.panic);
    match (result, panic) {
        (_, Some(panic)) | (Err(panic), None) => Err(panic),
        (Ok(result), None) => Ok(result),
    }
}

/// Asks the scheduler; returns `None` if it panics or has panicked.
fn ask<R>(question: impl FnOnce(&mut dyn Scheduler) -> R) -> Option<R> {
    SCHEDULER.with_borrow_mut(|installed| {
        let installed = installed.as_mut().filter(|installed| installed.panic.is_none())?;
        let answer = catch_unwind(AssertUnwindSafe(|| question(&mut *installed.scheduler)));
        answer.map_err(|panic| installed.panic = Some(panic)).ok()
    })
}

/// A strategy that asks the scheduler of this OS thread.
pub(super) struct AskScheduler {
    limits: Limits,
    /// The task that took the last step; `None` before the main thread has begun.
    current: Option<ThreadId>,
    /// True if the step is a random number.
    is_random: bool,
    /// The recorded answers to requests for a number, if any.
    answers: VecDeque<u32>,
    /// Selects the waiter that a signal wakes.
    waiters: Rng,
    tasks: Vec<Task>,
}

impl AskScheduler {
    pub(super) fn boxed(limits: Limits) -> Box<dyn Strategy> {
        Box::new(AskScheduler {
            limits,
            current: None,
            is_random: false,
            answers: VecDeque::new(),
            waiters: Rng::for_run(0, 0),
            tasks: Vec::new(),
        })
    }

    /// Returns the task that the scheduler selects among `self.tasks`.
    fn next_task(&mut self, is_yielding: bool) -> Option<ThreadId> {
        let runnable: Vec<&Task> = self.tasks.iter().collect();
        let current = self.current.map(TaskId::of);
        let chosen = ask(|scheduler| {
            let chosen = scheduler.next_task(&runnable, current, is_yielding)?;
            let known = runnable.iter().any(|task| task.id() == chosen);
            assert!(known, "the scheduler selected {chosen:?}, which is not runnable: {runnable:?}");
            Some(chosen)
        });
        self.current = Some(chosen??.thread());
        self.current
    }
}

impl Strategy for AskScheduler {
    fn begin(&mut self, _rng: Rng) -> Plan {
        if self.limits.begin() == Plan::Exhausted {
            return Plan::Exhausted;
        }
        let Some(Some(schedule)) = ask(|scheduler| scheduler.new_execution()) else { return Plan::Exhausted };
        let Schedule { seed, answers, .. } = schedule;
        self.current = None;
        self.answers = answers.into();
        self.waiters = Rng::for_run(seed, 0);
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if self.limits.left(point) == 0 {
            return Choice::CutOff;
        }
        if self.current.is_none() {
            self.tasks = vec![Task { id: TaskId::from(0), parent: None }];
            if self.next_task(false).is_none() {
                return Choice::CutOff;
            }
        }
        let kind = self
            .current
            .filter(|&current| point.is_enabled(current))
            .map(|thread| point.operation(thread).kind);
        self.is_random = kind == Some(Kind::Choose);
        if self.is_random {
            return self.current.map_or(Choice::CutOff, Choice::Run);
        }
        let parent = |&thread: &ThreadId| point.parent(thread).map(TaskId::of);
        let task = |thread: &ThreadId| Task { id: TaskId::of(*thread), parent: parent(thread) };
        self.tasks.clear();
        self.tasks.extend(point.enabled().iter().map(task));
        self.tasks.sort_unstable_by_key(Task::id);
        let Some(chosen) = self.next_task(kind == Some(Kind::Yield)) else { return Choice::CutOff };
        self.is_random = point.operation(chosen).kind == Kind::Choose;
        Choice::Run(chosen)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        let number = if self.is_random {
            ask(|scheduler| scheduler.next_u64()).unwrap_or(0) % u64::from(arity)
        } else {
            self.waiters.below(u64::from(arity))
        };
        self.answers.pop_front().filter(|&answer| answer < arity).unwrap_or(number as u32)
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        AskScheduler::boxed(self.limits.clone())
    }
}
