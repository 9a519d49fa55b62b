//! `Mutex` and `RwLock`: what they exclude, and std's contract.

use crate::common::{failure, outcomes};
use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex, RwLock, RwLockWriteGuard, TryLockError};
use raddle::thread;
use raddle_model::{BlockReason, Failure};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_mutex_lets_one_thread_in_at_a_time() {
    let seen = outcomes(|| {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let section = |shared: &(Mutex<usize>, AtomicUsize)| {
            let mut value = shared.0.lock().unwrap();
            assert_eq!(shared.1.fetch_add(1, Ordering::SeqCst), 0, "no other thread is inside");
            *value += 1;
            shared.1.fetch_add(usize::MAX, Ordering::SeqCst);
        };
        let threads = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || section(&shared))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        *shared.0.lock().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([2]));
}

#[test]
fn try_lock_fails_exactly_while_another_thread_has_the_mutex() {
    let seen = outcomes(|| {
        let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let holder = thread::spawn(move || {
            let _guard = other.0.lock().unwrap();
            other.1.fetch_add(1, Ordering::SeqCst);
        });
        let got = match shared.0.try_lock() {
            Ok(_guard) => Some(shared.1.load(Ordering::SeqCst)),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => unreachable!("no thread panics"),
        };
        holder.join().unwrap();
        got
    });
    assert_eq!(seen, BTreeSet::from([None, Some(0), Some(1)]));
}

#[test]
fn a_panic_with_the_guard_poisons_and_clearing_ends_that() {
    let seen = outcomes(|| {
        let mutex = Arc::new(Mutex::new(1));
        let other = Arc::clone(&mutex);
        let panics = thread::spawn(move || {
            let mut guard = other.lock().unwrap();
            *guard = 2;
            panic!("with the guard");
        });
        let early = mutex.lock().map(|guard| *guard).map_err(|error| **error.get_ref());
        assert!(panics.join().is_err());
        assert!(mutex.is_poisoned());
        assert_eq!(*mutex.lock().unwrap_err().into_inner(), 2);
        assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
        mutex.clear_poison();
        assert!(!mutex.is_poisoned());
        drop(mutex.lock().unwrap());
        early
    });
    assert_eq!(seen, BTreeSet::from([Ok(1), Err(2)]));
}

#[test]
fn a_panic_poisons_only_what_the_panicking_thread_has() {
    let seen = outcomes(|| {
        let mutexes = Arc::new([Mutex::new(0), Mutex::new(0)]);
        let (first, second) = (Arc::clone(&mutexes), Arc::clone(&mutexes));
        let panics = thread::spawn(move || {
            let _guard = first[0].lock().unwrap();
            panic!("with the guard");
        });
        // Its section may begin or end during the unwinding of the other thread.
        let other = thread::spawn(move || drop(second[1].lock().unwrap()));
        assert!(panics.join().is_err());
        other.join().unwrap();
        [mutexes[0].is_poisoned(), mutexes[1].is_poisoned()]
    });
    assert_eq!(seen, BTreeSet::from([[true, false]]));
}

#[test]
fn a_guard_made_during_a_panic_does_not_poison() {
    struct OnDrop(Arc<Mutex<i32>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    outcomes(|| {
        let mutex = Arc::new(Mutex::new(0));
        let on_drop = OnDrop(Arc::clone(&mutex));
        let panics = thread::spawn(move || {
            let _on_drop = on_drop;
            panic!("without a guard");
        });
        assert!(panics.join().is_err());
        assert_eq!(*mutex.lock().unwrap(), 1);
    });
}

#[test]
fn a_static_is_unlocked_and_sound_at_the_start_of_each_run() {
    static MUTEX: Mutex<i32> = Mutex::new(0);
    let failure = failure(|| {
        let thread = thread::spawn(|| {
            let _guard = MUTEX.lock().unwrap();
            panic!("this leaves the mutex poisoned");
        });
        let sound = MUTEX.lock().is_ok();
        assert!(thread.join().is_err());
        assert!(sound, "the thread was first");
    });
    let Failure::Assertion { message, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(message, "the thread was first");
    outcomes(|| *MUTEX.lock().unwrap() += 1);
}

#[test]
fn a_destructor_may_lock_a_mutex_of_an_unwound_thread() {
    struct Pool(Arc<Mutex<bool>>);
    impl Drop for Pool {
        fn drop(&mut self) {
            *self.0.lock().unwrap_or_else(|error| error.into_inner()) = true;
        }
    }
    let failure = failure(|| {
        let stop = Arc::new(Mutex::new(false));
        let pool = Pool(Arc::clone(&stop));
        let never = Arc::new(Mutex::new(()));
        let _kept = never.lock().unwrap();
        let blocked = Arc::clone(&never);
        let worker = thread::spawn(move || {
            let _stop = stop.lock().unwrap();
            drop(blocked.lock());
        });
        worker.join().unwrap();
        drop(pool);
    });
    assert!(matches!(failure, Failure::Deadlock { .. }), "{failure:?}");
}

#[test]
fn the_rest_of_the_api_of_a_mutex() {
    outcomes(|| {
        let mut mutex = Mutex::from(1);
        *mutex.get_mut().unwrap() += 1;
        assert_eq!(format!("{mutex:?}"), "Mutex { data: 2, poisoned: false, .. }");
        let guard = mutex.lock().unwrap();
        assert_eq!((format!("{guard}"), format!("{guard:?}")), ("2".to_owned(), "2".to_owned()));
        assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked>, poisoned: false, .. }");
        drop(guard);
        assert_eq!(mutex.into_inner().unwrap(), 2);
        let slice: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
        assert_eq!(slice.lock().unwrap().len(), 3);
        assert_eq!(*Mutex::<u8>::default().lock().unwrap(), 0);
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    let seen = outcomes(|| {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let readers = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let value = shared.0.read().unwrap();
                let inside = shared.1.fetch_add(1, Ordering::SeqCst);
                assert!(inside < 100, "no writer is inside");
                shared.1.fetch_add(usize::MAX, Ordering::SeqCst);
                (*value, inside)
            })
        });
        let mut value = shared.0.write().unwrap();
        assert_eq!(shared.1.fetch_add(100, Ordering::SeqCst), 0, "no other thread is inside");
        *value = 1;
        shared.1.fetch_add(100_usize.wrapping_neg(), Ordering::SeqCst);
        drop(value);
        readers.map(|reader| reader.join().unwrap())
    });
    let values: BTreeSet<_> = seen.iter().flatten().copied().collect();
    assert_eq!(
        values,
        BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]),
        "both readers are in at once in some"
    );
}

#[test]
fn attempts_at_a_read_write_lock() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || *other.write().unwrap() = 1);
        let reads = lock.try_read().map(|value| *value).ok();
        let writes = lock.try_write().map(|value| *value).ok();
        writer.join().unwrap();
        (reads, writes)
    });
    assert!(
        seen.contains(&(None, None)) && seen.contains(&(Some(0), None)) && seen.contains(&(None, Some(1)))
    );
    assert!(!seen.contains(&(Some(1), None)), "nothing is in the way after the writer");
    outcomes(|| {
        let lock = RwLock::new(0);
        let reads = lock.read().unwrap();
        assert!(lock.try_read().is_ok());
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        drop(reads);
        let writes = lock.write().unwrap();
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        assert_eq!(format!("{lock:?} {writes}"), "RwLock { data: <locked>, poisoned: false, .. } 0");
    });
}

#[test]
fn a_writer_that_panics_poisons_and_a_reader_does_not() {
    outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        for writes in [false, true] {
            let other = Arc::clone(&lock);
            let panics = thread::spawn(move || {
                let _guards = if writes { (None, other.write().ok()) } else { (other.read().ok(), None) };
                panic!("with a guard");
            });
            assert!(panics.join().is_err());
            assert_eq!(lock.is_poisoned(), writes);
        }
        assert!(lock.read().is_err() && lock.write().is_err());
        assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
        lock.clear_poison();
        drop(lock.write().unwrap());
        let mut lock = Arc::into_inner(lock).unwrap();
        *lock.get_mut().unwrap() = 3;
        assert_eq!(lock.into_inner().unwrap(), 3);
    });
}

#[test]
fn a_writer_that_waits_for_itself_is_a_deadlock() {
    let failure = failure(|| {
        let lock = RwLock::new(());
        let _reads = lock.read().unwrap();
        drop(lock.write());
    });
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(blocked[0].reason, BlockReason::ReadWriteLock);
}

#[test]
fn a_writer_that_becomes_a_reader_lets_no_writer_in_between() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let (writer, reader) = (Arc::clone(&lock), Arc::clone(&lock));
        let writer = thread::spawn(move || *writer.write().unwrap() = 2);
        let reader = thread::spawn(move || reader.try_read().map(|value| *value).ok());
        let mut guard = lock.write().unwrap();
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        let alone = lock.try_write().is_ok();
        let shared = lock.try_read().is_ok();
        assert!(!alone && shared);
        drop(guard);
        writer.join().unwrap();
        let seen = reader.join().unwrap();
        assert!(lock.try_write().is_ok(), "all guards are gone");
        seen
    });
    // The other reader comes first, during the write, after the downgrade, or last.
    assert_eq!(seen, BTreeSet::from([None, Some(0), Some(1), Some(2)]));
}

#[test]
fn a_reader_that_was_a_writer_does_not_poison() {
    outcomes(|| {
        let lock = RwLock::new(0);
        let panics = || {
            let _guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
            panic!("while it reads");
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(!lock.is_poisoned());
    });
}

#[test]
fn a_writer_that_becomes_a_reader_lets_readers_in() {
    let seen = outcomes(|| {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            let value = other.0.read().unwrap();
            (*value, other.1.load(Ordering::SeqCst))
        });
        let mut guard = shared.0.write().unwrap();
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        shared.1.store(1, Ordering::SeqCst);
        drop(guard);
        reader.join().unwrap()
    });
    // Only a reader that came in before the end of the guard sees the new value and the old counter.
    assert_eq!(seen, BTreeSet::from([(0, 0), (1, 0), (1, 1)]));
}
