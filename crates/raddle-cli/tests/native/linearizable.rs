//! `raddle run` of programs with `raddle/linearizable.h`.

use super::{folder, raddle};
use serde_json::Value;
use std::path::Path;

/// Runs a program of these tests, and returns the report.
#[track_caller]
fn check(test: &str, name: &str, options: &[&str], status: i32) -> (Value, String) {
    let folder = folder(test);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/linearizable").join(name);
    let source = source.display().to_string();
    let output = raddle(&folder, &[&["run", "--json"], options, &[&source]].concat());
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{messages}{}", String::from_utf8_lossy(&output.stdout));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {messages}"));
    let Some(file) = report["failure_file"].as_str() else { return (report, String::new()) };
    let replay = raddle(&folder, &["replay", file]);
    assert_eq!(replay.status.code(), Some(1), "{}", String::from_utf8_lossy(&replay.stderr));
    (report, String::from_utf8_lossy(&replay.stdout).into_owned())
}

#[test]
fn a_right_ring_is_verified() {
    // Two calls of each of two threads need at most this number of runs.
    let (report, _) = check("linearizable-right", "ring.c", &["--cflags", "-DSMALL", "--runs", "4000"], 0);
    assert_eq!(report["verified"], report["scenarios"], "{report}");
    assert!(report["scenarios"].as_u64() >= Some(10), "{report}");
    assert!(report["interleavings"].as_u64() > report["scenarios"].as_u64(), "{report}");
}

#[test]
fn a_wrong_ring_is_refuted_by_the_smallest_scenario() {
    let (report, replay) = check("linearizable-wrong", "ring.c", &["--cflags", "-DEARLY"], 1);
    assert_eq!(report["scenario"], serde_json::json!(["push(1)", "pop()"]), "{report}");
    assert!(replay.contains("not linearizable"), "{replay}");
    assert!(replay.contains("|push(1) = 1"), "{replay}");
}

#[test]
fn a_model_says_which_results_are_right() {
    let (report, replay) = check("linearizable-model", "counter.cpp", &[], 1);
    assert_eq!(report["scenario"], serde_json::json!(["increment(1)", "increment(1)"]), "{report}");
    assert_eq!(replay.matches("|increment(1) = 0").count(), 2, "{replay}");
}
