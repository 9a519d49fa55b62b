//! Random priorities that change at few steps.

use super::{DataSource, Native, RandomDataSource, Schedule, Scheduler, Task, TaskId};
use crate::shuttle::rand::Data;

/// Random priorities that change at few steps: the strategy `pct`.
#[derive(Debug)]
pub struct PctScheduler {
    depth: usize,
    runs: usize,
    seed: Option<u64>,
    done: usize,
    data: RandomDataSource,
    /// The priority of each task; the highest one runs.
    priorities: Vec<u64>,
    /// The steps at which the priority of the task that would run becomes the lowest.
    changes: Vec<usize>,
    step: usize,
    longest: usize,
    /// The next priority below all others.
    lowest: u64,
}

impl PctScheduler {
    /// Creates a scheduler for bugs up to this depth and `max_iterations` runs.
    pub fn new(max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler::with_seed(None, max_depth, max_iterations)
    }

    /// Creates a scheduler for bugs up to this depth and `max_iterations` runs derived from `seed`.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler::with_seed(Some(seed), max_depth, max_iterations)
    }

    fn with_seed(seed: Option<u64>, depth: usize, runs: usize) -> PctScheduler {
        assert!(depth > 0, "the bug depth must be at least 1");
        let data = RandomDataSource::initialize(seed.unwrap_or(crate::Config::new().seed));
        let (priorities, changes) = (Vec::new(), Vec::new());
        PctScheduler { depth, runs, seed, done: 0, data, priorities, changes, step: 0, longest: 1, lowest: 0 }
    }

    /// Returns the priority of a task, which is drawn when it is first seen, above all lowered ones.
    fn priority(&mut self, task: TaskId) -> u64 {
        let index = usize::from(task);
        while self.priorities.len() <= index {
            self.priorities.push(self.data.next_u64() | 1 << 63);
        }
        self.priorities[index]
    }

    fn lower(&mut self, task: TaskId) {
        self.lowest -= 1;
        self.priorities[usize::from(task)] = self.lowest;
    }

    fn first(&mut self, tasks: &[&Task]) -> Option<TaskId> {
        tasks.iter().map(|task| task.id()).max_by_key(|&task| self.priority(task))
    }
}

impl Scheduler for PctScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.done == self.runs {
            return None;
        }
        self.done += 1;
        self.longest = self.longest.max(self.step);
        self.step = 0;
        self.lowest = 1 << 63;
        self.priorities.clear();
        let schedule = Schedule::new(self.data.reinitialize());
        self.changes = (1..self.depth).map(|_| self.data.below(self.longest)).collect();
        Some(schedule)
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if let Some(task) = current_task.filter(|_| is_yielding) {
            self.priority(task);
            self.lower(task);
        }
        let mut chosen = self.first(runnable_tasks)?;
        let changes = self.changes.iter().filter(|&&change| change == self.step).count();
        for _ in 0..changes {
            self.lower(chosen);
            chosen = self.first(runnable_tasks)?;
        }
        self.step += 1;
        Some(chosen)
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }

    fn native(&self) -> Option<Native> {
        let (strategy, runs) = (format!("pct:depth={}", self.depth), self.runs as u64);
        Some(Native { strategy, runs, seed: self.seed, data: Data::Strategy })
    }
}
