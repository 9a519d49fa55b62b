//! The order of the threads that the attempt does not hold.

use raddle_engine::{Point, Rng, RunSummary};
use raddle_model::{Name, ThreadId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The steps of a run at which each thread ran.
#[derive(Debug)]
pub(super) struct Recorded {
    steps: BTreeMap<Name, Vec<u32>>,
}

impl Recorded {
    pub(super) fn of(run: &RunSummary<'_>) -> Recorded {
        let mut steps: Vec<Vec<u32>> = vec![Vec::new(); run.thread_count()];
        for (step, event) in run.trace.events.iter().enumerate() {
            steps[event.thread.index()].push(step as u32);
        }
        let named = steps.into_iter().enumerate();
        Recorded { steps: named.map(|(id, steps)| (run.thread_name(ThreadId(id as u32)), steps)).collect() }
    }
}

/// The order of threads.
#[derive(Clone, Default, Debug)]
pub(super) enum Base {
    /// The thread created first comes first.
    FirstFirst,
    /// The thread created last comes first.
    LastFirst,
    /// The thread whose next step came first in another run comes first.
    Follow(Arc<Recorded>),
    /// Random, as in POS: each operation has a priority of its own.
    #[default]
    Random,
}

/// The ranks of the threads in a run; the smallest runs first.
#[derive(Clone, Default, Debug)]
pub(super) struct Ranks {
    base: Base,
    /// Invariant: one per thread seen in this run.
    drawn: Vec<u64>,
    /// Per thread seen in this run: its name, if a run is followed.
    names: Vec<Name>,
}

impl Ranks {
    pub(super) fn begin(&mut self, base: Base) {
        self.base = base;
        self.drawn.clear();
        self.names.clear();
    }

    /// Switches to random ranks for the rest of the run.
    pub(super) fn let_go(&mut self) {
        self.base = Base::Random;
    }

    /// Adds new threads, and draws ranks for new operations.
    pub(super) fn update(&mut self, point: &Point<'_>, rng: &mut Rng) {
        for index in self.drawn.len()..point.thread_count() {
            self.drawn.push(0);
            self.names.push(point.thread_name(ThreadId(index as u32)));
        }
        // As in POS, an operation that conflicts with the latest one draws again.
        let executed = point.last().into_iter().flat_map(|event| event.operation.objects());
        for (object, written) in executed {
            for (thread, _) in point.touching(object).filter(|&(_, writes)| written || writes) {
                self.drawn[thread.index()] = rng.bits();
            }
        }
        for thread in point.changed() {
            self.drawn[thread.index()] = rng.bits();
        }
    }

    /// Returns the first of the enabled threads that are `free`.
    pub(super) fn first(&self, point: &Point<'_>, free: impl Fn(ThreadId) -> bool) -> Option<ThreadId> {
        let enabled = point.enabled().iter().copied().filter(|&thread| free(thread));
        enabled.min_by_key(|&thread| (self.rank(point, thread), thread))
    }

    fn rank(&self, point: &Point<'_>, thread: ThreadId) -> u64 {
        match &self.base {
            Base::FirstFirst => u64::from(thread.0),
            Base::LastFirst => u64::from(u32::MAX - thread.0),
            Base::Random => self.drawn[thread.index()],
            Base::Follow(recorded) => {
                let steps = recorded.steps.get(&self.names[thread.index()]);
                let step = steps.and_then(|steps| steps.get(point.progress(thread) as usize));
                step.map_or(u64::MAX, |&step| u64::from(step))
            }
        }
    }
}
