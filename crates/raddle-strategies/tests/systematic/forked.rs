//! A run may happen in a copy of the strategy that is discarded; the schedules must not depend on it.

use crate::common::{exhaust, exhaust_forked};
use crate::random::program;
use raddle_engine::Strategy;
use raddle_strategies::{
    delay_bounding::DelayBounding, dfs::Dfs, dpor::Dpor, period::Period,
    preemption_bounding::PreemptionBounding,
};
use raddle_testkit::affordable_searches;

#[test]
fn knowledge_reaches_the_next_run_through_learning_alone() {
    let strategies: [Box<dyn Strategy>; 5] = [
        Box::new(Dfs::new()),
        Box::new(Dpor::new()),
        Box::new(PreemptionBounding::new(Some(2))),
        Box::new(DelayBounding::new(Some(2))),
        Box::new(Period::new(Some(4))),
    ];
    for strategy in strategies {
        assert!(strategy.learns());
        for seed in 0..affordable_searches(40) {
            let mut program = program(seed);
            let (direct, _) = exhaust(&mut program, &mut *strategy.fork());
            let forked = exhaust_forked(&mut program, &mut *strategy.fork());
            assert!(direct == forked, "program {seed} under {} runs", direct.len());
        }
    }
}
