//! The runtime in operation.

#[path = "common/recorded.rs"]
mod recorded;

use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, Failed, Failure, check_with, thread};
use raddle_model::TraceFile;
use recorded::trace;

fn config(strategy: &str, runs: u64) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    config
}

#[test]
fn four_increments_by_two_threads_have_70_partial_orders() {
    let passed = check_with(&config("dpor", 1_000), || {
        let counter = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&counter);
        let add = |counter: &AtomicUsize| {
            for _ in 0..4 {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        };
        let child = thread::spawn(move || add(&other));
        add(&counter);
        child.join().unwrap();
    })
    .unwrap();
    assert!(passed.exhausted);
    assert_eq!((passed.runs, passed.partial_orders), (70, 70));
}

fn lost_update() {
    let balance = Arc::new(Mutex::new(0));
    let other = balance.clone();
    let deposit = thread::spawn(move || {
        let before = *other.lock().unwrap();
        *other.lock().unwrap() = before + 1;
    });
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + 1;
    deposit.join().unwrap();
    assert_eq!(*balance.lock().unwrap(), 2);
}

#[test]
fn a_lost_update_is_found_and_the_same_run_fails_again() {
    for strategy in ["random-walk", "pos", "pct:depth=3", "surw", "oos", "upo", "dpor", "dfs", "conflict:pos"]
    {
        let failed = check_with(&config(strategy, 1_000), lost_update).unwrap_err();
        assert!(matches!(failed.failure, Failure::Assertion { .. }), "{strategy}: {failed}");
        let again = check_with(&config(strategy, 1_000), lost_update).unwrap_err();
        // This is a later check of the test, with its own file.
        let unnamed =
            |failed: &Failed| TraceFile { program: String::new(), id: String::new(), ..trace(failed) };
        assert_eq!(unnamed(&again), unnamed(&failed));
        assert_eq!((&again.panics, &again.explanation), (&failed.panics, &failed.explanation));
    }
}

#[test]
fn a_deadlock_is_found_and_what_threads_own_is_dropped() {
    let alive = std::sync::Arc::new(());
    let owned = std::sync::Arc::clone(&alive);
    let failed = check_with(&config("pos", 1_000), move || {
        let owned = std::sync::Arc::clone(&owned);
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = Arc::clone(&locks);
        let child = thread::spawn(move || {
            let _owned = owned;
            let _b = other.1.lock().unwrap();
            let _a = other.0.lock().unwrap();
        });
        let _a = locks.0.lock().unwrap();
        let _b = locks.1.lock().unwrap();
        drop((_a, _b));
        child.join().unwrap();
    })
    .unwrap_err();
    let Failure::Deadlock { cycle, .. } = &failed.failure else { panic!("{failed}") };
    assert_eq!(cycle.len(), 2);
    assert_eq!(std::sync::Arc::strong_count(&alive), 1, "an unwound thread drops what it owns");
}
