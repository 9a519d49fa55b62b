//! Coverage: an inner strategy whose runs are examined for iRoots.
//!
//! Paper: Yu and Narayanasamy, OOPSLA 2012, section 2.3, where the number of iRoots that runs have
//! exposed measures how much was tested.
//! Guarantee: the inner strategy's; its schedules are the same. Test: `looking_changes_no_schedule`.
//! Departures from the paper: none. Runs are executed in order, because the number of iRoots after each
//! run is reported.

use raddle_engine::{Needs, RunSummary, Strategy, Wrapped, Wrapper};
use raddle_idioms::{observe, predict};
use raddle_model::{Ledger, Verdict};
use std::sync::Arc;

/// The default distance between the two accesses of a thread in an idiom, in steps of that thread.
pub const WINDOW: u32 = raddle_idioms::WINDOW;

/// The strategy; see the module documentation.
pub type Coverage = Wrapped<Observed>;

/// Wraps `inner` and records the iRoots of its runs.
pub fn coverage(inner: Box<dyn Strategy>, window: u32) -> Coverage {
    Wrapped::new(inner, Observed { window, ledger: Arc::default() })
}

/// The iRoots of runs.
#[derive(Clone)]
pub struct Observed {
    window: u32,
    /// The iRoots that runs have exposed, unless the inner strategy records them itself.
    ledger: Arc<Ledger>,
}

impl Wrapper for Observed {
    fn learn(&mut self, inner: &mut dyn Strategy, run: &RunSummary<'_>) {
        inner.learn(run);
        if inner.ledger().is_some() || *run.verdict == Verdict::CutOff {
            return;
        }
        let ledger = Arc::make_mut(&mut self.ledger);
        for root in observe(run, self.window) {
            ledger.expose(root);
        }
        for root in predict(run, self.window) {
            ledger.predict(root);
        }
    }

    fn needs(&self, inner: Needs) -> Needs {
        Needs { location_names: true, ..inner }
    }

    fn learns(&self, _inner: bool) -> bool {
        true
    }

    fn ledger<'a>(&'a self, inner: Option<&'a Ledger>) -> Option<&'a Ledger> {
        inner.or(Some(&self.ledger))
    }

    fn recall(&mut self, known: &Ledger) {
        let ledger = Arc::make_mut(&mut self.ledger);
        known.iter().for_each(|(&root, standing)| ledger.add(root, standing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use raddle_testkit::{Script, affordable, is_thorough};

    #[test]
    fn looking_changes_no_schedule() {
        for spec in ["random-walk", "pos", "surw", "maple"] {
            let mut program = Script::straight(2, &["W0 R1 W0", "R0 W1", "W1 R0"]);
            let mut plain = build(spec).unwrap();
            let mut looked = coverage(build(spec).unwrap(), 100);
            for seed in 0..affordable(50) {
                assert_eq!(program.run(&mut *plain, seed), program.run(&mut looked, seed), "{spec}");
            }
            assert!(!is_thorough() || looked.ledger().unwrap().exposed() > 10);
        }
    }
}
