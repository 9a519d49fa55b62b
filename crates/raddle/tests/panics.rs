//! Threads that panic, while others do or while the run ends.

mod common;

use common::{failure, outcomes};
use raddle::loom::sync::Notify;
use raddle::sync::atomic::AtomicBool;
use raddle::sync::{Arc, Mutex, TryLockError};
use raddle::{Config, check_with, future, shuttle, thread};
use raddle_model::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Returns the message of the first failing run of `test`.
fn message(test: impl Fn() + Send + Sync + 'static) -> String {
    let config = Config::new().with_strategy("random-walk").with_runs(500).without_failure_files();
    match check_with(&config, test).expect_err("some run fails").failure {
        raddle::Failure::Assertion { message, .. } => message,
        other => panic!("another failure: {other:?}"),
    }
}

/// Fails if the lock is held by a thread that is about to release it while it unwinds.
fn fail_if_held(mutex: &Mutex<u32>) {
    assert!(!matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)), "held");
}

#[test]
fn two_threads_that_unwind_at_once_both_poison() {
    let seen = outcomes(|| {
        let mutexes = [(); 2].map(|()| Arc::new(Mutex::new(0)));
        let threads = mutexes.clone().map(|mutex| {
            thread::spawn(move || {
                let _guard = mutex.lock().unwrap();
                panic!("with the lock");
            })
        });
        let joined = threads.map(|thread| thread.join().is_err());
        (joined, mutexes.map(|mutex| mutex.is_poisoned()))
    });
    assert_eq!(seen, [([true, true], [true, true])].into());
}

#[test]
fn a_thread_beside_one_that_unwinds_does_not_poison() {
    let seen = outcomes(|| {
        let mutexes = [(); 2].map(|()| Arc::new(Mutex::new(0)));
        let [bad, good] = mutexes.clone();
        let unwinding = thread::spawn(move || {
            let _guard = bad.lock().unwrap();
            panic!("with the lock");
        });
        let other = thread::spawn(move || {
            drop(good.lock().unwrap());
            let panicking = thread::panicking();
            drop(good.lock().unwrap());
            panicking
        });
        _ = unwinding.join();
        (other.join().unwrap(), mutexes.map(|mutex| mutex.is_poisoned()))
    });
    assert_eq!(seen, [(false, [true, false])].into());
}

#[test]
fn a_run_ends_while_a_thread_unwinds() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Noisy;
    impl Drop for Noisy {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    let failure = failure(|| {
        DROPPED.store(0, SeqCst);
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let thread = thread::spawn(move || {
            let _noisy = Noisy;
            let _guard = other.lock().unwrap();
            panic!("first");
        });
        thread::yield_now();
        fail_if_held(&mutex);
        _ = thread.join();
    });
    assert!(matches!(failure, Failure::Assertion { message, .. } if message == "held"));
    assert_eq!(DROPPED.load(SeqCst), 1, "the thread is unwound to its end");
}

/// The operations of a thread that has caught its panic have no effect, and must not continue forever.
#[test]
fn a_thread_that_catches_after_the_end_is_stopped() {
    let text = message(|| {
        let (mutex, go_on) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
        let (other, may_go_on) = (mutex.clone(), go_on.clone());
        let thread = thread::spawn(move || {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _guard = other.lock().unwrap();
                panic!("first");
            }));
            assert!(caught.is_err());
            while !may_go_on.load(SeqCst) {
                thread::yield_now();
            }
        });
        thread::yield_now();
        fail_if_held(&mutex);
        go_on.store(true, SeqCst);
        thread.join().unwrap();
    });
    assert_eq!(text, "held");
}

/// A destructor on a scoped thread waits for a lock that the thread around the scope holds.
#[test]
fn a_scope_ends_though_a_destructor_waits_for_the_thread_around_it() {
    // In all runs: some end before the thread has begun.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Locks<'a>(&'a Mutex<u32>);
    impl Drop for Locks<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    let failure = failure(|| {
        let mutex = Mutex::new(0);
        let never = Notify::new();
        thread::scope(|scope| {
            let _guard = mutex.lock().unwrap();
            let waiting = scope.spawn(|| {
                let _locks = Locks(&mutex);
                MADE.fetch_add(1, SeqCst);
                // Unlike `park`, it does not return spuriously.
                never.wait();
            });
            _ = waiting.join();
        });
    });
    assert!(matches!(failure, Failure::Deadlock { .. }));
    assert!(MADE.load(SeqCst) > 0 && DROPPED.load(SeqCst) == MADE.load(SeqCst));
}

/// The number of panics in all runs.
type Count = std::sync::Arc<AtomicUsize>;

/// Checks that exactly the runs in which `test` panics fail. `check` runs it once with a seed, and returns
/// true if it failed.
#[track_caller]
fn fails_whenever_it_panics(test: fn(Count), check: fn(u64, Box<dyn Fn() + Send + Sync>) -> bool) {
    let panics = Count::default();
    let failures = (0..200).filter(|&seed| {
        let (before, count) = (panics.load(SeqCst), panics.clone());
        let failed = check(seed, Box::new(move || test(count.clone())));
        assert_eq!(panics.load(SeqCst) - before, usize::from(failed), "seed {seed}");
        assert!(!std::thread::panicking(), "no panic is left behind");
        failed
    });
    // A task may be dropped before it panics.
    assert!(failures.count() > 20);
}

fn once(seed: u64, test: Box<dyn Fn() + Send + Sync>) -> bool {
    let config = Config::new().with_strategy("random-walk").with_runs(1).with_seed(seed);
    let config = config.with_minimize(false).with_explain(false).without_failure_files();
    check_with(&config, test).is_err()
}

fn once_as_shuttle(seed: u64, test: Box<dyn Fn() + Send + Sync>) -> bool {
    catch_unwind(AssertUnwindSafe(|| shuttle::check_random_with_seed(test, seed, 1))).is_err()
}

/// Panics with a lock held: its release is a step in the middle of the unwinding.
fn panic_with_a_lock(panics: &Count) {
    let mutex = Mutex::new(0);
    let _guard = mutex.lock().unwrap();
    panics.fetch_add(1, SeqCst);
    panic!("detached");
}

fn detached_thread(panics: Count) {
    drop(thread::spawn(move || panic_with_a_lock(&panics)));
    (0..3).for_each(|_| thread::yield_now());
}

fn detached_task(panics: Count) {
    drop(future::spawn(async move { panic_with_a_lock(&panics) }));
    (0..3).for_each(|_| thread::yield_now());
}

#[test]
fn a_panic_of_a_detached_thread_is_not_lost() {
    fails_whenever_it_panics(detached_thread, once);
    fails_whenever_it_panics(detached_thread, once_as_shuttle);
}

#[test]
fn a_panic_of_a_detached_task_is_not_lost() {
    fails_whenever_it_panics(detached_task, once);
}

#[test]
fn a_panic_of_a_detached_task_of_shuttle_is_not_lost() {
    fails_whenever_it_panics(detached_task, once_as_shuttle);
}
