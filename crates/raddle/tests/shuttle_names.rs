//! What Shuttle offers besides std's names, under the names that Shuttle gives it.

use raddle as shuttle;
use shuttle::lazy_static::initialize;
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{Config, FailureFile, PortfolioRunner, Runner, check_with, thread};
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

/// How often a test with this runner runs it.
fn runs_of(runner: Runner<impl Scheduler>) -> (usize, usize) {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&runs);
    let told = runner.run(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        let thread = thread::spawn(thread::yield_now);
        thread::yield_now();
        thread.join().unwrap();
    });
    (told, runs.load(Ordering::SeqCst))
}

#[test]
fn runners_run_as_often_as_their_scheduler_says() {
    let config = || Config::new().without_failure_files();
    assert_eq!(runs_of(Runner::new(RandomScheduler::new(7), config())), (7, 7));
    assert_eq!(runs_of(Runner::new(UrwRandomScheduler::new_from_seed(3, 8), config())), (8, 8));
    assert_eq!(runs_of(Runner::new(PctScheduler::new(2, 9), config())), (9, 9));
    assert_eq!(runs_of(Runner::new(DfsScheduler::new(Some(1), false), config())), (1, 1));
    assert_eq!(runs_of(Runner::new(DfsScheduler::new(None, false), config())), (2, 2));
}

#[test]
fn the_seed_of_a_scheduler_decides() {
    let order = |seed| {
        let orders = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = std::sync::Arc::clone(&orders);
        let scheduler = RandomScheduler::new_from_seed(seed, 20);
        Runner::new(scheduler, Config::new()).run(move || {
            let other = std::sync::Arc::clone(&kept);
            let thread = thread::spawn(move || {
                thread::yield_now();
                other.lock().unwrap().push(1);
            });
            thread::yield_now();
            kept.lock().unwrap().push(0);
            thread.join().unwrap();
        });
        std::sync::Arc::into_inner(orders).unwrap().into_inner().unwrap()
    };
    assert_eq!(order(5), order(5));
    assert_ne!(order(5), order(6));
}

#[test]
fn a_portfolio_stops_at_the_first_failure_or_goes_on() {
    let failures = |stop| {
        report(move || {
            let mut portfolio = PortfolioRunner::new(stop, Config::new().without_failure_files());
            portfolio.add(RandomScheduler::new(100));
            portfolio.add(PctScheduler::new(3, 100));
            portfolio.run(lost_update);
        })
        .matches("an update was lost")
        .count()
    };
    let (one, two) = (failures(true), failures(false));
    assert!(one > 0 && two == 2 * one, "{one} {two}");
}

#[test]
fn a_test_that_depends_on_more_than_the_schedule_is_noticed() {
    shuttle::check_uncontrolled_nondeterminism(
        || {
            let counter = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&counter);
            let thread = thread::spawn(move || other.fetch_add(1, Ordering::SeqCst));
            counter.fetch_add(1, Ordering::SeqCst);
            thread.join().unwrap();
        },
        20,
    );
    static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let text = report(|| {
        shuttle::check_uncontrolled_nondeterminism(
            || {
                if CALLS.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                    thread::yield_now();
                }
                thread::spawn(|| {}).join().unwrap();
            },
            20,
        );
    });
    assert!(text.starts_with("uncontrolled nondeterminism: run 0 was made twice"), "{text}");
    let text = report(|| shuttle::check_uncontrolled_nondeterminism(lost_update, 100));
    assert!(text.contains("an update was lost") && !text.contains("uncontrolled"), "{text}");
}

#[test]
fn a_test_can_ask_who_runs_and_how_far() {
    assert_eq!(shuttle::current::get_current_task(), None);
    shuttle::check_random(
        || {
            assert_eq!(usize::from(shuttle::current::me()), 0);
            let before = shuttle::current::context_switches();
            thread::yield_now();
            assert!(shuttle::current::context_switches() > before);
            let other = thread::spawn(shuttle::current::get_current_task).join().unwrap();
            assert_eq!(other.map(usize::from), Some(1));
        },
        5,
    );
}
