//! Who called the code that an operation stands in, by frame pointers.
//!
//! In C the call of a lock stands in the user's code. In Rust it stands some functions deeper, in the standard library or in
//! a crate, and the same address serves every lock of the program. There a place is a call with its callers, as far as
//! frame pointers lead: code that keeps none ends the list, or leaves itself out.
#![expect(unsafe_code, reason = "frames on the stack are read")]

use raddle_model::mix;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The frame pointer of the code that has called into the runtime. Every entry point sets it.
pub(crate) static FRAME: AtomicUsize = AtomicUsize::new(0);

/// The frame of the latest call into the runtime.
#[inline]
pub(crate) fn frame() -> usize {
    FRAME.load(Ordering::Relaxed)
}

/// Makes `frame` that of the latest call again: other threads may have called meanwhile, or functions of libc.
#[inline]
pub(crate) fn set_frame(frame: usize) {
    FRAME.store(frame, Ordering::Relaxed);
}

/// How large the stack of a thread is that says nothing about it.
pub(crate) const USUAL: usize = 8 << 20;

/// Where the stack of a thread is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extent {
    /// No frame of the program is at this address or above.
    top: usize,
    size: usize,
}

impl Extent {
    /// The stack of the thread that runs, on which the program's frames will lie below `mark`.
    pub(crate) fn below<T>(mark: *const T, size: usize) -> Extent {
        Extent { top: mark as usize, size }
    }

    fn holds(&self, address: usize) -> bool {
        (self.top.saturating_sub(self.size)..self.top).contains(&address)
    }
}

/// The callers of the places of a run.
pub(crate) struct Callers {
    /// For each place but the first, which is none, its callers from the inside out and a zero.
    pub(crate) all: Vec<u64>,
    /// Those that were looked at last.
    pub(crate) latest: Vec<u64>,
    /// The code of the runtime, which is left out.
    own: Range<u64>,
}

/// More callers than this are not looked at. Between a user's line and the system lie fewer, also in tokio and rayon.
const MOST: usize = 24;

impl Callers {
    /// Of a run in which the runtime's code is in this range.
    pub(crate) fn new(own: Range<u64>) -> Callers {
        Callers { all: Vec::new(), latest: Vec::new(), own }
    }

    /// Looks at who has called `address`, on this stack. Gives a number that tells it from other ways to the same address.
    pub(crate) fn look(&mut self, address: u64, stack: Extent) -> u64 {
        self.latest.clear();
        let here = 0_u8;
        let here = &raw const here as usize;
        let mut frame = frame();
        let mut key = mix(address);
        // Handlers of signals have a stack of their own, and a frame that they have looked at.
        let mut low = if stack.holds(here) { here } else { frame.wrapping_sub(1) };
        if !stack.holds(frame) {
            return key;
        }
        // What lies between a frame and the top of its stack is mapped, so it can be read, whatever it holds.
        while self.latest.len() < MOST
            && frame > low
            && frame.is_multiple_of(size_of::<usize>())
            && frame + 2 * size_of::<usize>() <= stack.top
        {
            // SAFETY: by the condition, two words of the stack that runs are there.
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

    /// Keeps the callers that were looked at last, for the next place.
    pub(crate) fn keep(&mut self) {
        self.all.append(&mut self.latest);
        self.all.push(0);
    }
}
