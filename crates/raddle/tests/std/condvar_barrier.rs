//! `Condvar` and `Barrier`: which threads wait, and std's contract.

use crate::common::{failure, outcomes};
use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, Barrier, Condvar, Mutex};
use raddle::thread;
use raddle_model::{BlockReason, Failure};
use std::collections::BTreeSet;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn no_signal_is_lost_between_the_check_and_the_wait() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let setter = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut waits = 0;
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
            waits += 1;
        }
        drop(ready);
        setter.join().unwrap();
        waits
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_signal_that_comes_before_the_wait_is_lost() {
    let failure = failure(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&pair);
        let setter = thread::spawn(move || other.1.notify_one());
        drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
        setter.join().unwrap();
    });
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(blocked[0].reason, BlockReason::Condition);
}

/// Lets two threads wait, and returns which of them `notify` wakes; a long timed wait detects those it does
/// not.
fn woken(notify: fn(&Condvar)) -> BTreeSet<[bool; 2]> {
    outcomes(move || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let waiters = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut waiting = shared.0.lock().unwrap();
                *waiting += 1;
                let (guard, result) = shared.1.wait_timeout(waiting, LONG).unwrap();
                drop(guard);
                !result.timed_out()
            })
        });
        let waiting = shared.0.lock().unwrap();
        let both = *waiting == 2;
        notify(&shared.1);
        drop(waiting);
        let woken = waiters.map(|waiter| waiter.join().unwrap());
        // A waiter that comes too late is covered by another test.
        if both { woken } else { [true, true] }
    })
}

#[test]
fn a_notification_wakes_one_waiter_or_all() {
    assert_eq!(woken(Condvar::notify_one), BTreeSet::from([[false, true], [true, false], [true, true]]));
    assert_eq!(woken(Condvar::notify_all), BTreeSet::from([[true, true]]));
}

#[test]
fn a_wait_for_a_condition_ends_when_it_holds_or_time_is_over() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&pair);
        let adder = thread::spawn(move || {
            for _ in 0..2 {
                *other.0.lock().unwrap() += 1;
                other.1.notify_all();
            }
        });
        let value = pair.1.wait_while(pair.0.lock().unwrap(), |value| *value < 2).unwrap();
        assert_eq!(*value, 2);
        drop(value);
        adder.join().unwrap();
        let (value, result) =
            pair.1.wait_timeout_while(pair.0.lock().unwrap(), LONG, |value| *value < 3).unwrap();
        let never = (*value, result.timed_out());
        drop(value);
        let (value, result) =
            pair.1.wait_timeout_while(pair.0.lock().unwrap(), LONG, |value| *value < 2).unwrap();
        (never, (*value, result.timed_out()))
    });
    assert_eq!(seen, BTreeSet::from([((2, true), (2, false))]));
}

#[test]
fn signals_do_not_make_a_timed_wait_longer() {
    outcomes(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let pokes = thread::spawn(move || {
            let own = (Mutex::new(()), Condvar::new());
            let pause = |time| drop(own.1.wait_timeout(own.0.lock().unwrap(), time).unwrap());
            pause(LONG / 2);
            other.1.notify_all();
            pause(LONG / 4 * 3);
            other.2.load(Ordering::SeqCst)
        });
        let (guard, result) = shared.1.wait_timeout_while(shared.0.lock().unwrap(), LONG, |()| true).unwrap();
        assert!(result.timed_out());
        shared.2.fetch_add(1, Ordering::SeqCst);
        drop(guard);
        assert_eq!(pokes.join().unwrap(), 1, "an hour is over before an hour and a quarter");
    });
}

#[test]
fn a_wait_gives_the_poison_back() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let panics = thread::spawn(move || {
            let mut done = other.0.lock().unwrap();
            *done = true;
            other.1.notify_all();
            panic!("with the guard");
        });
        let poisoned = match pair.0.lock() {
            Ok(guard) => pair.1.wait(guard).is_err(),
            Err(error) => {
                drop(error);
                assert!(panics.join().is_err());
                return "poisoned before";
            }
        };
        assert!(panics.join().is_err());
        if poisoned { "poisoned in the wait" } else { "sound" }
    });
    assert_eq!(seen, BTreeSet::from(["poisoned before", "poisoned in the wait"]));
}

#[test]
fn a_barrier_blocks_until_all_arrive_and_has_one_leader() {
    let seen = outcomes(|| {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let pass = |shared: &(Barrier, AtomicUsize)| {
            let mut led = [false; 2];
            for (round, led) in led.iter_mut().enumerate() {
                shared.1.fetch_add(1, Ordering::SeqCst);
                *led = shared.0.wait().is_leader();
                assert!(shared.1.load(Ordering::SeqCst) >= 2 * (round + 1), "both have arrived");
            }
            led
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || pass(&other));
        let mine = pass(&shared);
        let other = thread.join().unwrap();
        assert!(mine[0] != other[0] && mine[1] != other[1], "one leader a round");
        mine
    });
    assert_eq!(seen.len(), 4, "each can be the leader in each round");
}

#[test]
fn a_barrier_for_none_or_one_is_open_and_one_for_more_waits_for_ever() {
    outcomes(|| {
        assert!(Barrier::new(0).wait().is_leader());
        let barrier = Barrier::new(1);
        assert!(barrier.wait().is_leader() && barrier.wait().is_leader());
    });
    let failure = failure(|| assert!(Barrier::new(2).wait().is_leader()));
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(blocked[0].reason, BlockReason::Barrier);
}

#[test]
#[expect(deprecated, reason = "the old name is there for old code")]
fn the_old_timed_wait_returns_whether_it_was_in_time() {
    let seen = outcomes(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.1.notify_one());
        let (guard, in_time) = shared.1.wait_timeout_ms(shared.0.lock().unwrap(), 5).unwrap();
        drop(guard);
        thread.join().unwrap();
        in_time
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}
