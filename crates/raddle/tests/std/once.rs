//! `Once`, `OnceLock` and `LazyLock`: single execution, and std's contract.

use crate::common::{failure, outcomes};
use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, LazyLock, Once, OnceLock};
use raddle::thread;
use raddle_model::{BlockReason, Failure};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_once_is_run_once_and_over_when_anybody_goes_on() {
    let seen = outcomes(|| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
        let call = |shared: &(Once, AtomicUsize)| {
            let mut mine = false;
            shared.0.call_once(|| {
                mine = true;
                shared.1.fetch_add(1, Ordering::SeqCst);
                shared.1.fetch_add(1, Ordering::SeqCst);
            });
            assert_eq!(shared.1.load(Ordering::SeqCst), 2, "it was run once, to its end");
            assert!(shared.0.is_completed());
            mine
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || call(&other));
        let early = shared.0.is_completed();
        let mine = call(&shared);
        assert_ne!(thread.join().unwrap(), mine);
        (early, mine)
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (false, true), (true, false)]));
}

#[test]
fn a_panic_poisons_a_once_until_it_is_forced() {
    let seen = outcomes(|| {
        let once = Arc::new(Once::new());
        let other = Arc::clone(&once);
        let panics = thread::spawn(move || other.call_once(|| panic!("in the initialisation")));
        let mut state = "over";
        once.call_once_force(|known| state = if known.is_poisoned() { "poisoned" } else { "new" });
        assert!(panics.join().is_err() == (state == "poisoned"), "{state}");
        assert!(once.is_completed());
        once.call_once(|| unreachable!("it is over"));
        state
    });
    assert_eq!(seen, BTreeSet::from(["new", "poisoned"]));
    outcomes(|| {
        let once = Once::new();
        for _ in 0..2 {
            let call = || once.call_once(|| panic!("in the initialisation"));
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
            assert!(!once.is_completed());
        }
        let message = catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"Once instance has previously been poisoned"));
    });
}

#[test]
fn an_initialisation_that_waits_for_itself_is_a_deadlock() {
    let failure = failure(|| {
        let once = Once::new();
        once.call_once(|| once.call_once(|| ()));
    });
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(blocked[0].reason, BlockReason::Once);
}

#[test]
fn one_thread_sets_a_once_lock_and_all_see_its_value() {
    let seen = outcomes(|| {
        let shared = Arc::new((OnceLock::new(), AtomicUsize::new(0)));
        let get = |shared: &(OnceLock<usize>, AtomicUsize), value| {
            let made = || value + shared.1.fetch_add(1, Ordering::SeqCst);
            *shared.0.get_or_init(made)
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || get(&other, 10));
        let early = shared.0.get().copied();
        let mine = get(&shared, 20);
        assert_eq!(thread.join().unwrap(), mine);
        assert_eq!(shared.0.set(30), Err(30));
        (early, mine)
    });
    assert_eq!(seen, BTreeSet::from([(None, 10), (None, 20), (Some(10), 10)]));
}

#[test]
fn the_rest_of_the_api_of_a_once_lock() {
    outcomes(|| {
        let mut lock = OnceLock::new();
        assert_eq!(format!("{lock:?}"), "OnceLock(<uninit>)");
        let panics = catch_unwind(AssertUnwindSafe(|| *lock.get_or_init(|| panic!("no value"))));
        assert!(panics.is_err() && lock.get().is_none(), "a panic leaves it empty");
        assert_eq!(lock.set(1), Ok(()));
        *lock.get_mut().unwrap() += 1;
        assert_eq!((format!("{lock:?}"), lock.clone() == lock), ("OnceLock(2)".to_owned(), true));
        assert_eq!((lock.take(), lock.take()), (Some(2), None));
        assert_eq!(lock.set(3), Ok(()));
        assert_eq!(lock.into_inner(), Some(3));
        assert_eq!(OnceLock::from(4).get(), Some(&4));
    });
}

static MADE: AtomicUsize = AtomicUsize::new(0);
static LAZY: LazyLock<usize> = LazyLock::new(|| MADE.fetch_add(1, Ordering::SeqCst));
static SET: OnceLock<usize> = OnceLock::new();

#[test]
fn a_static_is_made_once_in_each_run() {
    let seen = outcomes(|| {
        let before = MADE.load(Ordering::SeqCst);
        let thread = thread::spawn(|| *LAZY);
        let mine = *LAZY;
        assert_eq!((mine, thread.join().unwrap(), *LazyLock::force(&LAZY)), (before, before, before));
        let thread = thread::spawn(|| SET.set(1).is_ok());
        assert_ne!(SET.set(2).is_ok(), thread.join().unwrap());
        *SET.get().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn a_lazy_value_whose_closure_panics_stays_poisoned() {
    outcomes(|| {
        let lazy: LazyLock<u8> = LazyLock::new(|| panic!("no value"));
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
        }
        // A closure that can be called once and not be cloned suffices.
        struct NotClone(&'static str);
        let text = NotClone("moved");
        let lazy = LazyLock::new(move || drop_and_report(text));
        fn drop_and_report(NotClone(text): NotClone) -> String {
            text.to_owned()
        }
        assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
        assert_eq!(*lazy, "moved");
        assert_eq!(*LazyLock::<u8>::default(), 0);
    });
}

#[test]
fn the_rest_of_the_api_of_a_lazy_lock() {
    outcomes(|| {
        let mut lazy: LazyLock<u8> = LazyLock::new(|| 1);
        assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none());
        *lazy += 1;
        assert_eq!(LazyLock::get(&lazy), Some(&2));
        assert_eq!(LazyLock::get_mut(&mut lazy), Some(&mut 2));
        *LazyLock::force_mut(&mut lazy) += 1;
        assert_eq!(*lazy, 3);
    });
    let seen = outcomes(|| {
        let lazy = Arc::new(LazyLock::new(|| 1));
        let other = Arc::clone(&lazy);
        let thread = thread::spawn(move || **other);
        let early = LazyLock::get(&*lazy).copied();
        assert_eq!(thread.join().unwrap(), 1);
        early
    });
    assert_eq!(seen, BTreeSet::from([None, Some(1)]));
}

#[test]
fn a_closure_that_outlives_its_run_is_refused() {
    let lazy = Arc::new(LazyLock::new(|| 1));
    let failed =
        raddle::check_with(&raddle::Config::new().with_runs(2), move || assert_eq!(**lazy, 1)).unwrap_err();
    assert_eq!(failed.number, Some(1), "the first run is fine");
    let raddle::Failure::Assertion { message, .. } = &failed.failure else { panic!("{failed}") };
    assert!(message.starts_with("a LazyLock with a closure was used in an earlier run"), "{message}");
}

#[test]
fn waiting_for_a_once_ends_with_its_initialisation() {
    let seen = outcomes(|| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let before = other.1.load(Ordering::SeqCst);
            other.0.call_once(|| {
                other.1.fetch_add(1, Ordering::SeqCst);
                other.1.fetch_add(1, Ordering::SeqCst);
            });
            before
        });
        shared.0.wait();
        assert_eq!(shared.1.load(Ordering::SeqCst), 2, "it is over");
        shared.0.wait_force();
        thread.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([0]));
}

#[test]
fn waiting_for_a_once_that_never_runs_is_a_deadlock() {
    let failure = failure(|| Once::new().wait());
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(blocked[0].reason, BlockReason::Once);
}

#[test]
fn waiting_for_a_once_panics_where_an_attempt_has_unless_it_is_forced() {
    let seen = outcomes(|| {
        let once = Arc::new(Once::new());
        let (first, second, waits) = (Arc::clone(&once), Arc::clone(&once), Arc::clone(&once));
        let waits = thread::spawn(move || catch_unwind(AssertUnwindSafe(|| waits.wait())).is_ok());
        let panics = thread::spawn(move || {
            assert!(catch_unwind(AssertUnwindSafe(|| first.call_once(|| panic!("first attempt")))).is_err());
            second.call_once_force(|_| ());
        });
        once.wait_force();
        assert!(once.is_completed(), "one that is forced waits for the second attempt");
        panics.join().unwrap();
        waits.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn waiting_for_a_once_lock_gives_the_value() {
    outcomes(|| {
        let lock = Arc::new(OnceLock::new());
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || other.set(7).unwrap());
        assert_eq!(*lock.wait(), 7);
        thread.join().unwrap();
    });
    let failure = failure(|| _ = OnceLock::<u8>::new().wait());
    assert!(matches!(failure, Failure::Deadlock { .. }), "{failure:?}");
}
