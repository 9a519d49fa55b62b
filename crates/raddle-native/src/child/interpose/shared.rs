//! Mutexes, read-write locks, condition variables and semaphores that several processes share. Once the program has
//! started a process they are glibc's: a thread that would wait tries again when no thread can continue, as for
//! everything outside of the run. A wait for a condition variable ends spuriously instead.

use super::access::note_no_write;
use super::time::FOREVER;
use super::transfer::{touch, wait};
use crate::child::outside::{Awaited, What};
use crate::child::runtime::{Runtime, with};
use libc::{EBUSY, c_int};
use raddle_model::ObjectId;
use std::ffi::c_void;

/// The offsets at which glibc stores whether an object is shared, and the bits there.
const MUTEX: (usize, u32) = (16, 128);
const LOCK: (usize, u32) = (28, !0);
const CONDITION: (usize, u32) = (36, 1);
const SEMAPHORE: (usize, u32) = (8, !0);
const BARRIER: (usize, u32) = (12, !0);

fn has(object: *const c_void, (offset, bits): (usize, u32)) -> bool {
    with(|runtime| runtime.outside.processes > 0)
        // SAFETY: POSIX requires a valid object, and the offset is inside it.
        && unsafe { object.byte_add(offset).cast::<u32>().read_unaligned() } & bits != 0
}

/// Returns true if other processes may use a mutex.
pub(super) fn is_mutex(mutex: *const c_void) -> bool {
    has(mutex, MUTEX)
}

/// Returns true if other processes may use a read-write lock.
pub(super) fn is_lock(lock: *const c_void) -> bool {
    has(lock, LOCK)
}

/// Returns true if other processes may use a condition variable.
pub(super) fn is_condition(condition: *const c_void) -> bool {
    has(condition, CONDITION)
}

/// Returns true if other processes may use a semaphore.
pub(super) fn is_semaphore(semaphore: *const c_void) -> bool {
    has(semaphore, SEMAPHORE)
}

/// Returns true if other processes may use a barrier.
pub(super) fn is_barrier(barrier: *const c_void) -> bool {
    has(barrier, BARRIER)
}

fn others(runtime: &mut Runtime) -> ObjectId {
    runtime.all(What::Others)
}

/// Calls a function that does not wait.
pub(super) fn once(place: usize, call: impl FnOnce() -> c_int) -> c_int {
    touch(place, others);
    call()
}

/// Repeats a function that does not wait until it returns something else than `EBUSY`, or until the time `span` is
/// over.
pub(super) fn again(place: usize, span: u64, call: impl Fn() -> c_int) -> c_int {
    let deadline = with(|runtime| runtime.now()).saturating_add(span);
    loop {
        let result = once(place, &call);
        if result != EBUSY {
            return result;
        }
        note_no_write();
        let left =
            if span == FOREVER { FOREVER } else { deadline.saturating_sub(with(|runtime| runtime.now())) };
        if left == 0 || !pass(place, left) {
            return EBUSY;
        }
    }
}

/// Waits until another process may have done something, at most for the time `span`. Returns false if that is over.
pub(super) fn pass(place: usize, span: u64) -> bool {
    let tried = with(|runtime| runtime.engine.step_count());
    wait(Awaited::Chance(tried), false, place, span, others)
}
