//! `raddle::shuttle::current::clock`: happens-before.

use raddle::shuttle::sync::atomic::AtomicUsize;
use raddle::shuttle::sync::{Barrier, Mutex, mpsc};
use raddle::shuttle::{check_dfs, current, thread};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

/// Returns the results of `test` over all schedules.
fn outcomes<T: Ord + Send + 'static>(test: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let results = Arc::clone(&seen);
    check_dfs(move || _ = results.lock().unwrap().insert(test()), None);
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Returns true if the current task knows of a step of `task`.
fn knows(task: usize) -> bool {
    current::clock().get(task) > 0
}

/// Returns the value that is read, and whether the reader then knows of the writer.
fn message(store: Ordering, load: Ordering) -> BTreeSet<(usize, bool)> {
    outcomes(move || {
        let value = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&value);
        thread::spawn(move || written.store(1, store));
        (value.load(load), knows(1))
    })
}

#[test]
fn atomics_order_as_their_memory_orders_say() {
    assert_eq!(message(Release, Acquire), [(0, false), (1, true)].into());
    assert_eq!(message(SeqCst, SeqCst), [(0, false), (1, true)].into());
    assert_eq!(message(Relaxed, Acquire), [(0, false), (1, false)].into());
    assert_eq!(message(Release, Relaxed), [(0, false), (1, false)].into());
}

#[test]
fn a_store_does_not_know_of_the_loads_before_it() {
    let seen = outcomes(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let read = Arc::clone(&value);
        thread::spawn(move || _ = read.load(SeqCst));
        value.store(1, SeqCst);
        knows(1)
    });
    assert_eq!(seen, [false].into());
}

#[test]
fn locks_channels_and_barriers_order() {
    let seen = outcomes(|| {
        let mutex = Arc::new(Mutex::new(0));
        let other = Arc::clone(&mutex);
        thread::spawn(move || *other.lock().unwrap() = 1);
        let value = mutex.lock().unwrap();
        (*value, knows(1))
    });
    assert_eq!(seen, [(0, false), (1, true)].into());
    let seen = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        thread::spawn(move || _ = sender.send(1));
        thread::spawn(move || _ = other.send(2));
        let first = receiver.recv().unwrap();
        (first, knows(1), knows(2))
    });
    assert_eq!(seen, [(1, true, false), (2, false, true)].into());
    let seen = outcomes(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = Arc::clone(&barrier);
        thread::spawn(move || _ = other.wait());
        let before = knows(1);
        barrier.wait();
        (before, knows(1))
    });
    assert_eq!(seen, [(false, true)].into());
}
