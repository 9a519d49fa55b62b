//! Helpers for the tests of the primitives.

pub(crate) mod recorded;

use raddle::{Config, check_with};
use raddle_model::Failure;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// More runs than any of these tests needs.
const ALL: u64 = 200_000;

fn config(strategy: &str) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.to_owned();
    config.runs = ALL;
    config
}

/// Returns the results of `test` over all schedules. Explores them twice, with and without partial-order
/// reduction, and compares.
pub(crate) fn outcomes<T: Ord + Clone + Send + std::fmt::Debug + 'static>(
    test: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let test = Arc::new(test);
    let [dpor, dfs] = ["dpor", "dfs"].map(|strategy| {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (test, results) = (Arc::clone(&test), Arc::clone(&seen));
        let passed = check_with(&config(strategy), move || {
            let result = test();
            results.lock().unwrap().insert(result);
        });
        assert!(passed.unwrap_or_else(|failed| panic!("{failed}")).exhausted, "{strategy} is not done");
        let seen = seen.lock().unwrap();
        seen.clone()
    });
    assert_eq!(dpor, dfs, "a reduction loses no outcome");
    dpor
}

/// Returns the failure of `test` under some schedule; both strategies must find the same kind of failure.
pub(crate) fn failure(test: impl Fn() + Send + Sync + 'static) -> Failure {
    let test = Arc::new(test);
    let [dpor, dfs] = ["dpor", "dfs"].map(|strategy| {
        let test = Arc::clone(&test);
        let failed = check_with(&config(strategy), move || test()).expect_err("some schedule fails");
        recorded::trace(&failed).verdict.failure().expect("it failed").clone()
    });
    assert_eq!(dpor.kind(), dfs.kind());
    dpor
}
