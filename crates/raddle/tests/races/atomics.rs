//! Atomics order accesses as their memory orders specify.

use crate::plain::Plain;
use crate::{assert_ordered, assert_races};
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicUsize, fence};
use raddle::thread;

#[derive(Default)]
struct Shared {
    flag: AtomicUsize,
    data: Plain,
}

/// Runs `write` in a new thread and `read` in this one.
fn pass(write: impl Fn(&Shared) + Send + 'static, read: impl Fn(&Shared)) {
    let shared = Arc::new(Shared::default());
    let writer = shared.clone();
    let child = thread::spawn(move || write(&writer));
    read(&shared);
    child.join().unwrap();
}

/// Data published by a flag.
fn message(store: Ordering, load: Ordering) {
    pass(
        move |shared| {
            shared.data.set(7);
            shared.flag.store(1, store);
        },
        |shared| {
            if shared.flag.load(load) == 1 {
                assert_eq!(shared.data.get(), 7);
            }
        },
    );
}

#[test]
fn release_and_acquire_order() {
    assert_ordered(|| message(Release, Acquire));
    assert_ordered(|| message(SeqCst, SeqCst));
    assert_ordered(|| message(Release, SeqCst));
}

#[test]
fn one_half_orders_nothing() {
    assert_races(|| message(Relaxed, Relaxed));
    assert_races(|| message(Release, Relaxed));
    assert_races(|| message(Relaxed, Acquire));
    assert_races(|| message(Relaxed, SeqCst));
}

/// Data published by a flag with relaxed accesses and fences; `None` stands for no fence.
fn fenced(before_store: Option<Ordering>, after_load: Option<Ordering>) {
    pass(
        move |shared| {
            shared.data.set(7);
            before_store.into_iter().for_each(fence);
            shared.flag.store(1, Relaxed);
        },
        |shared| {
            if shared.flag.load(Relaxed) == 1 {
                after_load.into_iter().for_each(fence);
                assert_eq!(shared.data.get(), 7);
            }
        },
    );
}

#[test]
fn two_fences_order() {
    assert_ordered(|| fenced(Some(Release), Some(Acquire)));
    assert_ordered(|| fenced(Some(SeqCst), Some(SeqCst)));
    assert_ordered(|| fenced(Some(AcqRel), Some(AcqRel)));
    assert_races(|| fenced(Some(Release), None));
    assert_races(|| fenced(None, Some(SeqCst)));
    assert_races(|| fenced(Some(Acquire), Some(Acquire)));
    assert_races(|| fenced(Some(Release), Some(Release)));
}

#[test]
fn a_fence_and_an_access_order() {
    let mixed = |release_fence: bool| {
        pass(
            move |shared| {
                shared.data.set(7);
                if release_fence {
                    fence(Release);
                }
                shared.flag.store(1, if release_fence { Relaxed } else { Release });
            },
            |shared| {
                if shared.flag.load(if release_fence { Acquire } else { Relaxed }) == 1 {
                    if !release_fence {
                        fence(Acquire);
                    }
                    assert_eq!(shared.data.get(), 7);
                }
            },
        );
    };
    assert_ordered(move || mixed(true));
    assert_ordered(move || mixed(false));
}

#[test]
fn a_fence_in_the_wrong_place_orders_nothing() {
    assert_races(|| {
        pass(
            |shared| {
                fence(Release);
                shared.data.set(7);
                shared.flag.store(1, Relaxed);
            },
            |shared| {
                fence(Acquire);
                if shared.flag.load(Acquire) == 1 {
                    shared.data.get();
                }
            },
        );
    });
}

/// The release sequence of a publication: a third thread accesses the flag in between.
fn sequence(between: fn(&AtomicUsize)) {
    let shared = Arc::new(Shared::default());
    let (writer, other) = (shared.clone(), shared.clone());
    let children = [
        thread::spawn(move || {
            writer.data.set(7);
            writer.flag.store(1, Release);
        }),
        thread::spawn(move || between(&other.flag)),
    ];
    if shared.flag.load(Acquire) == 2 {
        assert_eq!(shared.data.get(), 7);
    }
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn read_modify_writes_continue_a_release_sequence() {
    assert_ordered(|| {
        sequence(|flag| {
            let _ = flag.compare_exchange(1, 2, Relaxed, Relaxed);
        });
    });
}

#[test]
fn a_store_breaks_a_release_sequence() {
    assert_races(|| {
        sequence(|flag| {
            if flag.load(Relaxed) == 1 {
                flag.store(2, Relaxed);
            }
        });
    });
    // Since C++20, this also holds for an access by the same thread.
    assert_races(|| {
        pass(
            |shared| {
                shared.data.set(7);
                shared.flag.store(1, Release);
                shared.flag.store(2, Relaxed);
            },
            |shared| {
                if shared.flag.load(Acquire) == 2 {
                    shared.data.get();
                }
            },
        );
    });
}

/// A lock built on an exchange: acquired with the order `success`, found taken with the order `failure`.
fn exchange_lock(success: Ordering, failure: Ordering, unlock: Ordering) {
    let enter = move |shared: &Shared| {
        if shared.flag.compare_exchange(0, 1, success, failure).is_ok() {
            let before = shared.data.get();
            shared.data.set(before + 1);
            shared.flag.store(0, unlock);
        }
    };
    pass(enter, enter);
}

#[test]
fn an_exchange_that_succeeds_has_the_order_of_success() {
    assert_ordered(|| exchange_lock(Acquire, Relaxed, Release));
    assert_ordered(|| exchange_lock(AcqRel, Relaxed, Release));
    assert_races(|| exchange_lock(Relaxed, Acquire, Release));
    assert_races(|| exchange_lock(Acquire, Relaxed, Relaxed));
    assert_races(|| exchange_lock(Release, Acquire, Release));
}

/// A reader that synchronizes through its own failing exchange.
fn synchronized_by_failure(failure: Ordering) {
    pass(
        |shared| {
            shared.data.set(7);
            shared.flag.store(1, Release);
        },
        move |shared| {
            if shared.flag.compare_exchange(2, 3, AcqRel, failure) == Err(1) {
                assert_eq!(shared.data.get(), 7);
            }
        },
    );
}

#[test]
fn an_exchange_that_fails_is_a_read_in_the_order_of_failure() {
    assert_ordered(|| synchronized_by_failure(Acquire));
    assert_races(|| synchronized_by_failure(Relaxed));
    // It writes nothing, so it publishes nothing.
    assert_races(|| {
        pass(
            |shared| {
                shared.data.set(7);
                let _ = shared.flag.compare_exchange(5, 6, AcqRel, Acquire);
                shared.flag.fetch_add(1, Relaxed);
            },
            |shared| {
                if shared.flag.load(Acquire) == 1 {
                    shared.data.get();
                }
            },
        );
    });
}

#[test]
fn an_update_that_changes_nothing_still_publishes() {
    let touch = |publish: Ordering| {
        pass(
            move |shared| {
                shared.data.set(7);
                shared.flag.fetch_add(0, publish);
                shared.flag.fetch_add(1, Relaxed);
            },
            |shared| {
                if shared.flag.fetch_add(0, Acquire) == 1 {
                    assert_eq!(shared.data.get(), 7);
                }
            },
        );
    };
    assert_ordered(move || touch(Release));
    assert_races(move || touch(Acquire));
}

/// A sequence lock whose data is read without the lock, once plainly and once as an atomic.
fn sequence_lock(write: fn(&Shared, &AtomicUsize), read: fn(&Shared, &AtomicUsize)) {
    let shared = Arc::new((Shared::default(), AtomicUsize::new(0)));
    let writer = shared.clone();
    let child = thread::spawn(move || {
        writer.0.flag.store(1, Relaxed);
        fence(Release);
        write(&writer.0, &writer.1);
        writer.0.flag.store(2, Release);
    });
    let before = shared.0.flag.load(Acquire);
    if before.is_multiple_of(2) {
        read(&shared.0, &shared.1);
        fence(Acquire);
        let _torn = shared.0.flag.load(Relaxed) != before;
    }
    child.join().unwrap();
}

#[test]
fn a_sequence_lock_needs_atomic_data() {
    assert_races(|| {
        sequence_lock(|shared, _| shared.data.set(7), |shared, _| assert!(shared.data.get() <= 7))
    });
    assert_ordered(|| {
        sequence_lock(|_, data| data.store(7, Relaxed), |_, data| assert!(data.load(Relaxed) <= 7));
    });
}
