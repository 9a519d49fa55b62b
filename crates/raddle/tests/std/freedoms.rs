//! Behavior that std allows and hardly ever shows: a check with its defaults finds each, and a correct test
//! passes.

use crate::common::outcomes;
use crate::common::recorded::trace;
use raddle::future::{self, block_on};
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use raddle::sync::{Condvar, Mutex, RwLock};
use raddle::time::{Duration, Instant};
use raddle::{Config, Failed, Failure, Timeouts, check_with, thread, try_replay};
use raddle_model::Kind;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Counter;

const SC: Ordering = Ordering::SeqCst;

/// Returns the failure that a check with its defaults finds. A replay of its file reproduces it.
fn found(name: &str, test: impl Fn() + Clone + Send + Sync + 'static) -> Box<Failed> {
    let directory = std::env::temp_dir().join(format!("raddle-freedoms-{}-{name}", std::process::id()));
    let failed = check_with(&Config::new().with_failures(&directory), test.clone()).expect_err("a run fails");
    let raddle::FailureFile::At(path) = &failed.file else { panic!("{:?}", failed.file) };
    let Err(raddle::ReplayError::Failed(again)) = try_replay(test, path) else {
        panic!("it does not come again")
    };
    assert_eq!(trace(&again).steps, trace(&failed).steps);
    std::fs::remove_dir_all(&directory).unwrap();
    failed
}

/// Checks that `test` passes with the defaults, and under every schedule of both exhaustive strategies.
fn clean(test: impl Fn() + Clone + Send + Sync + 'static) {
    for strategy in ["portfolio", "dpor", "dfs"] {
        let config = Config::new().with_strategy(strategy).without_failure_files();
        let config = if strategy == "portfolio" { config } else { config.with_runs(500_000) };
        let passed =
            check_with(&config, test.clone()).unwrap_or_else(|failed| panic!("{strategy}: {failed}"));
        assert!(passed.exhausted || strategy == "portfolio", "{strategy} is not done");
    }
}

/// Checks that `test` fails under both exhaustive strategies.
fn fails_exhaustively(test: impl Fn() + Clone + Send + Sync + 'static) {
    for strategy in ["dpor", "dfs"] {
        let config = Config::new().with_strategy(strategy).with_runs(500_000).without_failure_files();
        assert!(check_with(&config, test.clone()).is_err(), "{strategy} finds nothing");
    }
}

/// A reader that reads again, or only once, next to a writer.
fn readers(again: bool) {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let writer = thread::spawn(move || *other.write().unwrap() += 1);
    {
        let first = lock.read().unwrap();
        let second = again.then(|| lock.read().unwrap());
        assert!(second.is_none_or(|second| *second == *first));
    }
    writer.join().unwrap();
}

#[test]
fn a_reader_that_reads_again_waits_behind_a_writer() {
    let failed = found("readers", || readers(true));
    let Failure::Deadlock { blocked, cycle, .. } = &failed.failure else { panic!("{failed}") };
    assert_eq!((blocked.len(), cycle.len()), (2, 2), "{failed}");
    let text = failed.to_string();
    assert!(text.contains("again, behind the writer thread 1"), "{text}");
    assert!(
        text.contains("This run assumes that main, which reads already, waits behind a writer"),
        "{text}"
    );
    fails_exhaustively(|| readers(true));
    clean(|| readers(false));
    // There is no other thread, or no writer.
    clean(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let reader = thread::spawn(move || {
            let _first = other.read().unwrap();
            *other.read().unwrap()
        });
        let first = lock.read().unwrap();
        assert_eq!(*first + *lock.read().unwrap() + reader.join().unwrap(), 0);
    });
}

/// A thread that parks until a flag is set, and checks it once or in a loop.
fn parked(looks_again: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&flag);
    let waiter = thread::spawn(move || {
        if looks_again {
            while !other.load(SC) {
                thread::park();
            }
        } else {
            thread::park();
        }
        assert!(other.load(SC), "woken too early");
    });
    flag.store(true, SC);
    waiter.thread().unpark();
    waiter.join().unwrap();
}

#[test]
fn park_returns_without_unpark() {
    let failed = found("park", || parked(false));
    let text = failed.to_string();
    assert!(text.contains("This run assumes a spurious wake-up: `park` of thread 1 returned"), "{text}");
    fails_exhaustively(|| parked(false));
    clean(|| parked(true));
    // A thread that is never unparked is still a deadlock, even one that would be woken once.
    let lost = || drop(thread::spawn(thread::park).join());
    let failed = found("lost", lost);
    assert!(matches!(failed.failure, Failure::Deadlock { .. }), "{failed}");
    assert!(!failed.to_string().contains("spurious"), "{failed}");
    fails_exhaustively(lost);
}

/// A thread that sleeps and then relies on the work of another one, or waits for it.
fn sleeper(waits: bool) {
    let done = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&done);
    let worker = thread::spawn(move || other.store(true, SC));
    thread::sleep(Duration::from_millis(500));
    if waits {
        worker.join().unwrap();
    }
    assert!(done.load(SC), "the worker was slow");
}

#[test]
fn a_sleeper_overtakes_a_thread_that_can_run() {
    let failed = found("sleeper", || sleeper(false));
    assert!(trace(&failed).settings.timeouts_anytime);
    let text = failed.to_string();
    assert!(
        text.contains("This run assumes that time limits can end while other threads could run"),
        "{text}"
    );
    assert!(text.contains("slow then: main at "), "{text}");
    clean(|| sleeper(true));
    let idle = Config::new().with_timeouts(Timeouts::WhenIdle).without_failure_files();
    check_with(&idle, || sleeper(false)).unwrap_or_else(|failed| panic!("{failed}"));
    let any = Config::new().with_timeouts(Timeouts::Anytime).with_strategy("dfs").without_failure_files();
    check_with(&any, || sleeper(false)).unwrap_err();
}

#[test]
fn a_failure_that_needs_no_early_time_out_assumes_none() {
    // Fails in every run in which the second thread is last, independent of time.
    let failed = found("needless", || {
        thread::sleep(Duration::from_millis(1));
        let last = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2].map(|number| {
            let last = Arc::clone(&last);
            thread::spawn(move || last.store(number, SC))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(last.load(SC), 1);
    });
    assert!(!trace(&failed).settings.timeouts_anytime, "{failed}");
    assert!(!failed.to_string().contains("This run assumes"), "{failed}");
}

#[test]
fn a_wait_that_times_out_early_sees_its_time_passed() {
    let span = Duration::from_millis(20);
    let config = Config::new().with_timeouts(Timeouts::Anytime).without_failure_files();
    for strategy in ["dfs", "random-walk"] {
        let passed = check_with(&config.clone().with_strategy(strategy), move || {
            let pair = Arc::new((Mutex::new(()), Condvar::new()));
            let other = Arc::clone(&pair);
            let busy = thread::spawn(move || drop(other.0.lock()));
            let start = Instant::now();
            let (guard, result) = pair.1.wait_timeout(pair.0.lock().unwrap(), span).unwrap();
            assert!(result.timed_out() && start.elapsed() >= span, "{:?}", start.elapsed());
            drop(guard);
            busy.join().unwrap();
        });
        passed.unwrap_or_else(|failed| panic!("{failed}"));
    }
}

/// A thread that needs a value from its first statement on, which the main thread drops after an operation or
/// after the join.
fn late(waits: bool) {
    let value = std::sync::Arc::new(1);
    let weak = std::sync::Arc::downgrade(&value);
    let thread = thread::spawn(move || assert!(weak.upgrade().is_some(), "the value is gone"));
    thread::yield_now();
    if waits {
        thread.join().unwrap();
        drop(value);
    } else {
        drop(value);
        thread.join().unwrap();
    }
}

#[test]
fn a_thread_begins_late() {
    let failed = found("late", || late(false));
    assert!(trace(&failed).steps.iter().any(|step| step.operation.kind == Kind::Start));
    assert!(failed.to_string().contains("the value is gone"), "{failed}");
    clean(|| late(true));
}

#[test]
fn a_thread_begins_before_its_creator_continues() {
    // No operation is between the spawn and the drop.
    found("early", || {
        let value = std::sync::Arc::new(1);
        let weak = std::sync::Arc::downgrade(&value);
        let thread = thread::spawn(move || assert!(weak.upgrade().is_none(), "the value is still there"));
        drop(value);
        thread.join().unwrap();
    });
    found("early-task", || {
        let polled = Arc::new(Counter::new(0));
        detached(&polled);
        assert_eq!(polled.load(SC), 0, "polled before its creator has ended");
    });
}

#[test]
fn threads_begin_in_any_order() {
    let orders = outcomes(|| {
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let threads = [1, 2].map(|number| {
            let order = std::sync::Arc::clone(&order);
            thread::spawn(move || {
                thread::yield_now();
                order.lock().unwrap().push(number);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        order.lock().unwrap().len()
    });
    assert_eq!(orders, [2].into());
}

/// Starts a detached task, and counts its polls.
fn detached(polled: &Arc<Counter>) {
    let polled = Arc::clone(polled);
    block_on(async move {
        drop(future::spawn(async move {
            polled.fetch_add(1, SC);
        }));
    });
}

#[test]
fn a_detached_task_is_never_polled() {
    for strategy in ["portfolio", "dpor", "dfs"] {
        let (polled, runs) = (Arc::new(Counter::new(0)), Arc::new(Counter::new(0)));
        let (task, count) = (Arc::clone(&polled), Arc::clone(&runs));
        let config = Config::new().with_strategy(strategy).without_failure_files();
        let passed = check_with(&config, move || {
            count.fetch_add(1, SC);
            detached(&task);
        })
        .unwrap_or_else(|failed| panic!("{failed}"));
        assert!(passed.exhausted || strategy == "portfolio");
        let (polled, runs) = (polled.load(SC), runs.load(SC));
        assert!(0 < polled && polled < runs, "{strategy}: polled in {polled} of {runs} runs");
    }
    // A task that is awaited is polled in every run.
    clean(|| {
        let value = block_on(async { future::spawn(async { 7 }).await.unwrap() });
        assert_eq!(value, 7);
    });
}
