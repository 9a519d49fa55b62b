//! `std::cell` under control: plain memory and data races on it.
//!
//! Each access to a cell is an operation, and a run in which two of them race fails: two threads access the
//! same cell, at least one writes, and nothing makes one happen before the other. The two need not be close
//! to each other in the run. Spawning and joining, locks, barriers, channels, parking and the rest of
//! [`sync`](crate::sync) and [`thread`](crate::thread) order them, and so do atomics and fences, as their
//! memory orders specify:
//!
//! ```should_panic
//! use raddle::cell::UnsafeCell;
//! use raddle::sync::Arc;
//! use raddle::sync::atomic::{AtomicBool, Ordering};
//!
//! struct Slot {
//!     ready: AtomicBool,
//!     value: UnsafeCell<u32>,
//! }
//! unsafe impl Sync for Slot {}
//!
//! raddle::check(|| {
//!     let slot = Arc::new(Slot { ready: AtomicBool::new(false), value: UnsafeCell::new(0) });
//!     let writer = slot.clone();
//!     raddle::thread::spawn(move || {
//!         writer.value.with_mut(|value| unsafe { *value = 7 });
//!         writer.ready.store(true, Ordering::Relaxed); // Should be `Release`, and `Acquire` below.
//!     });
//!     if slot.ready.load(Ordering::Relaxed) {
//!         assert_eq!(slot.value.with(|value| unsafe { *value }), 7);
//!     }
//! });
//! ```
//!
//! The assertion holds in every run, because memory is sequentially consistent under control; the race is
//! reported nevertheless. Values that a program can *read* only under weaker memory models are not explored.
//! A race fails the check unless [`Config::races`](crate::Config::races) is off.
//!
//! Three orderings of std are not modeled. The count of an [`Arc`](crate::sync::Arc) is std's own. If its
//! last owner accesses cells while dropping the value, a race that only the count could prevent is not
//! reported; this is recognized by function names on the stack, so it does not work in a stripped binary. Accesses
//! before a cell was moved, as by `Arc::try_unwrap` and `into_inner`, count as ordered before those after it; a race with
//! the move itself is not found. If the last owner was found by `Arc::get_mut` or `make_mut`, which move nothing, use
//! [`UnsafeCell::get_mut`], which is not an operation, or Loom's [`Arc`](crate::loom::sync::Arc), whose count is modeled. Notifying a
//! [`Condvar`](crate::sync::Condvar) orders nothing; its mutex does. Two readers of an
//! [`RwLock`](crate::sync::RwLock) are not ordered.

mod plain;
mod shared;

pub use plain::Cell;
pub use shared::UnsafeCell;

use crate::runtime::{self, Object, Runtime};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, MemoryOrder, ObjectId, Operation};
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Plain memory that may be moved.
#[derive(Debug)]
pub(crate) struct Memory {
    object: Object,
    /// Its address at the latest access; 0 before the first one.
    at: AtomicUsize,
}

impl Memory {
    #[track_caller]
    pub(crate) const fn new() -> Memory {
        Memory { object: Object::new(), at: AtomicUsize::new(0) }
    }

    /// Returns its number in this run. Only its sole owner can move it, so if it was moved, the earlier accesses happened
    /// before.
    fn id(&self, runtime: &mut Runtime) -> ObjectId {
        let id = self.object.id(runtime, |_| Resource::Memory);
        let here = std::ptr::from_ref(self).addr();
        if self.at.load(Ordering::Relaxed) != here {
            self.at.store(here, Ordering::Relaxed);
            runtime.engine.forget_accesses(id);
        }
        id
    }
}

/// Executes a plain access to `memory`.
#[track_caller]
pub(crate) fn step(memory: &Memory, access: Access, location: &'static Location<'static>) {
    let kind = if access == Access::Read { Kind::Read } else { Kind::Write };
    step_plain(|runtime| {
        let object = memory.id(runtime);
        Operation::new(kind, runtime.location(location)).on(object, access).ordered(MemoryOrder::Plain)
    });
}

/// Executes a plain access. Does not return if it completes a data race that is reported.
fn step_plain(operation: impl FnOnce(&mut Runtime) -> Operation) {
    if runtime::step(operation) == Reply::Raced {
        runtime::judge_race();
    }
}
