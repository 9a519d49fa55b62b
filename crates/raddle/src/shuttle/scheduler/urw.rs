//! Schedules drawn evenly.

use super::{DataSource, Native, RandomDataSource, Schedule, Scheduler, Task, TaskId};
use crate::shuttle::rand::Data;

/// A walk that samples interleavings as uniformly as it has learned to: the strategy `urw`.
///
/// The first run counts the steps of each task. Later runs draw a task in proportion to the steps that it has
/// left.
#[derive(Debug)]
pub struct UrwRandomScheduler {
    runs: usize,
    seed: Option<u64>,
    done: usize,
    data: RandomDataSource,
    /// The number of steps of each task in the first run.
    expected: Vec<usize>,
    /// The number of steps of each task in this run.
    taken: Vec<usize>,
}

impl UrwRandomScheduler {
    /// Creates a scheduler for `max_iterations` runs.
    pub fn new(max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler::with_seed(None, max_iterations)
    }

    /// Creates a scheduler for `max_iterations` runs derived from `seed`.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler::with_seed(Some(seed), max_iterations)
    }

    fn with_seed(seed: Option<u64>, runs: usize) -> UrwRandomScheduler {
        let data = RandomDataSource::initialize(seed.unwrap_or(crate::Config::new().seed));
        UrwRandomScheduler { runs, seed, done: 0, data, expected: Vec::new(), taken: Vec::new() }
    }

    /// Returns the number of steps that a task has left, plus one, because the first run may have been short.
    fn weight(&self, task: TaskId) -> usize {
        let count = |steps: &[usize]| steps.get(usize::from(task)).copied().unwrap_or(0);
        count(&self.expected).saturating_sub(count(&self.taken)).max(1)
    }
}

impl Scheduler for UrwRandomScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.done == self.runs {
            return None;
        }
        if self.done == 1 {
            self.expected = std::mem::take(&mut self.taken);
        }
        self.taken.clear();
        self.done += 1;
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let total = runnable_tasks.iter().map(|task| self.weight(task.id())).sum();
        let mut drawn = self.data.below(total);
        let chosen = runnable_tasks.iter().find(|task| {
            let weight = self.weight(task.id());
            let hit = drawn < weight;
            drawn = drawn.saturating_sub(weight);
            hit
        })?;
        let index = usize::from(chosen.id());
        if self.taken.len() <= index {
            self.taken.resize(index + 1, 0);
        }
        self.taken[index] += 1;
        Some(chosen.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }

    fn native(&self) -> Option<Native> {
        let (runs, data) = (self.runs as u64, Data::Strategy);
        Some(Native { strategy: "urw".to_owned(), runs, seed: self.seed, data })
    }
}
