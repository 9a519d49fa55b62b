//! Coverage: an inner strategy whose runs are examined for iRoots.
//!
//! Paper: Yu and Narayanasamy, OOPSLA 2012, section 2.3, where the number of iRoots that runs have
//! exposed measures how much was tested.
//! Guarantee: the inner strategy's; its schedules are the same. Test: `looking_changes_no_schedule`.
//! Departures from the paper: none. Runs are executed in order, because the number of iRoots after each
//! run is reported.

use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_idioms::{observe, predict};
use raddle_model::{Ledger, Verdict};
use std::sync::Arc;

/// The default distance between the two accesses of a thread in an idiom, in steps of that thread.
pub const WINDOW: u32 = raddle_idioms::WINDOW;

/// The strategy; see the module documentation.
pub struct Coverage {
    inner: Box<dyn Strategy>,
    window: u32,
    /// The iRoots that runs have exposed, unless the inner strategy records them itself.
    ledger: Arc<Ledger>,
}

impl Coverage {
    /// Wraps `inner` and records the iRoots of its runs.
    pub fn new(inner: Box<dyn Strategy>, window: u32) -> Coverage {
        Coverage { inner, window, ledger: Arc::default() }
    }
}

impl Strategy for Coverage {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.inner.begin(rng)
    }

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
        if self.inner.ledger().is_some() || *run.verdict == Verdict::CutOff {
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

    fn needs(&self) -> Needs {
        Needs { location_names: true, ..self.inner.needs() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn space(&self) -> Option<f64> {
        self.inner.space()
    }

    fn ledger(&self) -> Option<&Ledger> {
        self.inner.ledger().or(Some(&self.ledger))
    }

    fn recall(&mut self, known: &Ledger) {
        self.inner.recall(known);
        let ledger = Arc::make_mut(&mut self.ledger);
        known.iter().for_each(|(&root, standing)| ledger.add(root, standing));
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(Coverage { inner: self.inner.fork(), window: self.window, ledger: self.ledger.clone() })
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
            let mut looked = Coverage::new(build(spec).unwrap(), 100);
            for seed in 0..affordable(50) {
                assert_eq!(program.run(&mut *plain, seed), program.run(&mut looked, seed), "{spec}");
            }
            assert!(!is_thorough() || looked.ledger().unwrap().exposed() > 10);
        }
    }
}
