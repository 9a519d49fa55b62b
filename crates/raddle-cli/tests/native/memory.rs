//! Freed memory and data races, in programs of `tests/c` and of this folder, compiled by `raddle cc`.

use super::{folder, raddle, replays, run};
use std::path::{Path, PathBuf};

/// Compiles `source`, a path from the root of the repository, with instrumentation into a folder for this test.
fn instrument(test: &str, source: &str) -> PathBuf {
    let folder = folder(test);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
    let source = source.to_str().expect("the path is a text");
    let output = raddle(&folder, &["cc", "-g", "-O1", "-pthread", source, "-o", "program"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

#[test]
fn freed_memory_is_not_to_be_touched_or_freed() {
    for (name, kind, parts) in [
        (
            "use_after_free",
            "use-after-free",
            &["reads byte 0", "has 4 bytes", "allocated by main", "freed by T2"],
        ),
        (
            "exit_with_live_thread",
            "use-after-free",
            &["T1 reads byte 0", "16 bytes", "allocated by main", "freed by main"],
        ),
        (
            "double_free",
            "double-free",
            &["frees a freed block", "40 bytes", "allocated by main", "freed by T"],
        ),
    ] {
        let folder = instrument(name, &format!("tests/c/fail/{name}.c"));
        let report = run(&folder, &["--runs", "1000", "--", "./program"]);
        assert_eq!(report["kind"], kind, "{report}");
        let message = report["message"].as_str().expect("a failure has a message");
        for part in parts {
            assert!(message.contains(part), "`{part}` is missing in: {message}");
        }
        replays(&folder, &report, 10);
    }
}

/// Two writes of each of two threads: each variable has two orders. One word against four chars: the read
/// comes before, between or after the writes.
#[test]
fn bytes_that_no_access_has_in_common_are_different_objects() {
    let folder = instrument("neighbours", "crates/raddle-cli/tests/native/neighbours.c");
    for (how, partial_orders) in [("apart", 1), ("both", 4), ("overlap", 5)] {
        let words = ["-s", "dpor", "--races", "off", "--", "./program", how];
        let report = run(&folder, &words);
        assert_eq!(report["partial_orders"], partial_orders, "{how}: {report}");
        assert_eq!(report["exhausted"], true, "{how}: {report}");
    }
}

/// The estimate is that of the process that makes the runs.
#[test]
fn upo_says_how_many_partial_orders_there_are() {
    let folder = instrument("estimated", "crates/raddle-cli/tests/native/neighbours.c");
    for (how, partial_orders) in [("both", 4), ("overlap", 5)] {
        let words = ["-s", "upo", "--runs", "100", "--races", "off", "--", "./program", how];
        let report = run(&folder, &words);
        let share = &report["claims"]["statements"][0];
        assert_eq!(share["kind"], "share", "{how}: {report}");
        assert_eq!(share["seen"], partial_orders, "{how}: {report}");
        assert_eq!(share["estimate"], f64::from(partial_orders), "{how}: {report}");
    }
}

/// The profiling runs do not see that most of this memory is shared. Each run that sees more lets the search begin
/// again, so that neither its seed nor its strategy matters.
#[test]
fn memory_that_few_orders_share_is_found() {
    let folder = instrument("rarely_shared", "crates/raddle-cli/tests/native/rarely_shared.c");
    for strategy in ["dpor", "dfs", "delay", "portfolio"] {
        for (seed, jobs) in [("1", "1"), ("2", "2"), ("3", "2")] {
            let words = ["-s", strategy, "--seed", seed, "--jobs", jobs, "--runs", "2000", "--races", "off"];
            let words = [&words[..], &["--keep-going", "--no-minimize", "--", "./program"]].concat();
            let report = run(&folder, &words);
            assert_eq!(report["partial_orders"], 13, "{strategy}, seed {seed}: {report}");
            assert_eq!(report["kind"], "abort", "{strategy}, seed {seed}: {report}");
            assert_eq!(report["exhausted"], strategy != "portfolio", "{strategy}, seed {seed}: {report}");
        }
    }
    let first = |jobs| {
        let words = ["--jobs", jobs, "--no-minimize", "--", "./program"];
        run(&folder, &words)["first_failure"].clone()
    };
    assert_eq!(first("1"), first("2"));
}

/// Without its end as a step, the thread would end together with its last operation, or when it is created.
#[test]
fn both_answers_to_the_question_whether_a_thread_has_ended_are_explored() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/polled_end.c");
    let folder = folder("polled_end");
    for points in ["shared", "sync"] {
        for answer in ["busy", "ended"] {
            for strategy in ["dpor", "dfs"] {
                let words = ["-s", strategy, "--points", points, "--keep-going", "--races", "fail"];
                let report = run(&folder, &[&words[..], &[source.to_str().unwrap(), answer]].concat());
                assert_eq!(report["kind"], "abort", "{answer}, {strategy}, {points}: {report}");
                assert_eq!(report["kinds"].as_object().unwrap().len(), 1, "{report}");
                assert_eq!(report["exhausted"], true, "{report}");
                replays(&folder, &report, 2);
            }
        }
    }
}

#[test]
fn no_order_of_a_completed_initialization_is_left_out() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/once_is_over.c");
    let folder = folder("once_is_over");
    let mut orders = Vec::new();
    for strategy in ["dpor", "dfs"] {
        let words = ["-s", strategy, "--races", "off", "--keep-going", source.to_str().unwrap()];
        let report = run(&folder, &words);
        assert_eq!(report["exhausted"], true, "{report}");
        assert_eq!(report["kind"], "abort", "{strategy}: {report}");
        orders.push(report["partial_orders"].clone());
    }
    assert_eq!(orders[0], orders[1]);
}

#[test]
fn a_thread_is_cancelled_before_or_after_it_tests() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/cancels_at_a_test.c");
    let folder = folder("cancels_at_a_test");
    for strategy in ["dpor", "dfs"] {
        for result in ["cancelled", "returned"] {
            let words = ["-s", strategy, "--keep-going", source.to_str().unwrap(), result];
            let report = run(&folder, &words);
            assert_eq!(report["kind"], "abort", "{strategy}, {result}: {report}");
            assert_eq!(report["failures"], 1, "{strategy}, {result}: {report}");
            assert_eq!(report["exhausted"], true, "{report}");
        }
    }
}

/// The run with the youngest thread first never ends. It is lost, and the others still learn which memory is
/// shared.
#[test]
fn a_lost_learning_run_is_reported_and_the_others_count() {
    let folder = instrument("unlearnt", "crates/raddle-cli/tests/native/unlearnt.c");
    let words =
        ["-s", "random-walk", "--runs", "500", "--races", "off", "--run-time", "5s", "--", "./program"];
    let report = run(&folder, &words);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("shared-memory detection is incomplete") && notes.contains("within 5000 ms"),
        "{notes}"
    );
    assert_eq!(
        report["kind"], "abort",
        "its cause is shared only in runs that come after the lost one: {report}"
    );
}

#[test]
fn correct_use_of_the_heap_passes() {
    let folder = instrument("heap", "crates/raddle-cli/tests/native/heap.c");
    let report = run(&folder, &["--runs", "20", "--races", "fail", "--", "./program"]);
    assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &20.into()), "{report}");
}

#[test]
fn a_data_race_is_a_note_or_a_failure_or_nothing() {
    let folder = instrument("race", "tests/c/fail/race_on_flag.c");
    let report = run(&folder, &["--runs", "300", "--races", "fail", "--", "./program"]);
    assert_eq!(report["kind"], "data-race", "{report}");
    replays(&folder, &report, 10);
    let noted = run(&folder, &["--runs", "300", "--", "./program"]);
    assert_eq!((&noted["verdict"], &noted["races"]["runs"]), (&"passed".into(), &30.into()), "{noted}");
    assert!(noted["races"]["racing"].as_u64() > Some(0), "{noted}");
    assert!(noted["races"]["message"].as_str().is_some_and(|text| text.contains("data race")), "{noted}");
    let shown = raddle(&folder, &["run", "--runs", "300", "--", "./program"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("Note: data races in "), "{shown:?}");
    let unseen = run(&folder, &["--runs", "300", "--races", "off", "--", "./program"]);
    assert_eq!((&unseen["verdict"], unseen["races"].is_null()), (&"passed".into(), true), "{unseen}");
}

/// Neighbors in one word, publication by atomics and by fences, and failing exchanges.
#[test]
fn ordered_or_adjacent_accesses_do_not_race() {
    let folder = instrument("no_race", "crates/raddle-cli/tests/native/no_race.c");
    let report = run(&folder, &["--runs", "400", "--races", "fail", "--", "./program"]);
    assert_eq!(report["verdict"], "passed", "{report}");
    let report = run(&folder, &["--runs", "400", "--races", "fail", "--", "./program", "relaxed"]);
    assert_eq!(report["kind"], "data-race", "{report}");
}

/// The late access is to memory that only one order of the threads shares, and it must be known beforehand.
#[test]
fn what_one_order_shares_is_known_under_every_seed() {
    let folder = instrument("shared_in_one_order", "benchmarks/corpus/CVE-2017-15265.c");
    for seed in 1..=20 {
        let seed = seed.to_string();
        let report = run(&folder, &["--no-minimize", "--runs", "500", "--seed", &seed, "--", "./program"]);
        assert_eq!(report["kind"], "use-after-free", "seed {seed}: {report}");
    }
}

/// The kernel reads the word of a futex. Only one thread of the program touches it here, in the second half of eight bytes.
#[test]
fn no_order_of_a_futex_is_left_out() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/futex_offset.c");
    let folder = folder("futex_offset");
    for memory in ["sc", "weak"] {
        for strategy in ["dpor", "dfs"] {
            let words = ["--strategy", strategy, "--memory", memory, "--keep-going"];
            let report = run(&folder, &[&words[..], &[source.to_str().unwrap()]].concat());
            assert_eq!(report["exhausted"], true, "{report}");
            assert_eq!(report["kind"], "deadlock", "{strategy}, {memory}: {report}");
        }
    }
}
