//! An inner strategy with further needs in some of its runs, drawn for each run: what [`exit_last`](crate::exit_last) and
//! [`early_timeouts`](crate::early_timeouts) have in common.

use raddle_engine::{Needs, Plan, Rng, Strategy, Wrapped, Wrapper};

/// The share of runs that have further needs, and those needs.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// Draws whether a run has them.
    pub(crate) draw: fn(&mut Rng) -> bool,
    /// Adds them to those of the inner strategy.
    pub(crate) add: fn(&mut Needs),
}

impl Change {
    /// Changes some runs of `inner`.
    pub(crate) fn around(self, inner: Box<dyn Strategy>) -> Box<dyn Strategy> {
        Box::new(Wrapped::new(inner, SomeRuns { change: self, changed: false }))
    }
}

#[derive(Clone, Copy)]
struct SomeRuns {
    change: Change,
    /// True if this run has the further needs.
    changed: bool,
}

impl Wrapper for SomeRuns {
    fn begin(&mut self, inner: &mut dyn Strategy, mut rng: Rng) -> Plan {
        self.changed = (self.change.draw)(&mut rng);
        inner.begin(rng)
    }

    fn needs(&self, mut needs: Needs) -> Needs {
        if self.changed {
            (self.change.add)(&mut needs);
        }
        needs
    }
}
