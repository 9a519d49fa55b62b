//! Statics: their values at the start of a run, and several jobs or checks that use the same ones.

#[path = "common/recorded.rs"]
mod recorded;

use raddle::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, LazyLock, Mutex, OnceLock, RwLock};
use raddle::{Config, Failed, Passed, check_with, thread};
use std::ptr;
use std::sync::atomic::AtomicUsize as Count;

fn config(runs: u64, jobs: usize) -> Config {
    Config::new().with_strategy("random-walk").with_runs(runs).with_jobs(jobs).without_failure_files()
}

/// Returns the report of a check, without the name of the check.
fn report(outcome: Result<Passed, Box<Failed>>) -> String {
    match outcome {
        Ok(passed) => format!("{passed:?}"),
        Err(failed) => failed.to_string().replace(&recorded::trace(&failed).program, "test"),
    }
}

/// Adds to `counter` from two threads with a read and a write; returns true if no update was lost.
fn adds_up(counter: &'static AtomicUsize) -> bool {
    assert_eq!(counter.load(SeqCst), 0, "the run begins with the value of another run");
    let add = move || {
        let before = counter.load(SeqCst);
        counter.store(before + 1, SeqCst);
    };
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    counter.load(SeqCst) == 2
}

#[test]
fn an_atomic_begins_each_run_with_its_first_value() {
    static NUMBER: AtomicUsize = AtomicUsize::new(7);
    static POINTER: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
    let shared = Arc::new(AtomicUsize::new(3));
    let seen = shared.clone();
    let passed = check_with(&config(50, 1), move || {
        assert_eq!(NUMBER.fetch_add(1, SeqCst), 7);
        assert_eq!(NUMBER.load(SeqCst), 8);
        assert_eq!(seen.fetch_add(1, SeqCst), 3);
        assert!(POINTER.swap(ptr::dangling_mut(), SeqCst).is_null());
    });
    assert_eq!(passed.unwrap().runs, 50);
    let mut shared = Arc::try_unwrap(shared).unwrap();
    *shared.get_mut() = 5;
    let passed = check_with(&config(2, 1), {
        let shared = Arc::new(shared);
        move || assert_eq!(shared.fetch_add(1, SeqCst), 5, "what was written outside is the first value")
    });
    assert_eq!(passed.unwrap().runs, 2);
}

/// A non-null pointer may point to memory that an earlier run has freed.
#[test]
fn a_pointer_to_something_and_the_value_of_a_lock_are_kept() {
    static VALUES: [u8; 2] = [0, 1];
    let pointer = AtomicPtr::new(ptr::from_ref(&VALUES[0]).cast_mut());
    static LOCKED: Mutex<u64> = Mutex::new(0);
    let runs = Count::new(0);
    let passed = check_with(&config(50, 1), move || {
        let run = runs.fetch_add(1, SeqCst);
        let before = pointer.swap(ptr::from_ref(&VALUES[1]).cast_mut(), SeqCst);
        assert_eq!(before.cast_const(), ptr::from_ref(&VALUES[run.min(1)]));
        let mut value = LOCKED.lock().unwrap();
        assert_eq!(*value, run as u64);
        *value += 1;
    });
    assert_eq!(passed.unwrap().runs, 50);
}

#[test]
fn jobs_that_share_a_static_do_as_one() {
    static COUNTER: AtomicUsize = AtomicUsize::new(0);
    let check = |runs, jobs| report(check_with(&config(runs, jobs), || assert!(adds_up(&COUNTER), "lost")));
    let failed = check(4_000, 1);
    assert!(failed.contains("lost"), "{failed}");
    assert_eq!(check(4_000, 4), failed);
    let pass = |jobs| report(check_with(&config(4_000, jobs), || _ = adds_up(&COUNTER)));
    assert_eq!(pass(4), pass(1));
}

#[test]
fn jobs_that_share_locks_do_as_one() {
    static LOCKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static SHARED: RwLock<usize> = RwLock::new(0);
    static ONCE: OnceLock<usize> = OnceLock::new();
    static LAZY: LazyLock<Mutex<usize>> = LazyLock::new(|| Mutex::new(0));
    let test = || {
        LOCKED.lock().unwrap().clear();
        *SHARED.write().unwrap() = 0;
        let work = |number| {
            move || {
                LOCKED.lock().unwrap().push(number);
                ONCE.get_or_init(|| number);
                *LAZY.lock().unwrap() += 1;
                *SHARED.write().unwrap() += 1;
            }
        };
        let threads = [1, 2].map(|number| thread::spawn(work(number)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut order = LOCKED.lock().unwrap().clone();
        let first = *ONCE.get().unwrap();
        assert!(first == order[0] || first == order[1]);
        order.sort();
        assert_eq!(order, [1, 2]);
        assert_eq!(*SHARED.read().unwrap(), 2);
        assert_eq!(*LAZY.lock().unwrap(), 2);
    };
    let check = |jobs| report(check_with(&config(3_000, jobs), test));
    let alone = check(1);
    assert!(alone.contains("runs: 3000"), "{alone}");
    assert_eq!(check(4), alone);
}

/// Each of two checks uses both statics, one in the other order, so that they conflict sooner or later.
#[test]
fn checks_that_share_statics_queue() {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    static RIGHT: AtomicUsize = AtomicUsize::new(0);
    let check = |first: &'static AtomicUsize, second: &'static AtomicUsize| {
        move || {
            report(check_with(&config(5_000, 2), move || {
                let sums = (adds_up(first), adds_up(second));
                assert!(sums.0 || sums.1, "both lost");
            }))
        }
    };
    let [forth, back] = [check(&LEFT, &RIGHT), check(&RIGHT, &LEFT)];
    let alone = [forth(), back()];
    assert!(alone[0].contains("both lost"), "{}", alone[0]);
    for _ in 0..5 {
        let threads = [
            std::thread::Builder::new().name("checks_that_share_statics_queue".to_owned()).spawn(forth),
            std::thread::Builder::new().name("checks_that_share_statics_queue".to_owned()).spawn(back),
        ];
        let beside = threads.map(|thread| thread.unwrap().join().unwrap());
        assert_eq!(beside, alone);
    }
}

/// A discarded check drops its values; the other check must not see the effects of its destructors on a
/// static.
#[test]
fn destructors_of_a_discarded_run_are_invisible() {
    static FIRST: AtomicUsize = AtomicUsize::new(0);
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    static DROPPED: Mutex<usize> = Mutex::new(0);
    struct Noisy;
    impl Drop for Noisy {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
            *DROPPED.lock().unwrap_or_else(|error| error.into_inner()) += 1;
        }
    }
    let test = || {
        let _noisy = Noisy;
        FIRST.fetch_add(1, SeqCst);
        *DROPPED.lock().unwrap() = 0;
        let before = DROPS.load(SeqCst);
        let other = thread::spawn(|| drop(Noisy));
        drop(Noisy);
        other.join().unwrap();
        assert_eq!((before, DROPS.load(SeqCst)), (0, 2), "another check dropped it");
        assert_eq!(*DROPPED.lock().unwrap(), 2, "another check dropped it");
    };
    for _ in 0..5 {
        let threads =
            [(); 3].map(|()| std::thread::spawn(move || report(check_with(&config(2_000, 2), test))));
        let report = threads.map(|thread| thread.join().unwrap());
        assert!(report[0].contains("runs: 2000"), "{}", report[0]);
        assert!(report[1] == report[0] && report[2] == report[0], "{report:#?}");
    }
}
