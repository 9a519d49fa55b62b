//! The memory that the server and a run share, in which the run leaves its results.
//!
//! It begins with a number that says whether there are results, and of which kind, and with who runs and where; then parts
//! follow, each with its length in bytes before it.
#![expect(unsafe_code, reason = "plain data is copied to and from shared memory")]

use crate::platform::raw;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The size of the memory; only what is written takes any.
const SIZE: usize = 1 << 30;

pub(super) const NONE: u64 = 0;
pub(super) const COMPLETE: u64 = 1;
pub(super) const LOST: u64 = 2;
pub(super) const REFUSED: u64 = 3;

static MEMORY: AtomicUsize = AtomicUsize::new(0);

/// Makes the memory; called once, by the server. Tells whether there is any.
pub(crate) fn prepare() -> bool {
    let memory = raw::map(SIZE, true, 0);
    MEMORY.store(memory as usize, Ordering::Relaxed);
    !memory.is_null()
}

/// Where the parts begin.
const PARTS: usize = 64;

/// One of the numbers before the parts.
fn number(index: usize) -> &'static AtomicU64 {
    let base = MEMORY.load(Ordering::Relaxed) as *const AtomicU64;
    // SAFETY: the memory is mapped for as long as the process lives, and its beginning is only used as atomics.
    unsafe { &*base.add(index) }
}

pub(super) fn state() -> &'static AtomicU64 {
    number(0)
}

/// Takes note who runs now, and after which place in the code, in case that nothing is heard of it any more.
#[inline]
pub(crate) fn note_running(thread: u32, place: u64) {
    number(1).store(u64::from(thread), Ordering::Relaxed);
    number(2).store(place, Ordering::Relaxed);
}

/// Takes note how many steps the run has taken.
#[inline]
pub(crate) fn note_steps(steps: u64) {
    number(4).store(steps, Ordering::Relaxed);
}

/// How many steps the run has taken.
pub(crate) fn steps() -> u64 {
    number(4).load(Ordering::Relaxed)
}

/// Takes note what the run waits for that has to come from outside; 0 is nothing.
pub(crate) fn note_outside(awaited: u64) {
    number(3).store(awaited, Ordering::Relaxed);
}

/// Returns what the run waits for that has to come from outside; 0 is nothing.
pub(crate) fn outside() -> u64 {
    number(3).load(Ordering::Relaxed)
}

/// Who ran last, and after which place in the code.
pub(crate) fn running() -> (u64, u64) {
    (number(1).load(Ordering::Relaxed), number(2).load(Ordering::Relaxed))
}

/// Takes note on which OS thread the run goes on; 0 is the main one.
pub(crate) fn note_carrier(number: u32) {
    self::number(5).store(u64::from(number), Ordering::Relaxed);
}

/// The OS thread on which the run went on last; 0 is the main one.
pub(crate) fn carrier() -> u64 {
    number(5).load(Ordering::Relaxed)
}

/// Takes note which signal the program is about to send to its own process; 0 is none.
pub(crate) fn note_sent(signal: i32) {
    number(6).store(signal as u64, Ordering::Relaxed);
}

/// Returns the signal that the program was about to send to its own process; 0 is none.
pub(crate) fn sent() -> i32 {
    number(6).load(Ordering::Relaxed) as i32
}

/// Takes note of the instruction that a run is at which has taken too long.
pub(super) fn note_late(instruction: u64) {
    number(7).store(instruction, Ordering::Relaxed);
}

/// Returns the instruction that the run was at when it was asked because it had taken too long; 0 if it has not answered.
pub(crate) fn late() -> u64 {
    number(7).load(Ordering::Relaxed)
}

/// Forgets the results of the run before.
pub(crate) fn clear() {
    state().store(NONE, Ordering::Release);
    note_running(0, 0);
    note_carrier(0);
    note_outside(0);
    note_steps(0);
    note_sent(0);
    note_late(0);
}

/// Whether the run of now has written its results.
pub(crate) fn are_there() -> bool {
    state().load(Ordering::Acquire) != NONE
}

/// Writes or reads one part after the other.
pub(super) struct Cursor(usize);

impl Cursor {
    pub(super) fn new() -> Cursor {
        Cursor(PARTS)
    }

    pub(super) fn put<T: Copy>(&mut self, items: &[T]) -> bool {
        let length = size_of_val(items);
        if self.0 + 8 + length + 16 > SIZE {
            return false;
        }
        let base = MEMORY.load(Ordering::Relaxed) + self.0;
        // SAFETY: the part lies in the memory, by the check above, and nobody reads it yet.
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
        // SAFETY: `put` wrote so many items of the same type here, by the same code in another process.
        unsafe {
            std::ptr::copy_nonoverlapping((base + 8) as *const T, items.as_mut_ptr(), count);
            items.set_len(count);
        }
        items
    }
}

/// Writes that the run could not be controlled.
pub(crate) fn write_loss(message: &str) {
    Cursor::new().put(message.as_bytes());
    state().store(LOST, Ordering::Release);
}

/// Writes that the system does not let the run be made.
pub(crate) fn write_refusal(message: &str) {
    write_loss(message);
    state().store(REFUSED, Ordering::Release);
}
