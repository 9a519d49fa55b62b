//! Random schedules.

use super::{DataSource, Native, RandomDataSource, Schedule, Scheduler, Task, TaskId};
use crate::shuttle::rand::Data;

/// Any enabled task, at every step: the strategy `random-walk`.
#[derive(Debug)]
pub struct RandomScheduler {
    runs: usize,
    seed: Option<u64>,
    done: usize,
    data: RandomDataSource,
}

impl RandomScheduler {
    /// Creates a scheduler for `max_iterations` runs.
    pub fn new(max_iterations: usize) -> RandomScheduler {
        RandomScheduler::with_seed(None, max_iterations)
    }

    /// Creates a scheduler for `max_iterations` runs derived from `seed`.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> RandomScheduler {
        RandomScheduler::with_seed(Some(seed), max_iterations)
    }

    fn with_seed(seed: Option<u64>, runs: usize) -> RandomScheduler {
        let data = RandomDataSource::initialize(seed.unwrap_or(crate::Config::new().seed));
        RandomScheduler { runs, seed, done: 0, data }
    }
}

impl Scheduler for RandomScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.done == self.runs {
            return None;
        }
        self.done += 1;
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        Some(runnable_tasks[self.data.below(runnable_tasks.len())].id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }

    fn native(&self) -> Option<Native> {
        let (runs, data) = (self.runs as u64, Data::Strategy);
        Some(Native { strategy: "random-walk".to_owned(), runs, seed: self.seed, data })
    }
}
