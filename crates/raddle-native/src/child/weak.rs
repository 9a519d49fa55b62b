//! Atomics under weak memory: the engine knows which values accesses may read, and memory holds the newest ones.
//!
//! Not all accesses to an atomic are announced: libraries without hooks, such as Rust's std, contain some of the accesses
//! to a lock, and other ones are compiled into the program. Only one thread runs between two announcements, so a value
//! that has changed since was written by that thread. [`note_unseen_writes`] compares the words that may change in
//! this way: those of futexes, and the atomic that the thread accessed last.
#![expect(unsafe_code, reason = "reads and writes atomics of the program")]

use crate::child::heap::forget_variables;
use crate::child::objects::Class;
use crate::child::runtime::{Runtime, with};
use raddle_model::{MemoryOrder, Operation, ThreadId};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// An operation that is to be announced.
pub(crate) struct Prepared {
    pub(crate) operation: Operation,
    /// True if the engine knows which value it reads.
    pub(crate) is_weak: bool,
}

/// Prepares an atomic access of the current thread. An access to a part of an atomic, or to several at once, reads the newest
/// value.
pub(crate) fn prepare(
    runtime: &mut Runtime,
    operation: Operation,
    (address, size): (usize, usize),
    expected: Option<u128>,
) -> Prepared {
    add_order(runtime, &operation);
    let thread = runtime.current;
    let is_one = operation.objects().count() == 1;
    let object = operation
        .object()
        .filter(|object| is_one && runtime.objects.made[object.index()].address == address as u64);
    // SAFETY: the program is about to access an aligned atomic of this size.
    let Some((object, held)) = object.zip(unsafe { load(address, size) }) else {
        return Prepared { operation: runtime.engine.prepare_mixed_access(operation), is_weak: false };
    };
    let atomics = runtime.atomics.get_or_insert_default();
    atomics.known.insert(address, (object, size));
    atomics.note_access(thread, address);
    Prepared { operation: runtime.engine.prepare_access(thread, operation, held, expected), is_weak: true }
}

/// Prepares a fence.
pub(crate) fn prepare_fence(runtime: &mut Runtime, fence: Operation) -> Operation {
    add_order(runtime, &fence);
    runtime.engine.prepare_fence(fence)
}

/// Adds the object that stands for the order of sequentially consistent operations, before the engine does: objects have the
/// same numbers here and there.
fn add_order(runtime: &mut Runtime, operation: &Operation) {
    let orders = [operation.memory_order(), operation.failure_order()];
    let is_needed =
        orders.contains(&Some(MemoryOrder::SequentiallyConsistent)) || operation.object().is_some();
    if is_needed && runtime.engine.sequential_order().is_none() {
        let object = runtime.make(0, Class::Order, 0);
        runtime.engine.set_sequential_order(object);
    }
}

/// Executes the access that was [prepared](prepare) last, now that it was chosen. `execute` gets the value read and returns its
/// result and the value written, if any. Returns the result and whether the value of the atomic has changed.
pub(crate) fn execute<R>(
    address: usize,
    size: usize,
    reads: bool,
    execute: impl FnOnce(u128) -> (R, Option<u128>),
) -> (R, bool) {
    with(|runtime| {
        let read = runtime.engine.read_value();
        let (result, written) = execute(read);
        // SAFETY: the program accesses an aligned atomic of this size.
        let before = if reads { Some(read) } else { unsafe { load(address, size) } };
        if let Some(written) = written {
            let newest = runtime.engine.note_written(written);
            // SAFETY: as above; and it writes.
            unsafe { store(address, size, newest) };
        }
        let step = runtime.engine.step_count() as u32 - 1;
        if let Some(values) = &mut runtime.values {
            values.settle(runtime.current);
            values.correct(step, reads.then_some(read as u64), written.map(|value| value as u64));
        }
        (result, written.is_some_and(|written| Some(written) != before))
    })
}

/// Attributes changes of watched atomics since the latest announcement to the current thread, which ran alone.
pub(crate) fn note_unseen_writes(runtime: &mut Runtime) {
    let Runtime { engine, atomics: Some(atomics), current, .. } = runtime else { return };
    let latest = atomics.latest.get(current.index()).copied();
    for &address in atomics.futexes.iter().chain(&latest) {
        let Some(&(object, size)) = atomics.known.get(&address) else { continue };
        // SAFETY: the program has accessed an atomic of this size here, and has not freed its memory.
        if let Some(held) = unsafe { load(address, size) }
            && engine.misses_write(object, held)
        {
            engine.note_unseen_write(*current, object, held);
        }
    }
}

/// Forgets the variables in memory that the program unmaps: others are there later.
pub(crate) fn forget_memory(runtime: &mut Runtime, address: usize, size: usize) {
    if runtime.accesses.races {
        forget(runtime, address, size);
        forget_variables(address as u64..address.saturating_add(size) as u64, &mut runtime.objects);
    }
}

/// Forgets the variables on the stack of the current thread, which ends, and in its thread-local memory: a later thread gets
/// both.
pub(crate) fn forget_stack(runtime: &mut Runtime) {
    /// The size of what glibc keeps about a thread, at its handle: the last bytes of the memory that it got for its stack.
    const RECORD: usize = 2304;
    /// The smallest size that a stack has by default.
    const MOST: usize = 2 << 20;
    if runtime.current != ThreadId(0) {
        let thread = runtime.me();
        let (end, size) = (thread.handle as usize + RECORD, thread.stack.size.min(MOST));
        forget_memory(runtime, end.saturating_sub(size), size);
    }
}

/// Forgets the atomics in memory that the program frees.
pub(crate) fn forget(runtime: &mut Runtime, address: usize, size: usize) {
    let Runtime { engine, atomics: Some(atomics), .. } = runtime else { return };
    let end = address.saturating_add(size);
    while let Some((&at, &(object, _))) = atomics.known.range(address..end).next() {
        atomics.known.remove(&at);
        atomics.futexes.retain(|&futex| futex != at);
        engine.forget_atomic(object);
    }
}

/// Returns the value of an atomic; `None` if its size has no value here.
///
/// # Safety
/// There is an aligned atomic of this size.
unsafe fn load(address: usize, size: usize) -> Option<u128> {
    // SAFETY: per the contract of this function, there is an aligned atomic.
    unsafe {
        Some(match size {
            1 => u128::from(AtomicU8::from_ptr(address as *mut u8).load(SeqCst)),
            2 => u128::from(AtomicU16::from_ptr(address as *mut u16).load(SeqCst)),
            4 => u128::from(AtomicU32::from_ptr(address as *mut u32).load(SeqCst)),
            8 => u128::from(AtomicU64::from_ptr(address as *mut u64).load(SeqCst)),
            _ => return None,
        })
    }
}

/// Sets the value of an atomic.
///
/// # Safety
/// There is an aligned and writable atomic of this size, which is 1, 2, 4 or 8.
unsafe fn store(address: usize, size: usize, value: u128) {
    // SAFETY: per the contract of this function, there is an aligned and writable atomic.
    unsafe {
        match size {
            1 => AtomicU8::from_ptr(address as *mut u8).store(value as u8, SeqCst),
            2 => AtomicU16::from_ptr(address as *mut u16).store(value as u16, SeqCst),
            4 => AtomicU32::from_ptr(address as *mut u32).store(value as u32, SeqCst),
            _ => AtomicU64::from_ptr(address as *mut u64).store(value as u64, SeqCst),
        }
    }
}
