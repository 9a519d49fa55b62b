//! `std::cell` under control: plain memory, and the data races on it.
//!
//! Each access to a cell is an operation, and a run in which two of them race fails: two threads access the same
//! cell, at least one writes, and nothing makes one happen before the other. The two need not come close to each other in the
//! run. What orders them is spawning and joining, locks, barriers, channels, parking and the rest of
//! [`sync`](crate::sync) and [`thread`](crate::thread), and atomics and fences as far as their memory orders go:
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
//! The assertion holds in every run, because memory is sequentially consistent under control; the race is reported
//! nevertheless. What only weaker memory would let a program *read* is not explored. A race fails the check
//! unless [`Config::races`](crate::Config::races) is turned off.
//!
//! Three orders that std makes are not seen. The count of an [`Arc`](crate::sync::Arc) is std's own. Where its last owner accesses
//! cells while it drops the value, a race that only the count could prevent is not reported; this is seen by the names of
//! functions on the stack, so not in a stripped binary. Where the last owner was found by `Arc::try_unwrap` or the like, use
//! [`UnsafeCell::get_mut`], which needs no operation, or Loom's [`Arc`](crate::loom::sync::Arc), whose count is seen. A signal of a [`Condvar`](crate::sync::Condvar) orders nothing, its mutex does. Two readers of an
//! [`RwLock`](crate::sync::RwLock) are not ordered.

mod plain;
mod shared;

pub use plain::Cell;
pub use shared::UnsafeCell;

use crate::runtime::{self, Object, Runtime};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, MemoryOrder, Operation};
use std::panic::Location;

/// Executes a plain access to `object`.
#[track_caller]
pub(crate) fn step(object: &Object, access: Access, place: &'static Location<'static>) {
    let kind = if access == Access::Read { Kind::Read } else { Kind::Write };
    step_plain(|runtime| {
        let object = object.id(runtime, |_| Resource::Memory);
        Operation::new(kind, runtime.location(place)).on(object, access).ordered(MemoryOrder::Plain)
    });
}

/// Executes a plain access. Does not return if it completes a data race that is reported.
fn step_plain(operation: impl FnOnce(&mut Runtime) -> Operation) {
    if runtime::step(operation) == Reply::Raced {
        runtime::judge_race();
    }
}
