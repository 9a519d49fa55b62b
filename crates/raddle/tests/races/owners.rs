//! The last of several owners frees the shared memory.

use crate::plain::Plain;
use crate::{assert_ordered, assert_races};
use raddle::loom;
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use raddle::sync::atomic::{AtomicUsize, fence};
use raddle::thread;

/// A counter like `Arc`'s, with plain memory that the last owner frees.
struct Owned<const FENCED: bool>(Arc<Inner>);

struct Inner {
    count: AtomicUsize,
    data: Plain,
}

impl<const FENCED: bool> Drop for Owned<FENCED> {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Release) == 1 {
            if FENCED {
                fence(Acquire);
            }
            self.0.data.set(1);
        }
    }
}

fn owned_by_two<const FENCED: bool>() {
    let inner = Inner { count: AtomicUsize::new(2), data: Plain::default() };
    let first: Owned<FENCED> = Owned(Arc::new(inner));
    let second: Owned<FENCED> = Owned(Arc::clone(&first.0));
    let thread = thread::spawn(move || _ = second.0.data.get());
    _ = first.0.data.get();
    drop(first);
    thread.join().unwrap();
}

#[test]
fn the_drop_of_the_last_owner_needs_a_fence() {
    assert_ordered(owned_by_two::<true>);
    assert_races(owned_by_two::<false>);
}

/// Accesses its memory when dropped.
struct Freed(Plain);

impl Drop for Freed {
    fn drop(&mut self) {
        self.0.set(1);
    }
}

#[test]
fn the_drop_of_the_last_arc_is_no_race() {
    assert_ordered(|| {
        let first = Arc::new(Freed(Plain::default()));
        let second = Arc::clone(&first);
        let thread = thread::spawn(move || _ = second.0.get());
        _ = first.0.get();
        drop(first);
        drop(thread);
    });
}

/// Accesses memory that other threads also access, when dropped.
struct Resets(&'static Plain);

impl Drop for Resets {
    fn drop(&mut self) {
        self.0.set(0);
    }
}

/// Only the drop of the owner may race, and nothing orders it after the read.
fn read_before_drop(owner: impl FnOnce(Resets)) {
    let plain: &'static Plain = Box::leak(Box::default());
    let flag = Arc::new(AtomicUsize::new(0));
    let set = Arc::clone(&flag);
    let thread = thread::spawn(move || {
        _ = plain.get();
        set.store(1, Relaxed);
    });
    let resets = Resets(plain);
    if flag.load(Relaxed) == 1 {
        owner(resets);
        thread.join().unwrap();
    } else {
        thread.join().unwrap();
        owner(resets);
    }
}

#[test]
fn the_drop_of_an_arc_under_control_may_race() {
    assert_races(|| read_before_drop(|resets| drop(loom::sync::Arc::new(resets))));
    assert_races(|| read_before_drop(drop));
}

/// Reads in a second thread, and writes in the first one if `unwrap` finds that the second is done with the value.
fn written_by_the_last(unwrap: fn(Arc<Plain>) -> Option<Plain>) {
    let first = Arc::new(Plain::default());
    let second = Arc::clone(&first);
    let thread = thread::spawn(move || _ = second.get());
    _ = first.get();
    if let Some(plain) = unwrap(first) {
        plain.set(1);
    }
    thread.join().unwrap();
}

#[test]
fn an_access_after_the_value_was_taken_out_of_an_arc_is_no_race() {
    assert_ordered(|| written_by_the_last(|owner| Arc::try_unwrap(owner).ok()));
    assert_ordered(|| written_by_the_last(Arc::into_inner));
}

#[test]
fn memory_may_race_after_it_was_moved() {
    // The second access is announced only after the first one was executed.
    assert_races(|| {
        let plain = Plain::default();
        plain.set(1);
        let moved = Arc::new((plain, AtomicUsize::new(0)));
        let second = Arc::clone(&moved);
        let thread = thread::spawn(move || {
            second.0.set(2);
            second.1.store(1, Relaxed);
        });
        if moved.1.load(Relaxed) == 1 {
            moved.0.set(3);
        }
        thread.join().unwrap();
    });
}
