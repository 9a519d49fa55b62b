//! Every schedule.

use super::{DataSource, Native, RandomDataSource, Schedule, Scheduler, Task, TaskId};
use crate::shuttle::rand::{DFS_SEED, Data};

/// Every schedule: the strategy `dfs`.
#[derive(Debug)]
pub struct DfsScheduler {
    runs: Option<usize>,
    allows_random: bool,
    done: usize,
    /// The choices of this run, each with the tasks that are left to try instead. The last one with any is
    /// taken next.
    path: Vec<(TaskId, Vec<TaskId>)>,
    /// The number of choices in this run.
    depth: usize,
    data: RandomDataSource,
}

impl DfsScheduler {
    /// Creates a scheduler for all runs, or the first `max_iterations`. A test may request random numbers
    /// only with `allow_random_data`; it then gets the same ones in each run.
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> DfsScheduler {
        let data = RandomDataSource::initialize(DFS_SEED);
        let (runs, allows_random) = (max_iterations, allow_random_data);
        DfsScheduler { runs, allows_random, done: 0, path: Vec::new(), depth: 0, data }
    }
}

impl Scheduler for DfsScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.runs.is_some_and(|runs| self.done >= runs) {
            return None;
        }
        if self.done > 0 {
            while self.path.pop_if(|(_, left)| left.is_empty()).is_some() {}
            let (taken, left) = self.path.last_mut()?;
            *taken = left.pop()?;
        }
        self.done += 1;
        self.depth = 0;
        self.data = RandomDataSource::initialize(DFS_SEED);
        Some(Schedule::new(DFS_SEED))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        if self.depth == self.path.len() {
            let mut left: Vec<TaskId> = runnable_tasks.iter().rev().map(|task| task.id()).collect();
            self.path.push((left.pop()?, left));
        }
        self.depth += 1;
        Some(self.path[self.depth - 1].0)
    }

    fn next_u64(&mut self) -> u64 {
        assert!(self.allows_random, "{}", crate::shuttle::rand::FORBIDDEN);
        self.data.next_u64()
    }

    fn native(&self) -> Option<Native> {
        let runs = self.runs.map_or(u64::MAX, |runs| runs as u64);
        let data = if self.allows_random { Data::Fixed } else { Data::Forbidden };
        Some(Native { strategy: "dfs".to_owned(), runs, seed: None, data })
    }
}
