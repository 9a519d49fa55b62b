//! Data races on cells: which operations order two accesses, which do not, and the report.

mod atomics;
mod cells;
mod owners;
mod plain;
#[path = "../common/recorded.rs"]
mod recorded;
mod report;
mod synchronisation;

use raddle::{Config, Failed, check_with};
use raddle_model::{Failure, Verdict};

fn config(strategy: &str) -> Config {
    Config::new().with_strategy(strategy).without_failure_files()
}

/// Checks that `test` has no race under any schedule, and passes otherwise.
#[track_caller]
fn assert_ordered(test: impl Fn() + Send + Sync + Copy + 'static) {
    for strategy in ["random-walk", "pos", "pct:depth=3", "surw"] {
        if let Err(failed) = check_with(&config(strategy).with_runs(1_000), test) {
            panic!("{failed}");
        }
    }
    match check_with(&config("dpor").with_runs(50_000), test) {
        Ok(passed) => assert!(passed.exhausted, "all schedules were run"),
        Err(failed) => panic!("{failed}"),
    }
}

/// Checks that several strategies find a race of `test`, some of them in the first run.
#[track_caller]
fn assert_races(test: impl Fn() + Send + Sync + Copy + 'static) -> Box<Failed> {
    let failures = ["pos", "pct:depth=2", "random-walk", "dpor"].map(|strategy| {
        let failed = check_with(&config(strategy).with_runs(1_000), test).expect_err(strategy);
        let trace = recorded::trace(&failed);
        let Verdict::Failed { failure: Failure::DataRace { first, second, .. } } = trace.verdict else {
            panic!("{failed}")
        };
        assert_ne!(first.thread, second.thread);
        assert!(first.step < second.step);
        assert_eq!(second.step as usize + 1, trace.steps.len(), "the run ends with the race");
        failed
    });
    let without = config("pos").with_races(false);
    assert!(check_with(&without, test).is_ok(), "nothing but the race is wrong");
    failures.into_iter().next().expect("there are four")
}
