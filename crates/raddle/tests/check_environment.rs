//! Environment variables of a check: each test runs a test of this file in its own process.

use raddle::sync::{Arc, Mutex};
use raddle::{Config, check_with, thread};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    assert_eq!(*balance.lock().unwrap(), 2, "a deposit was lost");
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("check-environment")
}

/// Returns true if a test of this file started this process.
fn is_child() -> bool {
    std::env::var_os("CHECK_ENVIRONMENT_CHILD").is_some()
}

#[test]
fn helper_that_fails() {
    if is_child() {
        let config = Config::new().with_failures(directory());
        panic!("{}", check_with(&config, lost_update).unwrap_err());
    }
}

#[test]
fn helper_that_checks_twice() {
    if is_child() {
        let config = Config::new().with_failures(directory());
        let first = check_with(&config, lost_update).unwrap_err();
        let second = check_with(&config, || {
            assert!(thread::spawn(|| panic!("the second")).join().is_ok(), "the second")
        });
        panic!("FIRST: {first}\nSECOND: {}", second.unwrap_err());
    }
}

#[test]
fn helper_that_passes() {
    if is_child() {
        let config = Config::new().with_failures(directory());
        let passed = check_with(&config, || thread::spawn(|| {}).join().unwrap()).unwrap();
        panic!("{passed:?}");
    }
}

#[test]
fn helper_that_panics_outside_of_a_check() {
    if is_child() {
        check_with(&Config::new(), || {}).unwrap();
        panic!("printed by the hook before");
    }
}

/// Returns the output of a helper.
fn run(helper: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", helper, "--nocapture"]).env("CHECK_ENVIRONMENT_CHILD", "1");
    for name in ["RUNS", "SEED", "STRATEGY", "REPLAY", "JOBS"] {
        command.env_remove(format!("RADDLE_{name}"));
    }
    let output = command.env_remove("RUST_BACKTRACE").envs(environment.iter().copied()).output().unwrap();
    assert!(!output.status.success(), "a helper always panics");
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// Returns the file that a report names.
fn recorded(report: &str) -> &str {
    let (_, rest) = report.split_once("RADDLE_REPLAY=").unwrap_or_else(|| panic!("no file in:\n{report}"));
    rest.split_once(' ').unwrap().0
}

#[test]
fn runs_and_seed_and_strategy_and_jobs_are_replaced() {
    assert!(run("helper_that_passes", &[]).contains("Passed { runs: 1000,"));
    let passed = run("helper_that_passes", &[("RADDLE_RUNS", "17"), ("RADDLE_JOBS", "2")]);
    assert!(passed.contains("Passed { runs: 17,"), "{passed}");
    let failed = run("helper_that_fails", &[("RADDLE_STRATEGY", "random-walk"), ("RADDLE_SEED", "5")]);
    assert!(failed.contains("of random-walk, seed 5"), "{failed}");
    let exhausted = run("helper_that_passes", &[("RADDLE_STRATEGY", "dfs")]);
    assert!(exhausted.contains("exhausted: true"), "{exhausted}");
}

#[test]
fn nothing_is_printed_but_the_report() {
    let text = run("helper_that_fails", &[]);
    assert_eq!(text.matches(") panicked at ").count(), 1, "{text}");
    let text = run("helper_that_panics_outside_of_a_check", &[]);
    assert!(text.contains("printed by the hook before"), "{text}");
}

#[test]
fn a_failure_is_replayed_by_another_process() {
    // A replay makes one run, so it has no explanation.
    let found = run("helper_that_fails", &[("RADDLE_SEED", "11"), ("RADDLE_EXPLAIN", "0")]);
    let file = recorded(&found).to_owned();
    assert!(Path::new(&file).starts_with(directory()), "{file}");
    // Only the file decides: these settings would find something else, or nothing.
    let others = [("RADDLE_REPLAY", &file[..]), ("RADDLE_RUNS", "0"), ("RADDLE_SEED", "99")];
    let again = run("helper_that_fails", &others);
    let report = |text: &str| {
        let (_, rest) = text.split_once("fails under this schedule:").unwrap_or_else(|| panic!("{text}"));
        rest.split_once("\nfound in run").unwrap().0.to_owned()
    };
    assert_eq!(report(&again), report(&found));
    assert!(report(&again).contains("thread 1"), "{again}");
}

#[test]
fn a_bad_value_is_named() {
    for (name, value, part) in [
        ("RADDLE_RUNS", "many", "RADDLE_RUNS must be a whole number, not `many`"),
        ("RADDLE_SEED", "-1", "RADDLE_SEED must be a whole number, not `-1`"),
        ("RADDLE_JOBS", "2.5", "RADDLE_JOBS must be a whole number, not `2.5`"),
        (
            "RADDLE_STRATEGY",
            "psos",
            "RADDLE_STRATEGY: unknown strategy `psos`\nhelp: known strategies: portfolio, random-walk,",
        ),
        ("RADDLE_REPLAY", "no-such-file", "RADDLE_REPLAY: cannot read no-such-file: "),
    ] {
        let text = run("helper_that_passes", &[(name, value)]);
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(run("helper_that_passes", &[("RADDLE_RUNS", "")]).contains("Passed { runs: 1000,"));
}

#[test]
fn the_file_of_another_test_is_refused() {
    let found = run("helper_that_fails", &[("RADDLE_SEED", "12")]);
    let text = run("helper_that_passes", &[("RADDLE_REPLAY", recorded(&found))]);
    assert!(
        text.contains(
            "the file was recorded by the test `helper_that_fails`; this test is `helper_that_passes`"
        ),
        "{text}"
    );
}

#[test]
fn each_check_of_a_test_is_replayed_in_its_place() {
    let found = run("helper_that_checks_twice", &[("RADDLE_SEED", "21")]);
    let split = |text: &str| {
        let (first, second) = text.split_once("SECOND:").unwrap_or_else(|| panic!("{text}"));
        (first.to_owned(), second.to_owned())
    };
    let (first, second) = split(&found);
    let [one, two] = [&first, &second].map(|report| recorded(report).to_owned());
    assert_ne!(one, two);
    assert!(second.contains("cargo test helper_that_checks_twice -- --exact"), "{second}");
    for (file, replayed) in [(&one, 0), (&two, 1)] {
        let (first, second) = split(&run("helper_that_checks_twice", &[("RADDLE_REPLAY", file)]));
        // The check that is not replayed has the default seed again.
        let seeds = [first.contains("seed 21"), second.contains("seed 21")];
        assert_eq!(seeds, [replayed == 0, replayed == 1], "{first}{second}");
        assert!(first.contains("a deposit was lost") && second.contains("the second"), "{first}{second}");
    }
}
