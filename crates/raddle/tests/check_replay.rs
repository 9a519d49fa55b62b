//! Files that cannot be replayed, and tests that have changed since.

#[path = "common/recorded.rs"]
mod recorded;

use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, FailureFile, ReplayError, check_with, thread, try_replay, try_replay_tolerantly};
use raddle_model::{Failure, TraceFile, Verdict};
use std::path::{Path, PathBuf};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("check-replay")
}

/// A test that can be changed after it has been recorded: `extra` operations come first, and the assertion is
/// optional.
fn test(extra: usize, asserts: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let count = AtomicUsize::new(0);
        for _ in 0..extra {
            count.load(Ordering::SeqCst);
        }
        let balance = Arc::new(Mutex::new(0));
        let other = balance.clone();
        let deposit = thread::spawn(move || {
            let before = *other.lock().unwrap();
            *other.lock().unwrap() = before + 1;
        });
        let before = *balance.lock().unwrap();
        *balance.lock().unwrap() = before + 1;
        deposit.join().unwrap();
        assert!(!asserts || *balance.lock().unwrap() == 2, "lost");
    }
}

fn recorded(name: &str) -> PathBuf {
    let config = Config::new().with_failures(directory().join(name));
    let failed = check_with(&config, test(1, true)).unwrap_err();
    match failed.file {
        FailureFile::At(path) => path,
        other => panic!("{other:?}"),
    }
}

fn error(path: &Path, test: impl Fn() + Send + Sync + 'static) -> String {
    match try_replay(test, path) {
        Err(ReplayError::Failed(failed)) => panic!("it repeats: {failed}"),
        Err(error) => error.to_string(),
        Ok(passed) => panic!("{passed:?}"),
    }
}

#[test]
fn a_changed_test_is_reported_at_the_first_different_step() {
    let path = recorded("changed");
    let more = error(&path, test(2, true));
    for part in [
        "diverged from the recorded run at step 2 of ",
        "main did `spawn at ",
        "now it is about to do `read count at ",
    ] {
        assert!(more.contains(part), "`{part}` is not in:\n{more}");
    }
    let fewer = error(&path, test(0, true));
    let parts = ["at step 1 of ", "main did `read count at ", "now it is about to do `spawn at "];
    assert!(parts.iter().all(|part| fewer.contains(part)), "{fewer}");
    let shorter = error(&path, test(1, false));
    assert!(
        shorter.contains("did `lock balance at ") && shorter.contains("now the run is over (passed)"),
        "{shorter}"
    );
    let dead = error(&path, || panic!("at once"));
    assert!(dead.contains("at step 1 of ") && dead.contains("now the run is over (assertion)"), "{dead}");
}

#[test]
fn a_different_outcome_is_reported() {
    let path = recorded("end");
    let mut file = TraceFile::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    file.verdict = Verdict::Passed;
    std::fs::write(&path, file.to_json()).unwrap();
    let text = error(&path, test(1, true));
    assert!(text.contains("the steps are the same but the outcome differs: recorded `passed"), "{text}");
    let path = recorded("end");
    let mut file = TraceFile::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    file.fingerprint ^= 1;
    std::fs::write(&path, file.to_json()).unwrap();
    assert!(error(&path, test(1, true)).contains("the fingerprint differs: recorded "));
}

#[test]
fn a_damaged_file_is_named() {
    let path = recorded("damaged");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let cut = error(&path, test(1, true));
    assert!(cut.contains(&path.display().to_string()), "{cut}");
    assert!(cut.contains("not a valid failure file"), "{cut}");
    let mut file = TraceFile::from_json(&text).unwrap();
    file.front_end = raddle_model::FrontEnd::Lab;
    std::fs::write(&path, file.to_json()).unwrap();
    assert!(error(&path, test(1, true)).contains("recorded by the front end `lab`"));
    std::fs::remove_file(&path).unwrap();
    assert!(error(&path, test(1, true)).starts_with("cannot read "));
}

#[test]
fn locations_are_known_by_their_text() {
    // Locations in a file are numbered in the order in which the run reached them. Reversing the numbers
    // shows whether another order of discovery, as in another process, matters.
    let path = recorded("locations");
    let mut file = TraceFile::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let last = file.locations.len() as u32;
    file.locations[1..].reverse();
    for step in &mut file.steps {
        step.operation.location.0 = last - step.operation.location.0;
    }
    let Verdict::Failed { failure: Failure::Assertion { location, .. } } = &mut file.verdict else {
        panic!("{:?}", file.verdict)
    };
    location.0 = last - location.0;
    std::fs::write(&path, file.to_json()).unwrap();
    match try_replay(test(1, true), &path) {
        Err(ReplayError::Failed(failed)) => {
            assert_eq!(recorded::trace(&failed), TraceFile { signature: None, ..file });
        }
        other => panic!("{other:?}"),
    }
}

/// One more operation at the beginning: the same switches still lose an update.
#[test]
fn a_changed_test_is_followed_as_far_as_possible() {
    let path = recorded("tolerant");
    let failed = match try_replay_tolerantly(test(2, true), &path) {
        Err(ReplayError::Failed(failed)) => failed,
        other => panic!("{other:?}"),
    };
    let divergence = failed.divergence.as_deref().expect("it is another test");
    assert!(divergence.starts_with("at step 2 of "), "{divergence}");
    let report = ReplayError::Failed(failed).to_string();
    assert!(report.contains("\nassertion: lost at "), "{report}");
    assert!(
        report.contains("\nthis was a replay; it diverged from the recorded run at step 2 of "),
        "{report}"
    );
    assert!(!report.contains("exactly"), "{report}");
    // Without its assertion the test passes; unchanged, it repeats the recorded run.
    let passed = try_replay_tolerantly(test(2, false), &path).expect("nothing is wrong with it");
    assert_eq!((passed.runs, passed.threads), (1, 2));
    match try_replay_tolerantly(test(1, true), &path) {
        Err(ReplayError::Failed(failed)) => assert_eq!(failed.divergence, None),
        other => panic!("{other:?}"),
    }
}

/// The report of a lost update names the two operations that must be swapped.
#[test]
fn a_failure_is_explained() {
    let config = Config::new().without_failure_files();
    let failed = check_with(&config, test(0, true)).unwrap_err();
    let report = failed.to_string();
    let explanation = failed.explanation.as_deref().unwrap_or_else(|| panic!("{report}"));
    let (first, rest) = explanation.split_once(" before ").expect("two operations");
    assert!(first.contains(" locked `balance` at "), "{explanation}");
    assert!(rest.contains(" locked it at ") && rest.contains("check_replay.rs:"), "{explanation}");
    assert!(rest.ends_with("'s lock comes first, the run passes."), "{explanation}");
    assert!(report.contains(&format!("\n\nWhy: {first} before ")), "{report}");
    let failed = check_with(&config.with_explain(false), test(0, true)).unwrap_err();
    assert_eq!(failed.explanation, None);
    assert!(!failed.to_string().contains("Why: "));
}
