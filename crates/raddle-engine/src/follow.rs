//! Follows a schedule as far as that is possible: every schedule gives a run, and the run tells what it was.

use crate::Rng;
use crate::strategy::{Choice, Needs, Plan, Point, Strategy};
use raddle_model::{Schedule, ThreadId};

/// A strategy that follows a [`Schedule`]. Nothing is wrong with a run that differs from it; whoever asks for one looks at
/// the trace. The enabled threads are recorded, so that preemptions can be counted.
#[derive(Clone, Debug)]
pub struct Follow {
    schedule: Schedule,
    /// The segment of now.
    at: usize,
    /// Who takes the latest step.
    current: Option<ThreadId>,
    /// How many answers of each thread were given.
    given: Vec<usize>,
}

impl Follow {
    /// Follows `schedule`.
    pub fn new(schedule: Schedule) -> Follow {
        let given = vec![0; schedule.answers.len()];
        Follow { schedule, at: 0, current: None, given }
    }

    /// Who runs when nothing is said any more: nobody is interrupted.
    fn uninterrupted(&self, point: &Point<'_>) -> Option<ThreadId> {
        let current = self.current.filter(|&thread| point.is_enabled(thread));
        current.or_else(|| point.enabled().iter().copied().min())
    }
}

impl Strategy for Follow {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.at = 0;
        self.current = None;
        self.given.fill(0);
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        while let Some(segment) = self.schedule.segments.get(self.at) {
            let is_there = segment.thread.index() < point.thread_count() && point.is_enabled(segment.thread);
            if is_there && point.progress(segment.thread) < segment.until {
                self.current = Some(segment.thread);
                return Choice::Run(segment.thread);
            }
            self.at += 1;
        }
        self.current = self.uninterrupted(point);
        self.current.map_or(Choice::CutOff, Choice::Run)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        let Some(thread) = self.current.map(ThreadId::index) else { return 0 };
        let Some(given) = self.given.get_mut(thread) else { return 0 };
        let answer = self.schedule.answers[thread].get(*given);
        *given += 1;
        answer.map_or(0, |&(_, value)| value.min(arity - 1))
    }

    fn needs(&self) -> Needs {
        Needs { enabled: true, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
