//! Programs compiled by plain rustc, with hooks at their memory accesses.

use super::{folder, raddle, refused, replays, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags that make the stable compiler call the hooks.
const FLAGS: &[&str] = &[
    "-Cpasses=forceattrs",
    "-Cpasses=tsan-module",
    "-Cpasses=tsan",
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
    "-Cllvm-args=-tsan-instrument-read-before-write=1",
    "-Clink-arg=-Wl,--unresolved-symbols=ignore-all",
    "-Cforce-frame-pointers=yes",
    "-g",
    "--edition=2024",
];

/// Compiles `NAME.rs` of `tests/native/rust` into a folder, and returns the folder and the source.
fn compile(name: &str, flags: &[&str]) -> (PathBuf, String) {
    let folder = folder(&format!("rust_{name}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/rust").join(format!("{name}.rs"));
    let mut rustc = Command::new("rustc");
    rustc.args(FLAGS).args(flags).arg("-o").arg(folder.join(name)).arg(&source);
    assert!(rustc.status().expect("rustc starts").success(), "{name}.rs is compiled");
    (folder, std::fs::read_to_string(source).expect("the source is there"))
}

/// Returns `NAME.rs:LINE` of the line that ends in `// mark`.
#[track_caller]
fn line(name: &str, source: &str, mark: &str) -> String {
    let end = format!("// {mark}");
    let index = source.lines().position(|line| line.ends_with(&end)).expect("the line is marked");
    format!("{name}.rs:{}", index + 1)
}

fn text(folder: &Path, words: &[&str]) -> String {
    String::from_utf8_lossy(&raddle(folder, words).stdout).into_owned()
}

/// Both lines are the user's own, although the operations are those of std.
#[test]
fn a_lost_update_is_reported_with_user_lines() {
    let (folder, source) = compile("lost_update", &[]);
    let report = run(&folder, &["--fail-on-exit", "--", "./lost_update"]);
    assert_eq!(report["kind"], "exit", "{report}");
    // A panic prints the id of its thread. That of the first is the real one, which differs each time.
    replays(&folder, &report, 1);
    let file = report["failure_file"].as_str().expect("the run was recorded");
    let printed = text(&folder, &["replay", "--full", file]);
    for part in [
        format!("{} in Mutex::lock", line("lost_update", &source, "reads")),
        format!("{} in Mutex::lock", line("lost_update", &source, "writes")),
        format!("{} in drop of MutexGuard", line("lost_update", &source, "writes")),
    ] {
        assert!(printed.contains(&part), "`{part}` is missing in: {printed}");
    }
}

#[test]
fn a_deadlock_in_std_is_reported_with_waiters_and_last_holders() {
    let (folder, source) = compile("abba", &[]);
    let report = run(&folder, &["--", "./abba"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    replays(&folder, &report, 2);
    let message = report["message"].as_str().expect("a failure has a message");
    let at = |mark: &str| line("abba", &source, mark);
    for part in [
        format!("T1 waits for being unparked; forth, in Mutex::lock at {}", at("forth, second")),
        format!("T2 waits for being unparked; back, in Mutex::lock at {}", at("back, second")),
        format!("what T1 waits on was last changed by T2; back, in Mutex::lock at {}", at("back, first")),
        format!("what T2 waits on was last changed by T1; forth, in Mutex::lock at {}", at("forth, first")),
    ] {
        assert!(message.contains(&part), "`{part}` is missing in: {message}");
    }
}

/// Inlined or missing frames do not hide the user's line either.
#[test]
fn optimized_code_is_reported_with_user_lines() {
    let (folder, source) = compile("optimised", &["-O"]);
    let report = run(&folder, &["--", "./optimised"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    let place = line("optimised", &source, "waits");
    assert!(message.contains(&place), "`{place}` is missing in: {message}");
}

/// std's own locks order accesses without hooks: races are not reported unless requested.
#[test]
fn data_races_ordered_by_std_are_not_reported() {
    let (folder, _) = compile("handed_over", &[]);
    let report = run(&folder, &["--fail-on-exit", "--runs", "200", "--", "./handed_over"]);
    assert_eq!((&report["verdict"], &report["races"]), (&"passed".into(), &Value::Null), "{report}");
    let report = run(&folder, &["--races", "fail", "--runs", "200", "--", "./handed_over"]);
    let notes = report["notes"].to_string();
    assert!(report["kind"] != "data-race" || notes.contains("the data race may be none"), "{report}");
}

/// Everything in std that waits, on the virtual clock, and intended panics.
#[test]
fn what_std_waits_with_is_under_control() {
    let (folder, _) = compile("waits", &[]);
    let report = run(&folder, &["--fail-on-exit", "--runs", "100", "--", "./waits"]);
    assert_eq!((&report["verdict"], &report["outside_waits"]), (&"passed".into(), &0.into()), "{report}");
    assert!(report["partial_orders"].as_u64() > Some(10), "{report}");
}

/// Also in the first run, in which no memory is known to be shared.
#[test]
fn a_spinning_thread_lets_others_run() {
    let (folder, _) = compile("spins", &[]);
    let report = run(&folder, &["--run-time", "5s", "--runs", "50", "--", "./spins"]);
    assert_eq!(report["verdict"], "passed", "{report}");
}

/// Including its output, in which a thread has the same id in every run.
#[test]
fn a_run_with_a_panic_repeats() {
    let (folder, _) = compile("panics", &[]);
    let report = run(&folder, &["--fail-on-exit", "--", "./panics"]);
    assert_eq!(report["kind"], "exit", "{report}");
    replays(&folder, &report, 3);
    let file = report["failure_file"].as_str().expect("the run was recorded");
    let printed = text(&folder, &["replay", file]);
    assert!(printed.contains("(1000001) panicked at "), "{printed}");
}

/// Locks and park of the precompiled standard library are not seen, so that old values could be read that they forbid.
#[test]
fn weak_memory_needs_a_standard_library_with_hooks() {
    let (folder, _) = compile("lost_update", &[]);
    let parts = ["its standard library has no hooks", "help: `cargo raddle run --memory weak`"];
    refused(&folder, &["run", "--memory", "weak", "./lost_update"], &parts);
}

/// The sockets of std are simulated, so messages of different connections may overtake each other.
#[test]
fn messages_of_two_connections_overtake_each_other() {
    let (folder, _) = compile("sockets", &[]);
    let report = run(&folder, &["--fail-on-exit", "--", "./sockets"]);
    assert_eq!(report["kind"], "exit", "{report}");
    replays(&folder, &report, 1);
    let file = report["failure_file"].as_str().expect("the run was recorded");
    let printed = text(&folder, &["replay", "--full", file]);
    assert!(printed.contains("net 2 to server") && printed.contains("deliver connection 2"), "{printed}");
}
