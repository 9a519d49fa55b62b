//! The memory that the server and a run share, in which the run leaves its results.
//!
//! It begins with the kind of results, if any, and with the running thread and its location; then parts
//! follow, each preceded by its length in bytes.
#![expect(unsafe_code, reason = "plain data is copied to and from shared memory")]

use crate::platform::raw;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The size of the memory of one run; only written pages are allocated.
const SIZE: usize = 1 << 30;

/// The size of the memory behind it, for a batch of runs ([`batch`](super::batch)).
pub(super) const BATCH_SIZE: usize = 1 << 20;

pub(super) const NONE: u64 = 0;
pub(super) const COMPLETE: u64 = 1;
pub(super) const LOST: u64 = 2;
pub(super) const REFUSED: u64 = 3;

static MEMORY: AtomicUsize = AtomicUsize::new(0);

/// Maps the memory; called once, by the server. Returns true on success.
pub(crate) fn prepare() -> bool {
    let memory = raw::map(SIZE + BATCH_SIZE, true, 0);
    MEMORY.store(memory as usize, Ordering::Relaxed);
    !memory.is_null()
}

/// Returns the address of the memory for a batch.
pub(super) fn batch_memory() -> usize {
    MEMORY.load(Ordering::Relaxed) + SIZE
}

/// The offset of the parts.
const PARTS: usize = 256;

/// Returns one of the numbers before the parts.
pub(super) fn number(index: usize) -> &'static AtomicU64 {
    let base = MEMORY.load(Ordering::Relaxed) as *const AtomicU64;
    // SAFETY: the memory is mapped for as long as the process lives, and its beginning is only used as atomics.
    unsafe { &*base.add(index) }
}

pub(super) fn state() -> &'static AtomicU64 {
    number(0)
}

/// Records the running thread and its last location, in case the run ends without results.
#[inline]
pub(crate) fn note_running(thread: u32, place: u64) {
    number(1).store(u64::from(thread), Ordering::Relaxed);
    number(2).store(place, Ordering::Relaxed);
}

/// Records the number of steps of the run.
#[inline]
pub(crate) fn note_steps(steps: u64) {
    number(4).store(steps, Ordering::Relaxed);
}

/// Returns the number of steps of the run.
pub(crate) fn steps() -> u64 {
    number(4).load(Ordering::Relaxed)
}

/// Records the external event that the run waits for; 0 is none.
pub(crate) fn note_outside(awaited: u64) {
    number(3).store(awaited, Ordering::Relaxed);
}

/// Returns the external event that the run waits for; 0 is none.
pub(crate) fn outside() -> u64 {
    number(3).load(Ordering::Relaxed)
}

/// Returns the last running thread, and its last location.
pub(crate) fn running() -> (u64, u64) {
    (number(1).load(Ordering::Relaxed), number(2).load(Ordering::Relaxed))
}

/// Records the OS thread on which the run continues; 0 is the main one.
pub(crate) fn note_carrier(number: u32) {
    self::number(5).store(u64::from(number), Ordering::Relaxed);
}

/// Returns the OS thread on which the run last continued; 0 is the main one.
pub(crate) fn carrier() -> u64 {
    number(5).load(Ordering::Relaxed)
}

/// Records the signal that the program is about to send to its own process; 0 is none.
pub(crate) fn note_sent(signal: i32) {
    number(6).store(signal as u64, Ordering::Relaxed);
}

/// Returns the signal that the program was about to send to its own process; 0 is none.
pub(crate) fn sent() -> i32 {
    number(6).load(Ordering::Relaxed) as i32
}

/// Records the current instruction of a run that has taken too long.
pub(super) fn note_late(instruction: u64) {
    number(7).store(instruction, Ordering::Relaxed);
}

/// Returns the instruction of a run that took too long; 0 if it has not answered.
pub(crate) fn late() -> u64 {
    number(7).load(Ordering::Relaxed)
}

/// Records that the run has started a process.
pub(crate) fn note_process() {
    number(8).store(1, Ordering::Relaxed);
}

/// Returns true if the run has started a process.
pub(crate) fn has_processes() -> bool {
    number(8).load(Ordering::Relaxed) != 0
}

/// Records that the run is over and that its process is ready for another one.
pub(crate) fn note_done() {
    number(9).store(1, Ordering::Release);
}

/// Returns true if the run is over and its process is ready for another one.
pub(crate) fn is_done() -> bool {
    number(9).load(Ordering::Acquire) != 0
}

/// Records the number of bytes of the results, if the run has passed with exit status 0; otherwise 0.
pub(super) fn note_plain(length: usize) {
    number(14).store(length as u64, Ordering::Relaxed);
}

/// Returns the number of bytes of the results, if the run has passed with exit status 0; otherwise 0.
pub(super) fn plain() -> usize {
    number(14).load(Ordering::Relaxed) as usize
}

/// Records that the process cannot execute many runs, and whether the reason is the system.
pub(crate) fn note_no_reset(is_system: bool) {
    number(17).store(1 + u64::from(is_system), Ordering::Release);
}

/// Returns whether the reason is the system, if a process could not execute many runs.
pub(crate) fn no_reset() -> Option<bool> {
    number(17).load(Ordering::Acquire).checked_sub(1).map(|is_system| is_system != 0)
}

/// Records the twin of the process of the run; 0 is none.
pub(crate) fn note_twin(process: i32) {
    number(10).store(process as u64, Ordering::Release);
}

/// Returns the twin of the process of the run; 0 is none.
pub(crate) fn twin() -> i32 {
    number(10).load(Ordering::Acquire) as i32
}

/// Returns the word that changes with every batch of orders.
pub(super) fn batch_word() -> &'static AtomicU32 {
    let base = MEMORY.load(Ordering::Relaxed) as *const AtomicU64;
    // SAFETY: the memory is mapped for as long as the process lives, and this number is only used here.
    unsafe { &*base.add(11).cast() }
}

/// Forgets the results of the previous run.
pub(crate) fn clear() {
    number(9).store(0, Ordering::Relaxed);
    clear_run();
}

/// Forgets the results of a run that is followed by another one of its batch.
pub(super) fn clear_run() {
    state().store(NONE, Ordering::Release);
    note_running(0, 0);
    note_carrier(0);
    note_outside(0);
    note_steps(0);
    note_sent(0);
    note_late(0);
    number(8).store(0, Ordering::Relaxed);
    note_plain(0);
}

/// Returns true if the current run has written its results.
pub(crate) fn are_there() -> bool {
    state().load(Ordering::Acquire) != NONE
}

/// A position for writing or reading the parts in sequence.
pub(crate) struct Cursor(usize);

impl Cursor {
    pub(super) fn new() -> Cursor {
        Cursor(PARTS)
    }

    /// Returns the parts of a run that were copied to an offset of the memory for a batch.
    pub(super) fn of_batch(offset: usize) -> Cursor {
        Cursor(SIZE + offset)
    }

    /// Returns the number of bytes before this position.
    pub(super) fn length(&self) -> usize {
        self.0 - PARTS
    }

    /// Returns the next bytes, which were written.
    pub(super) fn bytes(&self, length: usize) -> &'static [u8] {
        let base = MEMORY.load(Ordering::Relaxed) + self.0;
        // SAFETY: the parts are inside the memory, and `put` has written them.
        unsafe { std::slice::from_raw_parts(base as *const u8, length) }
    }

    pub(super) fn put<T: Copy>(&mut self, items: &[T]) -> bool {
        let length = size_of_val(items);
        if self.0 + 8 + length + 16 > SIZE {
            return false;
        }
        let base = MEMORY.load(Ordering::Relaxed) + self.0;
        // SAFETY: by the check above, the part is inside the memory, and nothing reads it yet.
        unsafe {
            *(base as *mut u64) = length as u64;
            std::ptr::copy_nonoverlapping(items.as_ptr().cast::<u8>(), (base + 8) as *mut u8, length);
        }
        self.0 += 8 + length.next_multiple_of(8);
        true
    }

    pub(super) fn get<T: Copy>(&mut self) -> Vec<T> {
        let base = MEMORY.load(Ordering::Relaxed) + self.0;
        // SAFETY: a length was written here by `put`.
        let length = unsafe { *(base as *const u64) } as usize;
        self.0 += 8 + length.next_multiple_of(8);
        let count = length / size_of::<T>();
        let mut items = Vec::with_capacity(count);
        // SAFETY: `put` wrote this many items of the same type here, by the same code in another process.
        unsafe {
            std::ptr::copy_nonoverlapping((base + 8) as *const T, items.as_mut_ptr(), count);
            items.set_len(count);
        }
        items
    }
}

/// Records that the run could not be controlled.
pub(crate) fn write_loss(message: &str) {
    Cursor::new().put(message.as_bytes());
    state().store(LOST, Ordering::Release);
}

/// Records that the system does not allow the run.
pub(crate) fn write_refusal(message: &str) {
    write_loss(message);
    state().store(REFUSED, Ordering::Release);
}
