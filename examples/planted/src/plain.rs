//! Bugs with std alone.

use crate::FIXED;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;

/// A deposit reads the balance in one critical section and writes it in another.
#[test]
fn lost_update() {
    let balance = Arc::new(Mutex::new(0));
    let deposit = {
        let balance = Arc::clone(&balance);
        move || {
            if FIXED {
                *balance.lock().unwrap() += 1;
            } else {
                let seen = *balance.lock().unwrap(); // bug: lost_update
                *balance.lock().unwrap() = seen + 1; // bug: lost_update
            }
        }
    };
    let other = thread::spawn(deposit.clone());
    deposit();
    other.join().unwrap();
    assert_eq!(*balance.lock().unwrap(), 2);
}

/// Two locks, taken in either order.
#[test]
fn abba_deadlock() {
    let from = Mutex::new(10);
    let to = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = from.lock().unwrap();
            let mut to = to.lock().unwrap(); // bug: abba_deadlock
            *from -= 1;
            *to += 1;
        });
        scope.spawn(|| {
            let first = if FIXED { Some(from.lock().unwrap()) } else { None };
            let mut to = to.lock().unwrap();
            let mut from = first.unwrap_or_else(|| from.lock().unwrap()); // bug: abba_deadlock
            *to -= 1;
            *from += 1;
        });
    });
}

/// The flag is read before the lock is taken, so the signal may come in between.
#[test]
fn lost_wakeup() {
    let ready = AtomicBool::new(false);
    let (lock, bell) = (Mutex::new(()), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            if FIXED {
                let mut guard = lock.lock().unwrap();
                while !ready.load(Ordering::SeqCst) {
                    guard = bell.wait(guard).unwrap();
                }
            } else if !ready.load(Ordering::SeqCst) {
                let guard = lock.lock().unwrap();
                drop(bell.wait(guard).unwrap()); // bug: lost_wakeup
            }
        });
        scope.spawn(|| {
            let guard = FIXED.then(|| lock.lock().unwrap());
            ready.store(true, Ordering::SeqCst);
            drop(guard);
            bell.notify_one();
        });
    });
}

/// An atomic is loaded and stored instead of incremented.
#[test]
fn load_then_store() {
    let hits = AtomicU32::new(0);
    let hit = || {
        if FIXED {
            hits.fetch_add(1, Ordering::SeqCst);
        } else {
            let seen = hits.load(Ordering::SeqCst); // bug: load_then_store
            hits.store(seen + 1, Ordering::SeqCst); // bug: load_then_store
        }
    };
    thread::scope(|scope| {
        scope.spawn(hit);
        scope.spawn(hit);
    });
    assert_eq!(hits.into_inner(), 2);
}

/// The flag is set before the value that it guards.
#[test]
fn flag_before_value() {
    let ready = AtomicBool::new(false);
    let value = AtomicU32::new(0);
    thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            while !ready.load(Ordering::Acquire) {
                thread::park();
            }
            value.load(Ordering::Relaxed) // bug: flag_before_value
        });
        if FIXED {
            value.store(42, Ordering::Relaxed);
            ready.store(true, Ordering::Release);
        } else {
            ready.store(true, Ordering::Release);
            value.store(42, Ordering::Relaxed); // bug: flag_before_value
        }
        consumer.thread().unpark();
        assert_eq!(consumer.join().unwrap(), 42);
    });
}

/// A value read under the read lock is assumed to be unchanged under the write lock.
#[test]
fn upgraded_lock() {
    let cache = RwLock::new(None);
    let computed = AtomicU32::new(0);
    let get = || {
        let seen = *cache.read().unwrap(); // bug: upgraded_lock
        if let Some(value) = seen {
            return value;
        }
        let mut cache = cache.write().unwrap(); // bug: upgraded_lock
        if FIXED && let Some(value) = *cache {
            return value;
        }
        computed.fetch_add(1, Ordering::SeqCst);
        *cache.insert(7)
    };
    thread::scope(|scope| {
        scope.spawn(get);
        scope.spawn(get);
    });
    assert_eq!(computed.into_inner(), 1);
}

/// Checked once, locked, and not checked again.
#[test]
fn checked_once() {
    let is_started = AtomicBool::new(false);
    let starting = Mutex::new(());
    let starts = AtomicU32::new(0);
    let start = || {
        let was_started = is_started.load(Ordering::Acquire); // bug: checked_once
        if was_started {
            return;
        }
        let guard = starting.lock().unwrap();
        if !FIXED || !is_started.load(Ordering::Relaxed) {
            starts.fetch_add(1, Ordering::SeqCst);
            is_started.store(true, Ordering::Release); // bug: checked_once
        }
        drop(guard);
    };
    thread::scope(|scope| {
        scope.spawn(start);
        scope.spawn(start);
    });
    assert_eq!(starts.into_inner(), 1);
}
