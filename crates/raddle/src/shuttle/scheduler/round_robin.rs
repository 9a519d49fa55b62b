//! Tasks that take turns.

use super::{Native, Schedule, Scheduler, Task, TaskId};

/// A scheduler whose tasks take turns, one step each.
#[derive(Debug)]
pub struct RoundRobinScheduler {
    left: usize,
}

impl RoundRobinScheduler {
    /// Creates a scheduler for `max_iterations` runs, which are all the same.
    pub fn new(max_iterations: usize) -> RoundRobinScheduler {
        RoundRobinScheduler { left: max_iterations }
    }
}

impl Scheduler for RoundRobinScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        Some(Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let next = runnable_tasks.iter().find(|task| Some(task.id()) > current_task);
        next.or(runnable_tasks.first()).map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        panic!("requested random data from the round-robin scheduler")
    }
}

/// A scheduler that forwards to another one. In Shuttle it writes annotations; here a failure file contains
/// the same information.
#[derive(Debug)]
pub struct AnnotationScheduler<S: Scheduler>(S);

impl<S: Scheduler> AnnotationScheduler<S> {
    /// Creates a scheduler that forwards to `inner`.
    pub fn new(inner: S) -> AnnotationScheduler<S> {
        AnnotationScheduler(inner)
    }
}

impl<S: Scheduler> Scheduler for AnnotationScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.0.next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn native(&self) -> Option<Native> {
        self.0.native()
    }
}
