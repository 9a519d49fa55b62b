//! Failure files of Rust tests on the command line, which runs the test binary: this one.

use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::{Config, FailureFile};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// Two threads each add to a counter, and one update may be lost.
fn loses_an_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let add = |counter: &AtomicU32| {
        let value = counter.load(Ordering::SeqCst);
        counter.store(value + 1, Ordering::SeqCst);
    };
    let other = Arc::clone(&counter);
    let thread = raddle::thread::spawn(move || add(&other));
    add(&counter);
    thread.join().unwrap();
    assert_eq!(counter.load(Ordering::SeqCst), 2, "an update is lost");
}

fn raddle(words: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(words).arg(file).env_remove("RADDLE_REPLAY").env_remove("RADDLE_SERVE");
    command.output().expect("raddle starts")
}

fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

/// Returns the file of a failing run of this test.
fn recorded(folder: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let config = Config::new().with_failures(&folder).with_minimize(false).with_explain(false);
    // If the command line has started this test, it executes runs here and exits.
    let failed = raddle::check_with(&config, loses_an_update).expect_err("an update is lost in some run");
    let FailureFile::At(path) = failed.file else { panic!("it is recorded") };
    path
}

#[test]
fn a_failure_is_replayed_reduced_explained_and_reported() {
    let file = recorded("rust-files");
    let replayed = raddle(&["replay"], &file);
    assert_eq!(replayed.status.code(), Some(1), "{}", text(&replayed));
    assert!(text(&replayed).contains("it repeats exactly"), "{}", text(&replayed));
    assert!(text(&replayed).contains("rust_files.rs:"), "{}", text(&replayed));
    let small = file.with_extension("min");
    let reduced = raddle(&["minimize", "-o", &small.to_string_lossy()], &file);
    assert_eq!(reduced.status.code(), Some(1), "{}", text(&reduced));
    assert_eq!(raddle(&["replay"], &small).status.code(), Some(1), "the smaller run repeats");
    let explained = raddle(&["explain"], &small);
    assert_eq!(explained.status.code(), Some(1), "{}", text(&explained));
    assert!(text(&explained).contains("swap them and the run passes"), "{}", text(&explained));
    let report = raddle(&["report", "--full", "--explain"], &small);
    assert!(report.status.success() && text(&report).contains("swap them"), "{}", text(&report));
    let steps = |text: String| {
        let rows = text.lines().filter(|line| line.contains(" at ") && line.contains("rust_files.rs:"));
        let rows = rows.filter(|line| line.starts_with(' '));
        rows.map(|line| line.replacen(['*', '+', '!'], " ", 1)).collect::<Vec<_>>()
    };
    let (shown, printed) = (steps(text(&raddle(&["replay", "--full"], &small))), steps(text(&report)));
    assert!(!shown.is_empty() && shown.iter().all(|row| printed.contains(row)), "{shown:#?}\n{printed:#?}");
}

#[test]
fn a_test_that_is_not_there_any_more_is_an_error_with_a_remedy() {
    let file = recorded("rust-files-gone");
    let content = std::fs::read_to_string(&file).expect("the file is there");
    let change = |name: &str, from: &str, to: &str| {
        assert!(content.contains(from), "{content}");
        let path = file.with_extension(name);
        std::fs::write(&path, content.replace(from, to)).expect("a copy can be written");
        path
    };
    let test = "rust_files::a_test_that_is_not_there_any_more_is_an_error_with_a_remedy";
    let renamed = raddle(&["replay", "--trust"], &change("renamed", test, "rust_files::no_such_test"));
    assert_eq!(renamed.status.code(), Some(2));
    assert!(text(&renamed).contains("without coming to the check"), "{}", text(&renamed));
    let binary = std::env::current_exe().expect("this has a path").display().to_string();
    let gone = raddle(&["explain", "--trust"], &change("gone", &binary, "/no/such/binary"));
    assert_eq!(gone.status.code(), Some(2));
    let message = text(&gone);
    assert!(message.contains("is not there any more") && message.contains("--include-ignored"), "{message}");
}
