//! What Shuttle offers besides std's names, under the names that Shuttle gives it.

use raddle as shuttle;
use shuttle::lazy_static::initialize;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{Config, FailureFile, check_with, thread};
use std::panic::catch_unwind;

static MADE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

shuttle::lazy_static! {
    /// Counts how often it was made.
    static ref COUNT: usize = MADE.fetch_add(1, Ordering::SeqCst);
    pub(crate) static ref TEXT: String = "text".repeat(2);
}

#[test]
fn a_lazy_static_is_made_once_in_each_run() {
    let config = Config::new().with_strategy("random-walk").with_runs(10);
    check_with(&config, || {
        let before = MADE.load(Ordering::SeqCst);
        let thread = thread::spawn(|| *COUNT);
        initialize(&COUNT);
        assert_eq!((*COUNT, thread.join().unwrap()), (before, before));
        assert_eq!(*TEXT, "texttext");
    })
    .unwrap();
    assert_eq!(MADE.load(Ordering::SeqCst), 10);
}

fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&counter);
    let add = |counter: &AtomicUsize| {
        let before = counter.load(Ordering::SeqCst);
        counter.store(before + 1, Ordering::SeqCst);
    };
    let thread = thread::spawn(move || add(&other));
    add(&counter);
    thread.join().unwrap();
    assert_eq!(counter.load(Ordering::SeqCst), 2, "an update was lost");
}

/// The text of the panic of a check that fails.
fn report(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    *catch_unwind(check).unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn uniform_sampling_runs_as_often_as_asked_and_finds_bugs() {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&runs);
    shuttle::check_urw(move || _ = counter.fetch_add(1, Ordering::SeqCst), 7);
    assert_eq!(runs.load(Ordering::SeqCst), 7);
    let text = report(|| shuttle::check_urw(lost_update, 100));
    assert!(text.contains("an update was lost"), "{text}");
}

#[test]
fn a_file_of_a_failing_run_is_replayed() {
    let directory = std::env::temp_dir().join(format!("raddle-shuttle-names-{}", std::process::id()));
    let failed = check_with(&Config::new().with_failures(&directory), lost_update).unwrap_err();
    let FailureFile::At(file) = &failed.file else { panic!("{failed}") };
    let file = file.clone();
    let text = report(move || shuttle::replay_from_file(lost_update, &file));
    std::fs::remove_dir_all(directory).unwrap();
    assert!(text.contains("it repeated the recorded run exactly"), "{text}");
}

#[test]
fn threads_have_numbers() {
    shuttle::check_random(
        || {
            assert_eq!(usize::from(thread::current().id()), 0);
            assert_eq!(thread::spawn(|| usize::from(thread::current().id())).join().unwrap(), 1);
        },
        5,
    );
}
