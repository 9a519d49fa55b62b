//! The last of several owners frees what they share.

use crate::assert_ordered;
use crate::plain::Plain;
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{Acquire, Release};
use raddle::sync::atomic::{AtomicUsize, fence};
use raddle::thread;

/// Counts as `Arc` does, with plain memory that the last owner frees.
struct Owned(std::sync::Arc<Inner>);

struct Inner {
    count: AtomicUsize,
    data: Plain,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Release) == 1 {
            fence(Acquire);
            self.0.data.set(1);
        }
    }
}

#[test]
fn the_drop_of_the_last_owner_is_no_race() {
    assert_ordered(|| {
        let inner = Inner { count: AtomicUsize::new(2), data: Plain::default() };
        let first = Owned(std::sync::Arc::new(inner));
        let second = Owned(std::sync::Arc::clone(&first.0));
        let thread = thread::spawn(move || _ = second.0.data.get());
        _ = first.0.data.get();
        drop(first);
        thread.join().unwrap();
    });
}

/// Accesses its memory when it is dropped.
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
