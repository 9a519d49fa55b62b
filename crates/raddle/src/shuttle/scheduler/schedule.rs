//! Schedules, and their text.

use super::TaskId;
use raddle_model::{Kind, TraceFile};
use std::fmt::Write as _;

/// The order in which tasks take steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The seed of random numbers.
    pub seed: u64,
    /// The steps.
    pub steps: Vec<ScheduleStep>,
    /// The answers to requests for a number: random numbers of the test and which waiter a signal woke.
    pub(crate) answers: Vec<u32>,
}

/// A step of a [`Schedule`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScheduleStep {
    /// This task takes a step.
    Task(TaskId),
    /// The current task gets a random number.
    Random,
}

/// The prefix of the text of a schedule. Shuttle's begins with `91`.
const MARK: &str = "raddle1";

impl Schedule {
    /// Creates a schedule without steps.
    pub fn new(seed: u64) -> Schedule {
        Schedule { seed, ..Schedule::default() }
    }

    /// Creates a schedule in which these tasks take a step each.
    pub fn new_from_task_ids<T: Into<TaskId>>(seed: u64, task_ids: impl IntoIterator<Item = T>) -> Schedule {
        let steps = task_ids.into_iter().map(|id| ScheduleStep::Task(id.into())).collect();
        Schedule { seed, steps, answers: Vec::new() }
    }

    /// Adds a step of a task.
    pub fn push_task(&mut self, task: TaskId) {
        self.steps.push(ScheduleStep::Task(task));
    }

    /// Adds a random number.
    pub fn push_random(&mut self) {
        self.steps.push(ScheduleStep::Random);
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the schedule of a recorded run.
    pub(crate) fn of(trace: &TraceFile) -> Schedule {
        let mut schedule = Schedule::new(trace.seed);
        // The start of the main thread.
        schedule.push_task(TaskId::from(0));
        for step in &trace.steps {
            if step.operation.kind == Kind::Choose {
                schedule.push_random();
            } else {
                schedule.push_task(TaskId::from(step.thread as usize));
            }
        }
        schedule.answers = trace.picks.iter().map(|&(_, _, value)| value).collect();
        schedule
    }

    /// Returns a text for [`Schedule::decode`]: the seed, the tasks as `number` or `number*times`, `r` for
    /// random numbers, and the answers.
    pub(crate) fn encode(&self) -> String {
        let mut text = format!("{MARK} {:x} ", self.seed);
        for run in self.steps.chunk_by(PartialEq::eq) {
            match run[0] {
                ScheduleStep::Task(id) => _ = write!(text, "{id}"),
                ScheduleStep::Random => text.push('r'),
            }
            if run.len() > 1 {
                _ = write!(text, "*{}", run.len());
            }
            text.push(',');
        }
        text.push('-');
        for answer in &self.answers {
            _ = write!(text, " {answer}");
        }
        text
    }

    /// Returns the schedule that [`Schedule::encode`] encoded as `text`.
    pub(crate) fn decode(text: &str) -> Option<Schedule> {
        let mut words = text.trim().strip_prefix(MARK)?.split_whitespace();
        let mut schedule = Schedule::new(u64::from_str_radix(words.next()?, 16).ok()?);
        let steps = words.next()?.strip_suffix('-')?;
        for part in steps.split_terminator(',') {
            let (step, times) = part.split_once('*').unwrap_or((part, "1"));
            let step = match step {
                "r" => ScheduleStep::Random,
                number => ScheduleStep::Task(TaskId::from(number.parse::<usize>().ok()?)),
            };
            schedule.steps.extend(std::iter::repeat_n(step, times.parse().ok()?));
        }
        schedule.answers = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        Some(schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let mut schedule = Schedule::new_from_task_ids(0xfeed, [0, 0, 0, 12, 1]);
        assert_eq!(schedule.encode(), "raddle1 feed 0*3,12,1,-");
        assert_eq!(Schedule::decode(&schedule.encode()), Some(schedule.clone()));
        schedule.push_random();
        schedule.push_random();
        schedule.answers = vec![7, 0];
        assert_eq!(Schedule::decode(&schedule.encode()), Some(schedule));
        assert_eq!(Schedule::decode(&Schedule::new(1).encode()), Some(Schedule::new(1)));
        for wrong in ["", "91021000904092940400", "raddle1", "raddle1 0", "raddle1 0 0,1", "raddle1 0 x,-"] {
            assert_eq!(Schedule::decode(wrong), None, "{wrong}");
        }
    }
}
