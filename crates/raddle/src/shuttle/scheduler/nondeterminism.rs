//! Tests that depend on more than the schedule.

use super::{Schedule, Scheduler, Task, TaskId};

/// Executes each run of another scheduler twice, and panics if the second run makes different requests.
#[derive(Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S: Scheduler> {
    inner: S,
    schedule: Schedule,
    /// The requests of the first run, and the answers.
    record: Vec<Request>,
    /// The number of requests of the second run that have been answered; `None` during the first.
    repeated: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Request {
    Task { runnable: Vec<TaskId>, yielding: bool, answer: Option<TaskId> },
    Number(u64),
}

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Creates a scheduler that executes the runs of `scheduler` twice.
    pub fn new(scheduler: S) -> UncontrolledNondeterminismCheckScheduler<S> {
        let schedule = Schedule::new(0);
        // The state after a second run that had nothing to repeat.
        UncontrolledNondeterminismCheckScheduler {
            inner: scheduler,
            schedule,
            record: Vec::new(),
            repeated: Some(0),
        }
    }

    /// Returns the request of the first run at the position of the current one.
    fn expected(&mut self, at: usize) -> Request {
        self.repeated = Some(at + 1);
        let steps = self.record.len();
        let asked = self.record.get(at).cloned();
        asked.unwrap_or_else(|| {
            panic!("possible nondeterminism: current execution should have ended after {steps} steps, as the first one did")
        })
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        match self.repeated {
            None => self.repeated = Some(0),
            Some(steps) => {
                let expected = self.record.len();
                assert!(
                    steps >= expected,
                    "possible nondeterminism: current execution ended earlier than expected, after {steps} of {expected} steps"
                );
                self.record.clear();
                self.schedule = self.inner.new_execution()?;
                self.repeated = None;
            }
        }
        Some(self.schedule.clone())
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let now: Vec<TaskId> = runnable_tasks.iter().map(|task| task.id()).collect();
        let Some(at) = self.repeated else {
            let answer = self.inner.next_task(runnable_tasks, current_task, is_yielding);
            self.record.push(Request::Task { runnable: now, yielding: is_yielding, answer });
            return answer;
        };
        match self.expected(at) {
            Request::Number(_) => panic!(
                "possible nondeterminism: next step was context switch, but recording expected random number generation"
            ),
            Request::Task { runnable, yielding, answer } => {
                assert!(
                    runnable == now,
                    "possible nondeterminism: set of runnable tasks is different than expected: {now:?} at step {}, and \
                     {runnable:?} in the first run",
                    at + 1
                );
                assert!(
                    yielding == is_yielding,
                    "possible nondeterminism: `next_task` was called with `is_yielding` as {is_yielding} at step {}, and \
                     as {yielding} in the first run",
                    at + 1
                );
                answer
            }
        }
    }

    fn next_u64(&mut self) -> u64 {
        let Some(at) = self.repeated else {
            let number = self.inner.next_u64();
            self.record.push(Request::Number(number));
            return number;
        };
        match self.expected(at) {
            Request::Number(number) => number,
            Request::Task { .. } => panic!(
                "possible nondeterminism: next step was random number generation, but recording expected context switch"
            ),
        }
    }
}
