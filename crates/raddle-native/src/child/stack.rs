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
    pub(super) size: usize,
}

impl Extent {
    /// Returns the stack of the current thread, on which the program's frames will be below `mark`.
    pub(crate) fn below<T>(mark: *const T, size: usize) -> Extent {
        Extent { top: mark as usize, size }
    }

    pub(crate) fn holds(&self, address: usize) -> bool {
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
    /// Further data recorded for a run that is shown.
    pub(crate) shown: Option<ShownStacks>,
}

/// The stacks of a run that is shown.
pub(crate) struct ShownStacks {
    /// The code of the program.
    code: Range<u64>,
    /// For each thread the functions on its stack at its latest call into the runtime, from the inside out.
    pub(crate) threads: Vec<Vec<StackFrame>>,
}

/// A function on a stack.
#[derive(Clone, Copy)]
pub(crate) struct StackFrame {
    /// An address in the function, after a call.
    pub(crate) address: u64,
    /// Its frame pointer.
    pub(crate) pointer: u64,
}

/// The maximum number of callers. There are fewer between a user's line and the system, even in tokio and
/// rayon.
const MOST: usize = 24;

impl Callers {
    /// Creates the callers of a run in which the runtime's code is in this range.
    pub(crate) fn new(own: Range<u64>) -> Callers {
        Callers { all: Vec::new(), latest: Vec::new(), own, shown: None }
    }

    /// Of a run that is shown, in which the program's code is in the second range.
    pub(crate) fn shown(own: Range<u64>, code: Range<u64>) -> Callers {
        Callers { shown: Some(ShownStacks { code, threads: Vec::new() }), ..Callers::new(own) }
    }

    /// Looks as [`Callers::look`] does, and keeps the frames of `thread` if the run is shown.
    pub(crate) fn look_at(&mut self, thread: usize, address: u64, stack: Extent) -> u64 {
        let Some(shown) = &self.shown else { return self.look(address, stack) };
        let code = shown.code.clone();
        let here = 0_u8;
        let gap = if code.contains(&address) {
            None
        } else {
            user_call(&raw const here as usize, address, stack, &code)
        };
        let key = self.look(address, stack);
        let mut frames: Vec<StackFrame> = Vec::new();
        let mut pointer = frame();
        if let Some(call) = gap.filter(|call| !self.latest.contains(call)) {
            self.latest.insert(0, call);
            frames.push(StackFrame { address: call, pointer: pointer as u64 });
        } else if code.contains(&address) {
            frames.push(StackFrame { address, pointer: pointer as u64 });
        }
        let from = frames.len().min(usize::from(gap.is_some()));
        for &back in &self.latest[from.min(self.latest.len())..] {
            if !stack.holds(pointer) {
                break;
            }
            // SAFETY: `look` has read this word, which links the frames.
            pointer = unsafe { *(pointer as *const usize) };
            frames.push(StackFrame { address: back, pointer: pointer as u64 });
        }
        if let Some(shown) = &mut self.shown {
            if shown.threads.len() <= thread {
                shown.threads.resize(thread + 1, Vec::new());
            }
            shown.threads[thread] = frames;
        }
        // The way to the user's call is part of the place.
        gap.map_or(key, |call| mix(key ^ call))
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

/// Returns where the program called into the library that has called the runtime: libraries keep no frame pointers, so that the
/// function of the program is missing from the list. It is the first word above the return address of the library, which is
/// somewhere above `here`, that lies in `code` after a call.
fn user_call(here: usize, address: u64, stack: Extent, code: &Range<u64>) -> Option<u64> {
    /// So many words of a library's own frames are looked at.
    const MOST: usize = 256;
    const WORD: usize = size_of::<usize>();
    if !stack.holds(here) {
        return None;
    }
    // SAFETY: what lies between this frame and the top of its stack is mapped.
    let word = |at: usize| unsafe { *(at as *const u64) };
    let limit = if stack.holds(frame()) { frame() } else { stack.top };
    let first = here.next_multiple_of(WORD);
    let entry = (first..limit.min(stack.top - WORD)).step_by(WORD).rfind(|&at| word(at) == address)?;
    let above = (entry + WORD..limit.min(stack.top - WORD)).step_by(WORD).take(MOST);
    above.map(word).find(|value| {
        let is_code = code.contains(&value.wrapping_sub(7)) && code.contains(&value.wrapping_add(8));
        is_code && follows_call(*value) && !begins_function(*value)
    })
}

/// Returns true if a function of the program begins at an address, whose pointer a library has saved: programs with hooks keep frame
/// pointers. The function before it may end with a call that does not return.
fn begins_function(address: u64) -> bool {
    const PUSH_FRAME: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    // SAFETY: the caller has checked that these bytes lie in the code of the program.
    let bytes = unsafe { *(address as *const [u8; 4]) };
    bytes == PUSH_FRAME || bytes == ENDBR64
}

/// Returns true if the instruction before an address is a call.
fn follows_call(address: u64) -> bool {
    // SAFETY: both ends lie in the code of the program, which is mapped.
    let bytes = unsafe { *((address - 7) as *const [u8; 7]) };
    let is_indirect = |at: usize| bytes[at] == 0xff && bytes[at + 1] & 0x38 == 0x10;
    bytes[2] == 0xe8 || is_indirect(1) || is_indirect(4) || is_indirect(5)
}
