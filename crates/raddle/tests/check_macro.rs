//! `#[raddle::test]`.

use raddle::sync::{Arc, Mutex};
use raddle::thread;

fn lose_an_update() {
    let balance = Arc::new(Mutex::new(0));
    let other = balance.clone();
    let deposit = thread::spawn(move || {
        let before = *other.lock().unwrap();
        *other.lock().unwrap() = before + 1;
    });
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + 1;
    deposit.join().unwrap();
    assert_eq!(*balance.lock().unwrap(), 2, "a deposit was lost");
}

#[raddle::test]
fn an_honest_test_passes() {
    let balance = Arc::new(Mutex::new(0));
    let other = balance.clone();
    let deposit = thread::spawn(move || *other.lock().unwrap() += 1);
    *balance.lock().unwrap() += 1;
    deposit.join().unwrap();
    assert_eq!(*balance.lock().unwrap(), 2);
}

#[raddle::test]
#[should_panic(expected = "a deposit was lost")]
fn should_panic_keeps_its_meaning() {
    lose_an_update();
}

const SEED: u64 = 3;

/// With documentation and a visibility.
#[raddle::test(strategy = "pct:depth=2", runs = 500, seed = SEED)]
#[should_panic(expected = "of pct:depth=2, seed 3")]
pub(crate) fn arguments_are_settings() {
    lose_an_update();
}

#[raddle::test(runs = 0)]
fn no_run_finds_nothing() {
    lose_an_update();
}

#[raddle::test]
#[ignore = "passes through: this one must not run"]
fn ignore_keeps_its_meaning() {
    panic!("it was run");
}

#[raddle::test]
#[should_panic(expected = "the reason")]
fn an_error_is_a_failure() -> Result<(), String> {
    Err("the reason".to_owned())
}

#[raddle::test]
async fn a_future_is_polled_to_its_end() {
    let value = raddle::future::spawn(async { 7 });
    assert_eq!(value.await.unwrap(), 7);
}

#[raddle::test(runs = 500)]
#[should_panic(expected = "a deposit was lost")]
async fn tasks_are_under_control() {
    let balance = Arc::new(Mutex::new(0));
    let other = balance.clone();
    let deposit = raddle::future::spawn(async move {
        let before = *other.lock().unwrap();
        *other.lock().unwrap() = before + 1;
    });
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + 1;
    deposit.await.unwrap();
    assert_eq!(*balance.lock().unwrap(), 2, "a deposit was lost");
}

#[raddle::test]
#[should_panic(expected = "the reason")]
async fn an_error_of_a_future_is_a_failure() -> Result<(), String> {
    Err("the reason".to_owned())
}

#[raddle::test]
fn a_test_may_return_what_a_test_of_std_may() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}

#[raddle::test]
#[should_panic(expected = "the test returned ExitCode")]
fn a_status_of_failure_is_a_failure() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}

#[raddle::test]
#[should_panic(expected = "the test returned ExitCode")]
async fn a_status_of_failure_inside_a_result_is_a_failure() -> Result<std::process::ExitCode, String> {
    Ok(std::process::ExitCode::from(3))
}

mod inside {
    #[raddle::test]
    #[should_panic(expected = "cargo test inside::the_test_is_named_by_its_path -- --exact")]
    fn the_test_is_named_by_its_path() {
        super::lose_an_update();
    }
}
