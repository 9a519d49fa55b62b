//! `std::sync::atomic` under control.
//!
//! Each method is one operation. By default it reads the newest value whatever the memory order; with
//! [`Memory::Weak`](crate::Memory) a read returns any value that the orders allow (RC11, without load buffering), chosen by the
//! strategy. The orders also decide what is a data race on a [cell](crate::cell).
//! Orders that std rejects are rejected. A `compare_exchange_weak` fails only if the values differ. An atomic
//! that outlives a run begins the next with its initial value (see [statics](crate#statics)). Formatting,
//! `get_mut` and `into_inner` are not operations.

mod boolean;
mod integer;
mod pointer;
mod shared;
mod wide;

pub use boolean::AtomicBool;
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicI128, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicU128, AtomicUsize,
};
pub use pointer::AtomicPtr;
pub use std::sync::atomic::Ordering;

use crate::runtime;
use raddle_model::{Kind, MemoryOrder, Operation};
use std::panic::Location;

/// A fence, as in std: an operation that touches no memory, and affects which accesses to a
/// [cell](crate::cell) are data races and, with [`Memory::Weak`](crate::Memory), which values atomics return.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    let location = Location::caller();
    let order = shared::memory_order(order);
    runtime::step(|runtime| {
        runtime.has_weak_orders |= order != MemoryOrder::SequentiallyConsistent;
        let fence = Operation::new(Kind::Fence, runtime.location(location)).ordered(order);
        if !runtime.engine.is_weak() {
            return fence;
        }
        let fence = shared::strengthen(runtime, fence, location);
        runtime.engine.prepare_fence(fence)
    });
}

/// A compiler fence, as in std. Not an operation: the compiler does not reorder operations.
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed compiler fence");
}

/// Lets other threads run; std's old name of [`hint::spin_loop`](crate::hint::spin_loop).
#[deprecated(note = "use hint::spin_loop")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
