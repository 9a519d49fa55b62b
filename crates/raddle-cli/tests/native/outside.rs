//! External resources of programs: files, signals, processes, random numbers.

use super::{compile, folder, raddle, replays, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of `tests/c` by `raddle cc`.
fn controlled(name: &str) -> PathBuf {
    let folder = folder(&format!("outside-{}", name.replace('/', "-")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c").join(format!("{name}.c"));
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
    compiler.args(["cc", "-g", "-O1", "-pthread", "-o"]).arg(folder.join("program")).arg(source);
    assert!(compiler.status().expect("the compiler starts").success(), "{name}.c is compiled");
    folder
}

/// Files with both ends in the program are part of the schedule: the runs repeat, differ from each other, and
/// none of them waits for external events.
#[test]
fn threads_talk_through_files() {
    for (name, orders) in [("pass/pipes", 50), ("pass/event_loop", 5), ("pass/signals", 2)] {
        let folder = controlled(name);
        for strategy in ["random-walk", "surw"] {
            let words = ["--strategy", strategy, "--runs", "100", "--", "./program"];
            let report = run(&folder, &words);
            assert_eq!((&report["runs"], &report["verdict"]), (&100.into(), &"passed".into()), "{report}");
            assert_eq!((&report["outside_waits"], &report["processes"]), (&0.into(), &0.into()), "{report}");
            assert!(report["partial_orders"].as_u64() >= Some(orders), "{name}: {report}");
            assert_eq!(run(&folder, &words), report, "{name} under {strategy}");
        }
    }
}

/// A search knows which threads wait for a file, so it ends.
#[test]
fn a_search_through_files_ends() {
    let folder = controlled("pass/event_loop");
    let report = run(&folder, &["--strategy", "dpor", "--", "./program"]);
    assert_eq!((&report["exhausted"], &report["cut_off"]), (&true.into(), &0.into()), "{report}");
    assert!(report["runs"].as_u64() > Some(5), "{report}");
}

#[test]
fn an_unanswered_read_is_a_deadlock() {
    let folder = compile("silence", "hangs", &[]);
    let report = run(&folder, &["--", "./hangs", "read"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("T1 waits for pipe 3 to be ready"), "{message}");
    replays(&folder, &report, 3);
}

/// Stdio functions wait like `read`, and are reported with the calling line. A thread that waits inside one
/// has locked its stream.
#[test]
fn streams_wait_for_their_files() {
    let folder = controlled("fail/stream_deadlock");
    let report = run(&folder, &["--", "./program"]);
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("main waits for pipe 5 to be ready; main at stream_deadlock.c:37"), "{message}");
    assert!(message.contains("T1 waits for pipe 3 to be ready; reader at stream_deadlock.c:18"), "{message}");
    let folder = compile("streams", "streams", &[]);
    let report = run(&folder, &["--", "./streams", "lock"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("waits for pipe 3 to be ready; reading at streams.c:"), "{message}");
    assert!(message.contains("waits for lock of stream 3 to be ready; reading at streams.c:"), "{message}");
    replays(&folder, &report, 3);
}

/// The other ends of their files may be outside, and may be read after the main thread has returned.
#[test]
fn streams_of_other_processes_wait() {
    let folder = compile("streams-outside", "streams", &[]);
    let report = run(&folder, &["--runs", "5", "--fail-on-exit", "--", "./streams", "processes"]);
    assert_eq!((&report["verdict"], &report["processes"]), (&"passed".into(), &20.into()), "{report}");
    assert!(report["outside_waits"].as_u64() >= Some(20), "{report}");
    let report = run(&folder, &["--runs", "20", "--fail-on-exit", "--", "./streams", "terminal"]);
    assert_eq!(report["verdict"], "passed", "{report}");
    let report = run(&folder, &["--runs", "20", "--fail-on-exit", "--", "./streams", "exit"]);
    assert_eq!((&report["verdict"], &report["outside_waits"]), (&"passed".into(), &0.into()), "{report}");
}

/// gcc's OpenMP library calls the kernel without a function, and its threads are controlled nevertheless.
#[test]
fn openmp_is_controlled() {
    let folder = folder("openmp");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/openmp.c");
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
    compiler
        .env("CC", "gcc")
        .args(["cc", "-g", "-O1", "-fopenmp", "-o"])
        .arg(folder.join("openmp"))
        .arg(source);
    assert!(compiler.status().expect("the compiler starts").success(), "openmp.c is compiled");
    for (strategy, way) in [("random-walk", "right"), ("pct:depth=3", "right"), ("random-walk", "beside")] {
        let words = ["--strategy", strategy, "--runs", "50", "--", "./openmp", way];
        let report = run(&folder, &words);
        assert_eq!((&report["verdict"], &report["races"]), (&"passed".into(), &Value::Null), "{report}");
        assert!(report["partial_orders"].as_u64() > Some(20), "{report}");
        assert_eq!(run(&folder, &words), report);
    }
    let report = run(&folder, &["--runs", "1000", "--", "./openmp", "update"]);
    assert_eq!(report["kind"], "assertion", "{report}");
    replays(&folder, &report, 3);
    let report = run(&folder, &["--runs", "1000", "--", "./openmp", "locks"]);
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("waits for mutex") && report["kind"] == "deadlock", "{message}");
    replays(&folder, &report, 3);
    super::refused(&folder, &["run", "--", "./openmp", "handle"], &["SIGSYS", "OpenMP"]);
}

/// A run that something uncontrolled would have ended is neither a deadlock nor a livelock, and the report
/// names the cause.
#[test]
fn what_is_not_controlled_is_no_failure() {
    let folder = compile("timers", "timers", &[]);
    let words = |way| ["run", "--step-limit", "2000", "--", "./timers", way];
    super::refused(&folder, &words("notice"), &["SIGEV_THREAD"]);
    super::refused(&folder, &words("cancel"), &["cancelled asynchronously"]);
    super::refused(&folder, &words("barrier"), &["another process", "PTHREAD_PROCESS_PRIVATE"]);
    super::refused(&folder, &words("parent"), &["to its parent process"]);
    super::refused(&folder, &words("daemon"), &["becomes a daemon", "foreground"]);
    for way in ["alarm", "thread"] {
        assert_eq!(run(&folder, &["--runs", "20", "--", "./timers", way])["verdict"], "passed", "{way}");
    }
    // No thread waits for an alarm that ends the program.
    let report = run(&folder, &["--", "./timers", "deadlock"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
}

/// The awaited file is the same, whatever its number.
#[test]
fn copies_of_files_are_known() {
    let folder = compile("copies", "copies", &[]);
    let report = run(&folder, &["--runs", "5", "--", "./copies", "counter"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    let report = run(&folder, &["--fail-on-exit", "--runs", "5", "--", "./copies", "set"]);
    assert_eq!((&report["verdict"], &report["outside_waits"]), (&"passed".into(), &5.into()), "{report}");
}

#[test]
fn processes_are_counted() {
    let folder = controlled("pass/processes");
    let report = run(&folder, &["--runs", "20", "--", "./program"]);
    assert_eq!((&report["verdict"], &report["processes"]), (&"passed".into(), &120.into()), "{report}");
    assert!(report["outside_waits"].as_u64() > Some(20), "{report}");
    let text = raddle(&folder, &["run", "--runs", "2", "--", "./program"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("Note: processes started by the program, not under control: 12."), "{text}");
    assert!(text.contains("for something from outside"), "{text}");
}

/// The random numbers of a run follow from the seed and its number, in a replay too. Those before `main` are
/// always the same.
#[test]
fn random_numbers_repeat() {
    let folder = folder("random");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/random.cc");
    let mut compiler = Command::new("g++");
    compiler.args(["-g", "-O0", "-pthread", "-o"]).arg(folder.join("random")).arg(source);
    assert!(compiler.status().expect("g++ starts").success(), "random.cc is compiled");
    let printed = |words: &[&str]| {
        let output = raddle(&folder, words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, numbers) = text.split_once("It printed:\n").unwrap_or_else(|| panic!("{text}"));
        let first = text.contains("the first is run 0.");
        let numbers =
            numbers.lines().take_while(|line| line.starts_with("  ")).filter(|line| line.contains(": "));
        (numbers.map(str::to_owned).collect::<Vec<String>>(), first)
    };
    let numbers = |seed| {
        printed(&[
            "run",
            "--record",
            "run.json",
            "--strategy",
            "random-walk",
            "--seed",
            seed,
            "--",
            "./random",
        ])
    };
    let (first, is_first) = numbers("1");
    let (other, is_other_first) = numbers("2");
    assert!(!is_first && !is_other_first, "otherwise this does not see that the number of the run counts");
    assert_eq!(printed(&["replay", "run.json"]).0, other);
    assert_eq!(numbers("1").0, first);
    // The kernel's initial random bytes are the same for all, and an old C library lacks the last kind.
    for line in 0..6 {
        assert_ne!(first[line], other[line], "{first:?} {other:?}");
        let words: Vec<&str> = first[line].split_whitespace().collect();
        assert_ne!(words[1], words[2], "each thread has numbers of its own: {first:?}");
    }
}

#[test]
fn an_unseen_end_keeps_its_trace() {
    let folder = compile("dies", "dies", &[]);
    for (way, message) in [
        ("kill", "thread T1 got SIGKILL; work at dies.c:14"),
        ("raise", "thread T1 got SIGTERM; work at dies.c:15"),
        ("pipe", "thread T1 got SIGPIPE; work at dies.c:16"),
        // An instruction is invisible; the last location before it is reported.
        ("trap", "thread T1 got SIGTRAP; work at dies.c:13"),
        ("first", "thread main got SIGTRAP; unknown location"),
    ] {
        let report = run(&folder, &["--runs", "20", "--", "./dies", way]);
        assert_eq!(report["kind"], "signal", "{report}");
        assert!(report["message"].as_str().is_some_and(|text| text.contains(message)), "{way}: {report}");
        replays(&folder, &report, 2);
    }
    for way in ["exit_group", "instruction"] {
        let report = run(&folder, &["--runs", "100", "--", "./dies", way]);
        assert_eq!((&report["runs"], &report["verdict"]), (&100.into(), &"passed".into()), "{report}");
        // The end comes before, between and after the steps of the main thread.
        assert!(report["partial_orders"].as_u64() > Some(1), "{report}");
    }
}

/// Two threads print a line each; only one order is the expected one.
#[test]
fn an_unexpected_output_is_a_failure() {
    let folder = compile("prints", "prints", &[]);
    std::fs::write(folder.join("expected"), "first\nsecond\n").expect("the folder can be written to");
    let words = ["--expect-output", "expected", "--runs", "200", "--", "./prints"];
    let report = run(&folder, &words);
    assert_eq!(report["kind"], "output", "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("the first difference is in line 1, after 0 bytes"), "{message}");
    assert!(message.contains("it has 13 bytes, expected are 13"), "{message}");
    replays(&folder, &report, 3);
    // Standard error is not output, and is displayed with it.
    let recorded = report["failure_file"].as_str().expect("a failing run is written");
    let shown = raddle(&folder, &["replay", recorded]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("It printed:\n  second\n  first\n  to the standard error\n"), "{shown}");
    let report = run(&folder, &[&words[..6], &["locked"]].concat());
    assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &200.into()), "{report}");
    let missing = ["run", "--expect-output", "nothing", "--", "./prints"];
    super::refused(&folder, &missing, &["cannot find nothing"]);
}
