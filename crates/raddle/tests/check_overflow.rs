//! A stack overflow is distinguished from other faults. Each test runs a helper in its own process, which
//! dies.
#![cfg(target_os = "linux")]

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

fn is_child() -> bool {
    std::env::var_os("CHECK_OVERFLOW_CHILD").is_some()
}

fn deep(n: u64) -> u64 {
    let frame = black_box([n; 64]);
    if black_box(n) == u64::MAX { 0 } else { deep(n + 1) + frame[1] }
}

#[test]
fn helper_that_overflows_in_a_check() {
    if is_child() {
        raddle::check(|| {
            raddle::thread::spawn(|| black_box(deep(0))).join().unwrap();
        });
    }
}

#[test]
fn helper_that_overflows_after_a_check() {
    if is_child() {
        raddle::check(|| {});
        black_box(deep(0));
    }
}

fn run(helper: &str) -> (Output, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", helper, "--nocapture"]).env("CHECK_OVERFLOW_CHILD", "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

#[test]
fn an_overflow_of_a_controlled_thread_is_reported() {
    let (output, text) = run("helper_that_overflows_in_a_check");
    assert!(text.contains("error: a thread of the test overflowed its stack"), "{text}");
    assert_eq!(output.status.signal(), Some(6), "{text}");
}

#[test]
fn an_overflow_of_another_thread_is_reported_by_std() {
    let (output, text) = run("helper_that_overflows_after_a_check");
    assert!(text.contains("has overflowed its stack") && !text.contains("error: a thread"), "{text}");
    assert_eq!(output.status.signal(), Some(6), "{text}");
}
