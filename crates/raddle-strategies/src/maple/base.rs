//! The order of the threads that nothing else decides about.

use raddle_engine::{Point, Rng, RunSummary};
use raddle_model::{Name, ThreadId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// When each thread of a run took its steps.
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

/// Which thread comes first.
#[derive(Clone, Default, Debug)]
pub(super) enum Base {
    /// The one created first.
    FirstFirst,
    /// The one created last.
    LastFirst,
    /// The one whose next step came first in another run.
    Follow(Arc<Recorded>),
    /// A random one, as in POS: each operation has a priority of its own.
    #[default]
    Random,
}

/// The ranks of the threads in a run; the smallest runs first.
#[derive(Clone, Default, Debug)]
pub(super) struct Ranks {
    base: Base,
    /// Invariant: one per thread seen in this run.
    drawn: Vec<u64>,
    /// Per thread seen in this run: its name, where a run is followed.
    names: Vec<Name>,
}

impl Ranks {
    pub(super) fn begin(&mut self, base: Base) {
        self.base = base;
        self.drawn.clear();
        self.names.clear();
    }

    /// From now on everything is random.
    pub(super) fn let_go(&mut self) {
        self.base = Base::Random;
    }

    /// Looks at new threads, and draws for new operations.
    pub(super) fn update(&mut self, point: &Point<'_>, rng: &mut Rng) {
        for index in self.drawn.len()..point.thread_count() {
            self.drawn.push(0);
            self.names.push(point.thread_name(ThreadId(index as u32)));
        }
        // As in POS, an operation that conflicts with the latest one is drawn for again.
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

    /// The first of the enabled threads that are `free`.
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
