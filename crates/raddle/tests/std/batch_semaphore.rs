//! Shuttle's semaphore.

use raddle::future::{block_on, spawn, yield_now};
use raddle::shuttle::future::batch_semaphore::{AcquireError, BatchSemaphore, Fairness, TryAcquireError};
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::{Config, check_with, thread};
use std::task::{Context, Poll, Waker};

const BOTH: [Fairness; 2] = [Fairness::StrictlyFair, Fairness::Unfair];

/// Runs all schedules of `test`, for both kinds of semaphores.
fn check_all(test: impl Fn(Fairness) + Send + Sync + Copy + 'static) {
    for fairness in BOTH {
        let config = Config::new().with_strategy("dpor").with_runs(u64::MAX);
        let passed = check_with(&config, move || test(fairness)).unwrap_or_else(|failed| panic!("{failed}"));
        assert!(passed.exhausted, "{passed}");
    }
}

#[test]
fn no_more_permits_are_taken_than_there_are() {
    check_all(|fairness| {
        let semaphore = Arc::new(BatchSemaphore::new(2, fairness));
        let taken = Arc::new(AtomicUsize::new(0));
        let work = |permits: usize| {
            let (semaphore, taken) = (Arc::clone(&semaphore), Arc::clone(&taken));
            move || {
                semaphore.acquire_blocking(permits).unwrap();
                assert!(taken.fetch_add(permits, Ordering::SeqCst) + permits <= 2);
                taken.fetch_sub(permits, Ordering::SeqCst);
                semaphore.release(permits);
            }
        };
        let other = thread::spawn(work(2));
        work(1)();
        other.join().unwrap();
        assert_eq!(semaphore.available_permits(), 2);
    });
}

#[test]
fn who_waits_is_woken_when_there_are_enough() {
    check_all(|fairness| {
        let semaphore = Arc::new(BatchSemaphore::new(0, fairness));
        let other = Arc::clone(&semaphore);
        let waiter = thread::spawn(move || other.acquire_blocking(2));
        semaphore.release(1);
        semaphore.release(1);
        assert_eq!(waiter.join().unwrap(), Ok(()));
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn closing_refuses_those_who_wait_and_who_come() {
    check_all(|fairness| {
        let semaphore = Arc::new(BatchSemaphore::new(0, fairness));
        let other = Arc::clone(&semaphore);
        let waiter = thread::spawn(move || other.acquire_blocking(1));
        assert!(!semaphore.is_closed());
        semaphore.close();
        let refused: Result<(), AcquireError> = waiter.join().unwrap();
        assert_eq!(refused.unwrap_err().to_string(), "the semaphore is closed");
        assert_eq!(semaphore.try_acquire(0), Err(TryAcquireError::Closed));
        assert!(semaphore.is_closed());
    });
}

#[test]
fn only_an_unfair_one_lets_others_overtake() {
    check_all(|fairness| {
        let semaphore = BatchSemaphore::new(1, fairness);
        let mut context = Context::from_waker(Waker::noop());
        let mut first = std::pin::pin!(semaphore.acquire(2));
        assert_eq!(first.as_mut().poll(&mut context), Poll::Pending);
        match fairness {
            Fairness::StrictlyFair => {
                assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::NoPermits));
            }
            Fairness::Unfair => {
                assert_eq!(semaphore.try_acquire(1), Ok(()));
                semaphore.release(1);
            }
        }
        semaphore.release(1);
        assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::NoPermits));
    });
}

#[test]
fn a_waiter_that_gives_up_lets_the_next_one_go() {
    check_all(|fairness| {
        let semaphore = Arc::new(BatchSemaphore::new(1, fairness));
        let other = Arc::clone(&semaphore);
        let big = spawn(async move { other.acquire(2).await });
        let other = Arc::clone(&semaphore);
        let small = thread::spawn(move || other.acquire_blocking(1));
        block_on(yield_now());
        big.abort();
        assert_eq!(small.join().unwrap(), Ok(()));
    });
}
