//! Destructors that run after the end of a run: they never abort the process, hang, or hit an assertion of Raddle's own.

mod common;

use common::{failure, outcomes};
use raddle::sync::atomic::AtomicBool;
use raddle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use raddle::{Config, check_with, future, thread};
use raddle_model::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Duration;

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// One test at a time: for a moment the panic hook is not Raddle's.
static ALONE: StdMutex<()> = StdMutex::new(());

/// The message of the failure in every test.
const MESSAGE: &str = "the failure of the run";

/// Starts a thread that has not ended when the run fails, and calls `action` when it is then unwound.
fn fails_before_a_destructor(action: impl FnMut() + Send + 'static) {
    let (started, start) = mpsc::channel();
    thread::spawn(move || {
        let _on_drop = OnDrop(action);
        started.send(()).unwrap();
        thread::park();
    });
    start.recv().unwrap();
    panic!("{MESSAGE}");
}

/// Checks that the failure is found and reported though a destructor calls `action` after it.
#[track_caller]
fn survives(action: fn()) {
    survives_with(move || fails_before_a_destructor(action));
}

#[track_caller]
fn survives_with(test: impl Fn() + Send + Sync + 'static) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = failure(test);
    assert!(matches!(&found, Failure::Assertion { message, .. } if message == MESSAGE), "{found:?}");
    assert!(!std::thread::panicking(), "no panic is left behind");
    let caught = catch_unwind(|| panic!("a later panic"));
    assert!(caught.is_err(), "later panics can be caught");
    // Waits forever if a hook has not returned.
    let hook = std::panic::take_hook();
    std::panic::set_hook(hook);
}

#[test]
fn a_destructor_that_panics_does_not_abort() {
    survives(|| panic!("in a destructor"));
}

#[test]
fn a_second_panic_while_the_test_unwinds_is_reported() {
    survives_with(|| {
        let _on_drop = OnDrop(|| panic!("in a destructor"));
        panic!("{MESSAGE}");
    });
    survives_with(|| {
        let failing = thread::spawn(|| {
            let _on_drop = OnDrop(|| panic!("in a destructor"));
            panic!("{MESSAGE}");
        });
        _ = failing.join();
    });
}

#[test]
fn a_destructor_of_a_task_that_panics_does_not_abort() {
    survives_with(|| {
        let started = Arc::new(AtomicBool::new(false));
        let start = started.clone();
        drop(future::spawn(async move {
            let _on_drop = OnDrop(|| panic!("in a destructor"));
            start.store(true, SeqCst);
            std::future::pending::<()>().await;
        }));
        if started.load(SeqCst) {
            panic!("{MESSAGE}");
        }
    });
}

#[test]
fn a_function_that_never_ran_and_panics_when_dropped_does_not_abort() {
    survives_with(|| {
        let bomb = OnDrop(|| panic!("in a destructor"));
        thread::spawn(move || std::mem::forget(bomb));
        panic!("{MESSAGE}");
    });
}

#[test]
fn destructors_after_one_that_panicked_run() {
    static DROPPED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    survives_with(|| {
        DROPPED.store(0, SeqCst);
        let (started, start) = mpsc::channel();
        for panics in [false, true, false] {
            let started = started.clone();
            thread::spawn(move || {
                let _on_drop = OnDrop(move || {
                    DROPPED.fetch_add(1, SeqCst);
                    assert!(!panics, "in a destructor");
                });
                started.send(()).unwrap();
                thread::park();
            });
            start.recv().unwrap();
        }
        panic!("{MESSAGE}");
    });
    assert_eq!(DROPPED.load(SeqCst), 3);
}

#[test]
fn a_destructor_that_spins_does_not_hang() {
    survives(|| {
        let never = AtomicBool::new(false);
        while !never.load(SeqCst) {
            thread::yield_now();
        }
    });
}

#[test]
fn a_destructor_that_waits_for_its_own_lock_does_not_hang() {
    survives(|| {
        let mutex = Mutex::new(0);
        let _first = mutex.lock();
        drop(mutex.lock());
    });
    survives(|| {
        let lock = RwLock::new(0);
        let _first = lock.write();
        drop(lock.read());
    });
}

#[test]
fn a_destructor_that_waits_for_a_condition_does_not_hang() {
    survives(|| {
        let (mutex, condition) = (Mutex::new(false), Condvar::new());
        let guard = mutex.lock().unwrap();
        drop(condition.wait_while(guard, |set| !*set));
    });
}

#[test]
fn a_destructor_that_waits_with_a_timeout_sees_it_pass() {
    static TIMED_OUT: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    survives(|| {
        let (mutex, condition) = (Mutex::new(false), Condvar::new());
        let guard = mutex.lock().unwrap();
        let (_guard, result) =
            condition.wait_timeout_while(guard, Duration::from_secs(1), |set| !*set).unwrap();
        TIMED_OUT.store(result.timed_out(), SeqCst);
    });
    assert!(TIMED_OUT.load(SeqCst));
}

#[test]
fn a_destructor_that_receives_in_vain_does_not_hang() {
    survives(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        _ = receiver.recv();
        drop(sender);
    });
}

#[test]
fn a_destructor_that_waits_for_a_future_does_not_hang() {
    survives(|| future::block_on(std::future::pending::<()>()));
}

#[test]
fn a_thread_that_catches_its_end_is_ended_again() {
    survives_with(|| {
        let (started, start) = mpsc::channel();
        thread::spawn(move || {
            loop {
                _ = catch_unwind(AssertUnwindSafe(|| {
                    started.send(()).unwrap();
                    thread::park();
                }));
            }
        });
        start.recv().unwrap();
        panic!("{MESSAGE}");
    });
}

#[test]
fn a_destructor_uses_channels_as_in_a_run() {
    static SEEN: StdMutex<Vec<Option<u32>>> = StdMutex::new(Vec::new());
    survives(|| {
        let (sender, receiver) = mpsc::channel();
        let first = receiver.try_recv().ok();
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        let mut seen = SEEN.lock().unwrap();
        *seen = vec![first, receiver.recv().ok(), receiver.try_recv().ok()];
        drop(receiver);
        seen.push(sender.send(3).err().map(|error| error.0));
        let (sender, receiver) = mpsc::sync_channel(1);
        seen.push(sender.try_send(4).err().map(|_| 4));
        seen.push(sender.try_send(5).err().map(|_| 5));
        seen.push(receiver.recv().ok());
        assert!(Barrier::new(1).wait().is_leader());
    });
    assert_eq!(*SEEN.lock().unwrap(), [None, Some(1), Some(2), Some(3), None, Some(5), Some(4)]);
}

/// The run ends while a thread waits in a receive inside a destructor, during its own unwinding.
#[test]
fn a_receive_of_a_thread_that_unwinds_is_not_answered_for_another() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = Config::new().with_strategy("random-walk").with_runs(500).without_failure_files();
    let failed = check_with(&config, || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let thread = thread::spawn(move || {
            let _on_drop = OnDrop(move || {
                drop(other.lock());
                assert!(receiver.try_recv().is_err() || receiver.try_recv().is_err());
            });
            panic!("of the thread");
        });
        let flag = AtomicBool::new(false);
        for _ in 0..3 {
            drop(mutex.lock());
            flag.store(true, SeqCst);
        }
        drop(sender);
        assert!(thread.is_finished(), "{MESSAGE}");
        _ = thread.join();
    });
    let raddle::Failure::Assertion { message, .. } = failed.expect_err("some run fails").failure else {
        panic!("another failure");
    };
    assert_eq!(message, MESSAGE);
}

/// Starts a thread when dropped, which would drop another one.
struct Respawns;

impl Drop for Respawns {
    fn drop(&mut self) {
        let next = Respawns;
        thread::spawn(move || drop(next));
    }
}

#[test]
fn a_destructor_that_starts_threads_without_end_does_not_overflow_the_stack() {
    survives(|| drop(Respawns));
}

#[test]
fn a_passed_run_with_a_task_whose_destructor_panics_passes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = outcomes(|| {
        drop(future::spawn(async {
            let _on_drop = OnDrop(|| panic!("in a destructor"));
            std::future::pending::<()>().await;
        }));
        1
    });
    assert_eq!(seen, [1].into());
}
