//! A check that hangs in a call of std ends with a message. Each test runs in its own process, with a small
//! limit.

use std::process::Command;

/// Runs the ignored test `name` of this file in another process, and returns its exit status and output.
fn hung(name: &str) -> (Option<i32>, String) {
    let output = Command::new(std::env::current_exe().expect("a test has a file"))
        .args([name, "--exact", "--ignored"])
        .env("RADDLE_WATCHDOG", "0.2")
        .output()
        .expect("the test can be run");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the line of this file that has `mark` in a comment.
fn line(mark: &str) -> usize {
    let mark = format!("// {mark}");
    let lines = include_str!("watchdog.rs").lines();
    lines.zip(1..).find(|(line, _)| line.ends_with(&mark)).expect("the mark is there").1
}

/// Runs a test that hangs at the line with its name, and checks the reported call and help.
fn assert_hangs(name: &str, call: &str, import: &str) {
    let (status, text) = hung(name);
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains(&format!("error: the check `{name}` has made no step for 0.2 s: it waits in `")),
        "{text}"
    );
    assert!(text.contains(call), "{text}");
    assert!(text.contains(&format!("tests/watchdog.rs:{}:", line(name))), "{text}");
    assert!(text.contains(&format!("help: use `raddle::{import}` instead of `std::{import}`")), "{text}");
}

#[test]
fn a_mutex_of_std_that_is_held_over_a_switch() {
    assert_hangs("holds_a_mutex", "::lock`", "sync::Mutex");
}

#[test]
fn a_channel_of_std() {
    assert_hangs("receives", "::recv`", "sync::mpsc");
}

#[test]
fn a_barrier_of_std() {
    assert_hangs("meets", "::wait`", "sync::Barrier");
}

#[test]
fn a_sleep_of_std_is_named_and_may_end() {
    let (status, text) = hung("sleeps");
    assert_eq!(status, Some(2), "{text}");
    let warning = "warning: the check `sleeps` has made no step for 0.2 s: it waits in `std::thread::sleep`, which raddle does not control";
    assert!(text.contains(warning), "{text}");
    assert!(text.contains(&format!("tests/watchdog.rs:{}:", line("sleeps"))), "{text}");
    assert!(text.contains("help: use `raddle::thread` instead of `std::thread`"), "{text}");
}

#[test]
fn a_loop_on_an_atomic_of_std_may_be_a_computation() {
    let (status, text) = hung("spins");
    assert_eq!(status, Some(2), "{text}");
    let report = |kind: &str, seconds: &str| {
        text.contains(&format!("{kind}: the check `spins` has made no step for {seconds} s: it computes: either a long computation"))
    };
    assert!(report("warning", "0.2") && report("warning", "0.4") && report("error", "12"), "{text}");
    assert!(text.contains("raddle::sync::atomic"), "{text}");
}

#[test]
#[ignore = "hangs"]
fn holds_a_mutex() {
    raddle::check(|| {
        let lock = std::sync::Arc::new(std::sync::Mutex::new(0));
        let other = lock.clone();
        let thread = raddle::thread::spawn(move || {
            let _guard = other.lock().unwrap();
            raddle::thread::yield_now();
        });
        raddle::thread::yield_now();
        *lock.lock().unwrap() += 1; // holds_a_mutex
        thread.join().unwrap();
    });
}

#[test]
#[ignore = "hangs"]
fn receives() {
    raddle::check(|| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = raddle::thread::spawn(move || sender.send(1).unwrap());
        assert_eq!(receiver.recv(), Ok(1)); // receives
        thread.join().unwrap();
    });
}

#[test]
#[ignore = "hangs"]
fn meets() {
    raddle::check(|| {
        let barrier = std::sync::Arc::new(std::sync::Barrier::new(2));
        let other = barrier.clone();
        let thread = raddle::thread::spawn(move || _ = other.wait());
        barrier.wait(); // meets
        thread.join().unwrap();
    });
}

#[test]
#[ignore = "hangs"]
fn spins() {
    raddle::check(|| {
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let other = flag.clone();
        let thread = raddle::thread::spawn(move || other.store(true, std::sync::atomic::Ordering::SeqCst));
        while !flag.load(std::sync::atomic::Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        thread.join().unwrap();
    });
}

#[test]
#[ignore = "sleeps for long"]
fn sleeps() {
    raddle::check(|| {
        let thread = raddle::thread::spawn(|| ());
        std::thread::sleep(std::time::Duration::from_secs(1_000)); // sleeps
        thread.join().unwrap();
    });
}
