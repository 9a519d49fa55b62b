//! Lists the partial orders of a sample, each with one schedule.

use raddle_engine::{RunSummary, Strategy, Wrapped, Wrapper};
use raddle_model::Verdict;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One partial order of a sample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenOrder {
    /// Number of runs that had it.
    pub runs: u64,
    /// The kind of failure; nothing if it passes.
    pub failure: Option<&'static str>,
    /// The threads of the first such run, step by step, numbered in the order of their creation.
    pub schedule: Vec<u32>,
    /// The numbers drawn in that run: the step, and the value.
    pub picks: Vec<(u64, u32)>,
}

/// The partial orders of a sample, by fingerprint. Clones share one list.
#[derive(Clone, Default, Debug)]
pub struct SeenOrders(Arc<Mutex<BTreeMap<u64, SeenOrder>>>);

impl SeenOrders {
    /// Wraps `strategy` so that its complete runs are listed here. Its schedules stay the same; its runs are
    /// executed in order.
    pub fn watch(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        Box::new(Wrapped::new(strategy, self.clone()))
    }

    /// Returns the list and leaves an empty one.
    pub fn take(&self) -> BTreeMap<u64, SeenOrder> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn count(&self, run: &RunSummary<'_>) {
        if *run.verdict == Verdict::CutOff {
            return;
        }
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let order = seen.entry(run.fingerprint).or_insert_with(|| SeenOrder {
            runs: 0,
            failure: run.verdict.failure().map(|failure| failure.kind()),
            schedule: run.trace.events.iter().map(|event| event.thread.0).collect(),
            picks: run.trace.picks.iter().map(|pick| (u64::from(pick.step), pick.value)).collect(),
        });
        order.runs += 1;
    }
}

impl Wrapper for SeenOrders {
    fn learn(&mut self, inner: &mut dyn Strategy, run: &RunSummary<'_>) {
        inner.learn(run);
        self.count(run);
    }

    fn learns(&self, _inner: bool) -> bool {
        true
    }
}
