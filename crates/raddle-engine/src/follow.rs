//! A strategy that follows a schedule as far as possible: every schedule yields a run.

use crate::Rng;
use crate::strategy::{Choice, Needs, Plan, Point, Strategy};
use raddle_model::{Completion, Constraint, Schedule, Stronger, ThreadId, mix};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A strategy that follows a [`Schedule`]. A run may differ from it; callers inspect the trace. Copies share
/// the count of preemptions, so that one can be asked after another has executed the run.
#[derive(Clone, Debug)]
pub struct Follow {
    schedule: Schedule,
    /// The current segment.
    at: usize,
    /// The thread of the latest step.
    current: Option<ThreadId>,
    /// Number of answers given in each thread.
    given: Vec<usize>,
    /// For [`Completion::Random`].
    rng: Rng,
    preemptions: Arc<AtomicU64>,
}

impl Follow {
    /// Creates a strategy that follows `schedule`.
    pub fn new(schedule: Schedule) -> Follow {
        let given = vec![0; schedule.answers.len()];
        let rng = Follow::rng(schedule.completion);
        Follow { schedule, at: 0, current: None, given, rng, preemptions: Arc::default() }
    }

    /// Returns the number of preemptions in the latest run.
    pub fn preemptions(&self) -> u64 {
        self.preemptions.load(Ordering::Relaxed)
    }

    /// Lets `thread` take the next step.
    fn take(&mut self, point: &Point<'_>, thread: ThreadId) -> Choice {
        let interrupted = self.current.is_some_and(|current| current != thread && point.is_enabled(current));
        self.preemptions.fetch_add(u64::from(interrupted), Ordering::Relaxed);
        self.current = Some(thread);
        Choice::Run(thread)
    }

    fn rng(completion: Completion) -> Rng {
        match completion {
            Completion::Uninterrupted => Rng::for_run(0, 0),
            Completion::Random(seed) => Rng::for_run(seed, 0),
        }
    }

    /// Returns true if a constraint holds `thread` back now.
    fn is_held(&self, point: &Point<'_>, thread: ThreadId) -> bool {
        self.schedule.constraints.iter().any(|constraint| {
            let Constraint { before, after } = constraint;
            let taken = |thread: ThreadId| {
                if thread.index() < point.thread_count() { point.progress(thread) } else { 0 }
            };
            after.thread == thread && taken(thread) + 1 >= after.until && taken(before.thread) < before.until
        })
    }

    /// Draws a thread that is not held back, or any thread if all are.
    fn drawn(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        let mut threads = point.enabled().to_vec();
        threads.sort_unstable();
        let free: Vec<ThreadId> =
            threads.iter().copied().filter(|&thread| !self.is_held(point, thread)).collect();
        let among = if free.is_empty() { threads } else { free };
        match self.schedule.completion {
            // Every other schedule has fixed priorities: a random walk hardly ever lets one thread run far
            // ahead of the others. In half of those the first thread has the highest priority, so that a
            // thread it starts late can be ahead too.
            Completion::Random(seed) if seed % 2 == 1 => among.into_iter().max_by_key(|thread| {
                let is_above = seed % 4 == 1 && thread.0 == 0;
                (is_above, mix(seed.rotate_left(32) ^ u64::from(thread.0)))
            }),
            _ => {
                let index = if among.len() > 1 { self.rng.below(among.len() as u64) } else { 0 };
                among.get(index as usize).copied()
            }
        }
    }

    /// Returns the thread of the first segment that has steps left, of those that can run and are not held back.
    fn preferred(&self, point: &Point<'_>) -> Option<ThreadId> {
        let can_run = |thread: ThreadId| thread.index() < point.thread_count() && point.is_enabled(thread);
        let mut segments = self.schedule.segments.iter().filter(|segment| can_run(segment.thread));
        let next = segments.find(|segment| {
            point.progress(segment.thread) < segment.until && !self.is_held(point, segment.thread)
        });
        next.map(|segment| segment.thread)
    }

    /// Returns the next thread without a preemption, except of a thread that a constraint holds back.
    fn uninterrupted(&self, point: &Point<'_>) -> Option<ThreadId> {
        let next = |among: &dyn Fn(ThreadId) -> bool| {
            let current = self.current.filter(|&thread| point.is_enabled(thread) && among(thread));
            current.or_else(|| point.enabled().iter().copied().filter(|&thread| among(thread)).min())
        };
        next(&|thread| !self.is_held(point, thread)).or_else(|| next(&|_| true))
    }
}

impl Strategy for Follow {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.at = 0;
        self.current = None;
        self.preemptions.store(0, Ordering::Relaxed);
        self.given.fill(0);
        self.rng = Follow::rng(self.schedule.completion);
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if !self.schedule.constraints.is_empty()
            && let Some(thread) = self.preferred(point)
        {
            return self.take(point, thread);
        }
        while let Some(segment) = self.schedule.segments.get(self.at) {
            let is_there = segment.thread.index() < point.thread_count() && point.is_enabled(segment.thread);
            if is_there && point.progress(segment.thread) < segment.until {
                let thread = segment.thread;
                return self.take(point, thread);
            }
            self.at += 1;
        }
        let next = match self.schedule.completion {
            Completion::Uninterrupted => self.uninterrupted(point),
            Completion::Random(_) => self.drawn(point),
        };
        next.map_or(Choice::CutOff, |thread| self.take(point, thread))
    }

    fn pick(&mut self, arity: u32) -> u32 {
        if self.schedule.completion != Completion::Uninterrupted {
            return self.rng.below(u64::from(arity)) as u32;
        }
        let Some(thread) = self.current.map(ThreadId::index) else { return 0 };
        let Some(given) = self.given.get_mut(thread) else { return 0 };
        let answer = self.schedule.answers[thread].get(*given);
        *given += 1;
        answer.map_or(0, |&(_, value)| value.min(arity - 1))
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        match self.schedule.completion {
            Completion::Uninterrupted => self.pick(arity),
            Completion::Random(_) => self.rng.message(arity),
        }
    }

    fn needs(&self) -> Needs {
        Needs { location_names: !self.schedule.stronger.is_empty(), ..Needs::default() }
    }

    fn stronger(&self) -> Vec<Stronger> {
        self.schedule.stronger.clone()
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
