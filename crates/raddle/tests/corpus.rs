//! The classic bugs of `benchmarks/corpus` as Rust tests: the default strategy finds each within 10,000 runs,
//! and the version without the bug passes.

#[path = "common/recorded.rs"]
mod recorded;

use raddle::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Config, FailureFile, ReplayError, check_with, thread, try_replay};
use recorded::trace;
use std::path::Path;

/// Checks a program with its bug (`false`) and without (`true`); the failure is of this kind. A failing run
/// is minimized: no failing run has fewer switches between threads than `fewest`, which follows from the
/// program.
#[track_caller]
fn check_both(name: &str, kind: &str, fewest: u64, program: fn(bool)) {
    let mut config = Config::default();
    config.runs = 10_000;
    config.failures = None;
    config.minimize = false;
    let failed = check_with(&config, move || program(false)).expect_err("the bug is found");
    assert_eq!(failed.failure.kind(), kind, "{failed}");
    config.runs = 2_000;
    if let Err(failed) = check_with(&config, move || program(true)) {
        panic!("there is no bug: {failed}");
    }
    let mut config = Config::new().with_runs(10_000).with_explain(false);
    // `benchmarks/minimize/run` reads these files.
    config.failures = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus").join(name));
    let small = check_with(&config, move || program(false)).expect_err("the bug is found");
    assert_eq!((small.failure.kind(), trace(&small).switches()), (kind, fewest), "{small}");
    let FailureFile::At(path) = &small.file else { panic!("{small}") };
    match try_replay(move || program(false), path) {
        Err(ReplayError::Failed(again)) => assert_eq!(trace(&again), trace(&small)),
        other => panic!("{other:?}"),
    }
}

/// Two setters and more; a checker sees only one of the writes.
fn reorder<const N: usize>(fixed: bool) {
    let shared = Arc::new((AtomicI32::new(0), AtomicI32::new(0), Mutex::new(())));
    let setter = |_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let _together = fixed.then(|| shared.2.lock().unwrap());
            shared.0.store(1, SeqCst);
            shared.1.store(-1, SeqCst);
        })
    };
    let setters: Vec<_> = (0..N - 1).map(setter).collect();
    let checker = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let _together = fixed.then(|| shared.2.lock().unwrap());
            let seen = (shared.0.load(SeqCst), shared.1.load(SeqCst));
            assert!(seen == (0, 0) || seen == (1, -1), "{seen:?}");
        })
    };
    setters.into_iter().chain([checker]).for_each(|thread| thread.join().unwrap());
}

#[test]
fn reorder_3() {
    // Main, a setter that does not reach its second write, the checker, the rest of both setters, main, which
    // sees the panic.
    check_both("reorder_3", "assertion", 5, reorder::<3>);
}

#[test]
fn reorder_20() {
    // The rest of 19 setters.
    check_both("reorder_20", "assertion", 22, reorder::<20>);
}

/// Two fields under two locks, written one after the other.
#[test]
fn twostage() {
    // Main starts the writer, which writes the first field, and reads both.
    check_both("twostage", "assertion", 2, |fixed| {
        let shared = Arc::new((Mutex::new(0), Mutex::new(0), Mutex::new(())));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let _together = fixed.then(|| shared.2.lock().unwrap());
                *shared.0.lock().unwrap() = 1;
                *shared.1.lock().unwrap() = 2;
            })
        };
        {
            let _together = fixed.then(|| shared.2.lock().unwrap());
            let first = *shared.0.lock().unwrap();
            assert!(first == 0 || *shared.1.lock().unwrap() == 2);
        }
        writer.join().unwrap();
    });
}

/// Two locks in opposite order.
#[test]
fn deadlock01() {
    // Main takes one lock, the other thread the other; neither continues.
    check_both("deadlock01", "deadlock", 1, |fixed| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = {
            let locks = Arc::clone(&locks);
            thread::spawn(move || {
                let (first, second) = if fixed { (&locks.0, &locks.1) } else { (&locks.1, &locks.0) };
                *first.lock().unwrap() += *second.lock().unwrap();
            })
        };
        *locks.0.lock().unwrap() += *locks.1.lock().unwrap();
        other.join().unwrap();
    });
}

/// A signal between the test and the wait.
#[test]
fn lost_wakeup() {
    // The waiter tests between the start and the signal of main, and waits after it.
    check_both("lost_wakeup", "deadlock", 3, |fixed| {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut guard = shared.1.lock().unwrap();
                while !shared.0.load(SeqCst) {
                    guard = shared.2.wait(guard).unwrap();
                }
            })
        };
        {
            let _guard = fixed.then(|| shared.1.lock().unwrap());
            shared.0.store(true, SeqCst);
            shared.2.notify_one();
        }
        waiter.join().unwrap();
    });
}

/// A worker tests a flag and only then announces that it is working.
#[test]
fn bluetooth_driver() {
    // The worker tests between the start and the stop of main, and continues after it. Main sees the panic.
    check_both("bluetooth_driver", "assertion", 4, |fixed| {
        let driver = Arc::new((AtomicBool::new(false), AtomicUsize::new(1), AtomicBool::new(false)));
        let leave = |driver: &(AtomicBool, AtomicUsize, AtomicBool)| driver.1.fetch_sub(1, SeqCst) == 1;
        let worker = {
            let driver = Arc::clone(&driver);
            thread::spawn(move || {
                let (stopping, pending, stopped) = &*driver;
                if fixed {
                    pending.fetch_add(1, SeqCst);
                    if stopping.load(SeqCst) {
                        leave(&driver);
                        return;
                    }
                } else {
                    if stopping.load(SeqCst) {
                        return;
                    }
                    pending.fetch_add(1, SeqCst);
                }
                assert!(!stopped.load(SeqCst), "the driver was stopped under the worker");
                leave(&driver);
            })
        };
        driver.0.store(true, SeqCst);
        if leave(&driver) {
            driver.2.store(true, SeqCst);
        }
        worker.join().unwrap();
    });
}

/// A work-stealing queue whose owner takes the last item without compare-and-exchange.
#[test]
fn interlocked_work_steal_queue() {
    struct Queue {
        fixed: bool,
        head: AtomicUsize,
        tail: AtomicUsize,
        taken: [AtomicUsize; 2],
    }
    impl Queue {
        fn take(&self, item: usize) {
            assert_eq!(self.taken[item].fetch_add(1, SeqCst), 0, "an item was taken twice");
        }

        fn pop(&self) {
            let Some(last) = self.tail.load(SeqCst).checked_sub(1) else { return };
            self.tail.store(last, SeqCst);
            let first = self.head.load(SeqCst);
            if first < last {
                return self.take(last);
            }
            if first == last {
                if !self.fixed {
                    self.take(last);
                    self.head.store(first + 1, SeqCst);
                } else if self.head.compare_exchange(first, first + 1, SeqCst, SeqCst).is_ok() {
                    self.take(last);
                }
            }
            self.tail.store(last + 1, SeqCst);
        }

        fn steal(&self) {
            let first = self.head.load(SeqCst);
            let some = first < self.tail.load(SeqCst);
            if some && self.head.compare_exchange(first, first + 1, SeqCst, SeqCst).is_ok() {
                self.take(first);
            }
        }
    }
    // The thief reads the tail before main moves it, and takes the item after main has read the head. Main
    // sees the panic.
    check_both("interlocked_work_steal_queue", "assertion", 4, |fixed| {
        let queue = Arc::new(Queue {
            fixed,
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(2),
            taken: Default::default(),
        });
        let thief = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..2).for_each(|_| queue.steal()))
        };
        queue.pop();
        queue.pop();
        thief.join().unwrap();
    });
}

/// UPO identifies states only by the partial orders that led to them, because it has no information about
/// thread states.
#[test]
fn upo_sees_every_partial_order() {
    let explored = |strategy: &str, runs| {
        let mut config = Config::default();
        config.strategy = strategy.to_owned();
        config.runs = runs;
        let passed = check_with(&config, || {
            let shared = Arc::new((AtomicI32::new(0), AtomicI32::new(0)));
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                other.0.store(other.1.load(SeqCst) + 1, SeqCst);
                other.1.fetch_add(other.0.load(SeqCst), SeqCst);
            });
            shared.1.store(shared.0.load(SeqCst) + 1, SeqCst);
            shared.0.fetch_add(shared.1.load(SeqCst), SeqCst);
            thread.join().unwrap();
        });
        passed.unwrap_or_else(|failed| panic!("{failed}"))
    };
    let all = explored("dpor", 10_000).partial_orders;
    assert!(all > 10, "{all}");
    let upo = explored("upo", 10 * all as u64);
    assert_eq!((upo.partial_orders, upo.estimate), (all, Some(all as f64)));
}
