//! Shuttle's schedulers.
//!
//! A custom scheduler implements [`Scheduler`]. It is asked before each operation of the test, except random
//! numbers, and once before the main thread begins. [`Schedule::seed`] determines which of several waiters a
//! signal wakes.

mod data;
mod dfs;
mod nondeterminism;
mod pct;
mod random;
mod replay;
mod round_robin;
mod schedule;
mod task;
mod urw;

pub use data::{DataSource, RandomDataSource};
pub use dfs::DfsScheduler;
pub use nondeterminism::UncontrolledNondeterminismCheckScheduler;
pub use pct::PctScheduler;
pub use random::RandomScheduler;
pub use replay::ReplayScheduler;
pub use round_robin::{AnnotationScheduler, RoundRobinScheduler};
pub use schedule::{Schedule, ScheduleStep};
pub use task::{Task, TaskId};
pub use urw::UrwRandomScheduler;

/// A strategy of Raddle that is equivalent to a scheduler.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Native {
    pub(super) strategy: String,
    pub(super) runs: u64,
    pub(super) seed: Option<u64>,
    pub(super) data: super::rand::Data,
}

/// Decides which task takes the next step.
pub trait Scheduler {
    /// Begins a run; `None` if there is none left.
    fn new_execution(&mut self) -> Option<Schedule>;

    /// Selects one of the `runnable_tasks`, of which there is at least one; `None` ends the run.
    /// `current_task` took the last step, and `is_yielding` means that its next operation only lets others
    /// run.
    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId>;

    /// Returns a random number. Random values of the test are derived from it.
    fn next_u64(&mut self) -> u64;

    /// Returns the strategy that a runner uses instead of this scheduler, if there is one.
    #[doc(hidden)]
    fn native(&self) -> Option<Native> {
        None
    }
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        (**self).new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        (**self).next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }

    fn native(&self) -> Option<Native> {
        (**self).native()
    }
}
