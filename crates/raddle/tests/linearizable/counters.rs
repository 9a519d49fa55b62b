//! The smallest structures: violations, verified scenarios, and their texts.

use raddle::linearizable::{Itself, Linearizability, Model, Summary};
use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::{Config, Failure, Memory, linearizable};
use std::path::Path;

#[derive(Clone, Copy, PartialEq)]
enum Adds {
    AtOnce,
    ByLoadAndStore,
    ByExchange,
}

struct Counter {
    value: AtomicU32,
    adds: Adds,
}

impl Counter {
    fn increment(&self) -> u32 {
        match self.adds {
            Adds::AtOnce => self.value.fetch_add(1, Ordering::SeqCst) + 1,
            Adds::ByLoadAndStore => {
                let value = self.value.load(Ordering::SeqCst);
                self.value.store(value + 1, Ordering::SeqCst);
                value + 1
            }
            Adds::ByExchange => loop {
                let value = self.value.load(Ordering::SeqCst);
                if self.value.compare_exchange(value, value + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    return value + 1;
                }
            },
        }
    }

    fn get(&self) -> u32 {
        self.value.load(Ordering::SeqCst)
    }
}

fn counter(adds: Adds) -> Linearizability<Counter, Itself> {
    linearizable(move || Counter { value: AtomicU32::new(0), adds })
        .operation("increment", Counter::increment)
        .operation("get", Counter::get)
        .config(Config::default().with_runs(200).without_failure_files())
}

fn dpor() -> Config {
    Config::default().with_strategy("dpor").with_runs(100_000).without_failure_files()
}

#[test]
fn a_lost_update_is_found_in_the_smallest_scenario() {
    let refuted = counter(Adds::ByLoadAndStore).try_check().unwrap_err();
    assert_eq!(refuted.headline, "not linearizable: no order of the calls has these results");
    assert_eq!(refuted.scenario, "T1     increment()\nT2     increment()");
    assert_eq!(
        refuted.history,
        "T1     increment() = 1\nT2     increment() = 1\n\nT1     |increment() = 1|\nT2     |increment() = 1|"
    );
    let text = refuted.to_string();
    assert!(text.contains("\n  T2     |increment() = 1|\n\nWhy: "), "{text}");
    assert!(text.contains("read 0 from `value`"), "{text}");
}

/// Two calls of one step each, in two threads: either comes first, and it ends before the other one begins or not.
#[test]
fn the_interleavings_of_two_calls_are_four() {
    let summary: Summary = counter(Adds::AtOnce)
        .config(dpor())
        .scenario(&[], &[&["increment()"], &["increment()"]], &[])
        .try_check()
        .unwrap();
    assert_eq!((summary.scenarios, summary.verified, summary.interleavings), (1, 1, 4));
    assert_eq!(summary.to_string(), "all 4 interleavings of this scenario are linearizable (4 runs)");
    // Only the order of the steps counts if the order of calls does not.
    let summary = counter(Adds::AtOnce)
        .config(dpor())
        .scenario(&[], &[&["increment()"], &["increment()"]], &[])
        .sequentially_consistent()
        .try_check()
        .unwrap();
    assert_eq!(summary.interleavings, 2);
}

#[test]
fn all_scenarios_of_a_right_counter_are_verified() {
    let summary = counter(Adds::ByExchange)
        .config(dpor())
        .threads(2, 2)
        .around(1, 1)
        .all_scenarios()
        .try_check()
        .unwrap();
    // Lists of one or two of two calls: 6, so 21 pairs without regard to the order; 3 beginnings and 3 ends.
    assert_eq!((summary.scenarios, summary.verified), (21 * 9, 21 * 9));
    let again = counter(Adds::ByExchange)
        .config(dpor())
        .threads(2, 2)
        .around(1, 1)
        .all_scenarios()
        .try_check()
        .unwrap();
    assert_eq!(summary, again);
}

#[test]
fn a_failure_is_replayed_with_its_scenario() {
    let execute = |file: Option<&str>| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["counters::replayed", "--exact", "--include-ignored", "--nocapture"]);
        command.envs(file.map(|file| ("RADDLE_REPLAY", file)));
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let found = execute(None);
    let (_, file) = found.split_once("RADDLE_REPLAY=").expect("the failure is recorded");
    let replayed = execute(file.split_whitespace().next());
    assert!(replayed.contains("  T2     |increment() = 1|\n"), "{replayed}");
    // The whole report but for the search is the same.
    let steps = |text: &str| {
        let begin = text.find("  T1     increment() = 1").expect("the history is shown");
        text[begin..text.find("\nfound in run ").expect("the strategy is named")].to_owned()
    };
    assert_eq!(steps(&found), steps(&replayed));
}

#[test]
#[ignore = "executed by the test above"]
fn replayed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linearizable");
    counter(Adds::ByLoadAndStore).config(Config::default().with_failures(folder)).check();
}

#[test]
fn arguments_are_made_smaller() {
    let refuted = linearizable(|| AtomicU32::new(0))
        .model(u32::default)
        .operation_with(
            "add",
            [1, 10, 100, 1_000],
            |sum, value| {
                let before = sum.load(Ordering::SeqCst);
                // Small sums are added as they should be.
                if value >= 100 {
                    sum.store(before + value, Ordering::SeqCst);
                } else {
                    sum.fetch_add(value, Ordering::SeqCst);
                }
            },
            |sum, value| *sum += value,
        )
        .operation("get", |sum| sum.load(Ordering::SeqCst), |sum| *sum)
        .config(Config::default().without_failure_files())
        .try_check()
        .unwrap_err();
    assert_eq!(refuted.scenario, "T1     add(1)\nT2     add(100)\nlast   get()", "{refuted}");
}

#[test]
fn a_panic_names_the_operation() {
    let refuted = linearizable(|| AtomicU32::new(0))
        .operation("enter", |inside| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "only one is inside");
            inside.fetch_sub(1, Ordering::SeqCst);
        })
        .config(Config::default().without_failure_files())
        .try_check()
        .unwrap_err();
    let message = "panicked: assertion `left == right` failed: only one is inside";
    assert!(refuted.headline.starts_with("enter() on T") && refuted.headline.contains(message), "{refuted}");
    assert!(matches!(refuted.failed.failure, Failure::Assertion { .. }), "{refuted}");
    assert!(refuted.history.contains("enter() panicked"), "{refuted}");
    assert_eq!(refuted.scenario, "T1     enter()\nT2     enter()");
}

/// Message passing without a release: only weak memory shows it.
#[test]
fn weak_memory_is_explored() {
    struct Flagged(AtomicU32, AtomicU32, Ordering);
    let check = |order, memory| {
        linearizable(move || Flagged(AtomicU32::new(0), AtomicU32::new(0), order))
            .operation("set", |cell| {
                cell.0.store(1, Ordering::Relaxed);
                cell.1.store(1, cell.2);
            })
            .operation("get", |cell| {
                (cell.1.load(Ordering::Acquire) == 1).then(|| cell.0.load(Ordering::Relaxed))
            })
            .config(dpor().with_memory(memory))
            .threads(2, 1)
            .around(0, 0)
            .all_scenarios()
            .try_check()
    };
    assert!(check(Ordering::Relaxed, Memory::Sc).is_ok());
    assert!(check(Ordering::Release, Memory::Weak).is_ok());
    let refuted = check(Ordering::Relaxed, Memory::Weak).unwrap_err();
    assert!(refuted.history.contains("get() = Some(0)"), "{refuted}");
}

/// Two words that should be one.
struct Split(AtomicU32, AtomicU32);

fn split() -> Linearizability<Split, Model<u32>> {
    linearizable(|| Split(AtomicU32::new(0), AtomicU32::new(0)))
        .model(u32::default)
        .operation("set", |cell| cell.0.store(1, Ordering::SeqCst), |value| *value = 1)
        .operation("get", |cell| cell.1.load(Ordering::SeqCst), |value| *value)
        .operation("nothing", |cell| _ = cell.1.load(Ordering::SeqCst), |_| ())
        .config(dpor())
}

/// The words are independent, so nothing but the order of the calls tells the runs apart.
#[test]
fn runs_that_differ_in_the_order_of_calls_only_are_not_skipped() {
    for threads in [&[&["get()"][..], &["set()"]][..], &[&["get()"], &["get()"], &["get()"], &["set()"]]] {
        let refuted = split().scenario(&[], threads, &[]).try_check().unwrap_err();
        // The main thread can take the part of the first call, which has ended by then.
        assert_eq!(refuted.scenario, "first  set()\nT1     get()", "{refuted}");
    }
    let summary =
        split().scenario(&[], &[&["get()"], &["set()"]], &[]).sequentially_consistent().try_check().unwrap();
    assert_eq!(summary.interleavings, 1);
}

/// The interval orders of one, two and three calls.
#[test]
fn the_interleavings_of_calls_that_share_nothing_are_interval_orders() {
    for (threads, orders) in [(1, 1), (2, 3), (3, 19)] {
        let calls = vec![&["nothing()"][..]; threads];
        let summary = split().scenario(&[], &calls, &[]).try_check().unwrap();
        assert_eq!((summary.verified, summary.interleavings), (1, orders), "{threads} threads");
    }
}
