//! A schedule that is followed.

use super::{DataSource, RandomDataSource, Schedule, ScheduleStep, Scheduler, Task, TaskId};
use crate::shuttle::current::VectorClock;
use raddle_model::TraceFile;
use std::io;
use std::path::Path;

/// Follows a schedule, once.
#[derive(Debug)]
pub struct ReplayScheduler {
    schedule: Schedule,
    /// The number of steps followed.
    at: usize,
    begun: bool,
    allows_incomplete: bool,
    data: RandomDataSource,
}

impl ReplayScheduler {
    /// Creates a scheduler that follows the schedule of a report.
    ///
    /// # Panics
    ///
    /// If `encoded_schedule` was not encoded by Raddle: Shuttle has different steps.
    pub fn new_from_encoded(encoded_schedule: &str) -> ReplayScheduler {
        let schedule = Schedule::decode(encoded_schedule);
        ReplayScheduler::new_from_schedule(schedule.expect("invalid schedule: Raddle's begin with `raddle1`"))
    }

    /// Creates a scheduler that follows the schedule in a failure file, or in a file with the schedule of a report.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has no schedule.
    pub fn new_from_file(path: impl AsRef<Path>) -> Result<ReplayScheduler, io::Error> {
        let text = std::fs::read_to_string(path)?;
        let schedule = Schedule::decode(&text).map_or_else(
            || TraceFile::from_json(&text).map(|trace| Schedule::of(&trace)).map_err(io::Error::other),
            Ok,
        );
        schedule.map(ReplayScheduler::new_from_schedule)
    }

    /// Creates a scheduler that follows `schedule`.
    pub fn new_from_schedule(schedule: Schedule) -> ReplayScheduler {
        let data = RandomDataSource::initialize(schedule.seed);
        ReplayScheduler { schedule, at: 0, begun: false, allows_incomplete: false, data }
    }

    /// Ends the run if the schedule ends or selects a task that cannot run, instead of failing.
    pub fn set_allow_incomplete(&mut self) {
        self.allows_incomplete = true;
    }

    /// No effect: all steps are followed, including those that the failure does not depend on.
    pub fn set_target_clock(&mut self, _clock: impl Into<VectorClock>) {}
}

impl Scheduler for ReplayScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        let first = !std::mem::replace(&mut self.begun, true);
        let Schedule { seed, ref answers, .. } = self.schedule;
        first.then(|| Schedule { seed, steps: Vec::new(), answers: answers.clone() })
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let step = self.schedule.steps.get(self.at);
        self.at += 1;
        match step {
            Some(&ScheduleStep::Task(next)) if runnable_tasks.iter().any(|task| task.id() == next) => {
                Some(next)
            }
            _ if self.allows_incomplete => None,
            Some(ScheduleStep::Task(next)) => {
                panic!(
                    "step {} of the schedule selects {next:?}, which is not runnable: {runnable_tasks:?}",
                    self.at
                )
            }
            Some(ScheduleStep::Random) => {
                panic!("step {} of the schedule is a random number, but the test requests none", self.at)
            }
            None => {
                panic!("the schedule ended before the test: schedule ended early after {} steps", self.at - 1)
            }
        }
    }

    fn next_u64(&mut self) -> u64 {
        let step = self.schedule.steps.get(self.at);
        let is_random = matches!(step, Some(ScheduleStep::Random));
        assert!(
            is_random || self.allows_incomplete,
            "the test requests a random number at step {}",
            self.at + 1
        );
        self.at += 1;
        self.data.next_u64()
    }
}
