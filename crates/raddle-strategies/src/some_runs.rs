//! An inner strategy with further needs in some of its runs, drawn for each run: what [`exit_last`](crate::exit_last) and
//! [`early_timeouts`](crate::early_timeouts) have in common.

use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::Ledger;

/// The share of runs that have further needs, and those needs.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// Draws whether a run has them.
    pub(crate) draw: fn(&mut Rng) -> bool,
    /// Adds them to those of the inner strategy.
    pub(crate) add: fn(&mut Needs),
}

/// See the module's documentation.
pub(crate) struct SomeRuns {
    inner: Box<dyn Strategy>,
    change: Change,
    /// True if this run has the further needs.
    changed: bool,
}

impl SomeRuns {
    /// Changes some runs of `inner`.
    pub(crate) fn boxed(inner: Box<dyn Strategy>, change: Change) -> Box<dyn Strategy> {
        Box::new(SomeRuns { inner, change, changed: false })
    }
}

impl Strategy for SomeRuns {
    fn begin(&mut self, mut rng: Rng) -> Plan {
        self.changed = (self.change.draw)(&mut rng);
        self.inner.begin(rng)
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.inner.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.inner.pick(arity)
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.inner.pick_message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.inner.learn(run);
    }

    fn needs(&self) -> Needs {
        let mut needs = self.inner.needs();
        if self.changed {
            (self.change.add)(&mut needs);
        }
        needs
    }

    fn learns(&self) -> bool {
        self.inner.learns()
    }

    fn space(&self) -> Option<f64> {
        self.inner.space()
    }

    fn ledger(&self) -> Option<&Ledger> {
        self.inner.ledger()
    }

    fn recall(&mut self, known: &Ledger) {
        self.inner.recall(known);
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(SomeRuns { inner: self.inner.fork(), ..*self })
    }
}
