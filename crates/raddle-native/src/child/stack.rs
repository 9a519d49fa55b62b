//! The callers of the code of an operation, by frame pointers.
//!
//! In C the call of a lock is in the user's code. In Rust it is some functions deeper, in the standard
//! library or in a crate, and the same address serves every lock of the program. There a location is a call
//! with its callers, as far as frame pointers lead: code without frame pointers ends the list, or is missing
//! from it.
#![expect(unsafe_code, reason = "frames on the stack are read")]

use raddle_model::mix;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The frame pointer of the code that has called into the runtime. Every entry point sets it.
pub(crate) static FRAME: AtomicUsize = AtomicUsize::new(0);

/// Returns the frame of the latest call into the runtime.
#[inline]
pub(crate) fn frame() -> usize {
    FRAME.load(Ordering::Relaxed)
}

/// Restores `frame` as that of the latest call: other threads or functions of libc may have called meanwhile.
#[inline]
pub(crate) fn set_frame(frame: usize) {
    FRAME.store(frame, Ordering::Relaxed);
}

/// The default stack size of a thread.
pub(crate) const USUAL: usize = 8 << 20;

/// The address range of a thread's stack.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extent {
    /// All frames of the program are below this address.
    top: usize,
    size: usize,
}

impl Extent {
    /// Returns the stack of the current thread, on which the program's frames will be below `mark`.
    pub(crate) fn below<T>(mark: *const T, size: usize) -> Extent {
        Extent { top: mark as usize, size }
    }

    fn holds(&self, address: usize) -> bool {
        (self.top.saturating_sub(self.size)..self.top).contains(&address)
    }
}

/// The callers of the locations of a run.
pub(crate) struct Callers {
    /// For each location except the first, which is none, its callers from the inside out and a zero.
    pub(crate) all: Vec<u64>,
    /// The callers found last.
    pub(crate) latest: Vec<u64>,
    /// The code of the runtime, which is omitted.
    own: Range<u64>,
}

/// The maximum number of callers. There are fewer between a user's line and the system, even in tokio and
/// rayon.
const MOST: usize = 24;

impl Callers {
    /// Creates the callers of a run in which the runtime's code is in this range.
    pub(crate) fn new(own: Range<u64>) -> Callers {
        Callers { all: Vec::new(), latest: Vec::new(), own }
    }

    /// Finds the callers of `address` on this stack. Returns a number that distinguishes them from other
    /// paths to the same address.
    pub(crate) fn look(&mut self, address: u64, stack: Extent) -> u64 {
        self.latest.clear();
        let here = 0_u8;
        let here = &raw const here as usize;
        let mut frame = frame();
        let mut key = mix(address);
        // Signal handlers have their own stack, and a frame that they have checked.
        let mut low = if stack.holds(here) { here } else { frame.wrapping_sub(1) };
        if !stack.holds(frame) {
            return key;
        }
        // The memory between a frame and the top of its stack is mapped, so it can be read, whatever it
        // contains.
        while self.latest.len() < MOST
            && frame > low
            && frame.is_multiple_of(size_of::<usize>())
            && frame + 2 * size_of::<usize>() <= stack.top
        {
            // SAFETY: by the condition, two words of the current stack are there.
            let [next, back] = unsafe { *(frame as *const [usize; 2]) };
            if back == 0 {
                break;
            }
            if !self.own.contains(&(back as u64)) {
                self.latest.push(back as u64);
                key = mix(key ^ back as u64);
            }
            (low, frame) = (frame, next);
        }
        key
    }

    /// Stores the callers found last, for the next location.
    pub(crate) fn keep(&mut self) {
        self.all.append(&mut self.latest);
        self.all.push(0);
    }
}
