//! Decides whether a call comes from the program, and in a run; no other module does.
//!
//! All threads of a run are fibers of one OS thread, and no other OS thread runs code of the program. So one
//! variable suffices. It changes with every call into the runtime, even if the runtime returns on another
//! fiber.
#![expect(unsafe_code, reason = "reads objects of the program")]

use crate::child::{delay, stack};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// Nothing is under control: before the run, after its end, or in a process that the program forked.
const PASSIVE: u8 = 0;
/// The program runs.
const RUNNING: u8 = 1;
/// The runtime runs.
const INSIDE: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(PASSIVE);

/// Calls `action` inside the runtime, if the call comes from a program under control.
#[inline]
pub(crate) fn enter<R>(action: impl FnOnce() -> R) -> Option<R> {
    if PHASE.load(Ordering::Relaxed) != RUNNING {
        delay::perhaps();
        return None;
    }
    PHASE.store(INSIDE, Ordering::Relaxed);
    let result = action();
    PHASE.store(RUNNING, Ordering::Relaxed);
    Some(result)
}

/// The location where the program called the function whose object is being probed; 0 otherwise.
static PROBED_AT: AtomicUsize = AtomicUsize::new(0);

/// Like [`enter`], for a function that the program called at `place` for `object`. If the memory is not
/// mapped, the program gets the same signal as without control, before the runtime starts any work.
#[inline]
pub(crate) fn enter_for<R>(object: *const c_void, place: usize, action: impl FnOnce() -> R) -> Option<R> {
    if is_running() {
        probe(object, place);
    }
    enter(action)
}

/// Reads a byte of the object that the program passes to a function called at `place`.
#[inline]
pub(crate) fn probe(object: *const c_void, place: usize) {
    PROBED_AT.store(place, Ordering::Relaxed);
    // SAFETY: the C contract of the called function requires a valid object; if there is none, the signal
    // handler ends the run.
    unsafe { object.cast::<u8>().read_volatile() };
    PROBED_AT.store(0, Ordering::Relaxed);
}

/// Reads an argument of a function that the program called at `place`. If the memory is not mapped, the program gets SIGSEGV.
///
/// # Safety
/// If the memory is mapped, it holds a value of this type. The caller is not inside `runtime::with`.
pub(crate) unsafe fn read<T: Copy>(object: *const T, place: usize) -> T {
    PROBED_AT.store(place, Ordering::Relaxed);
    // SAFETY: mapped memory holds a value; otherwise the signal handler ends the run.
    let value = unsafe {
        // Debug builds check pointers of other accesses, and would panic.
        object.cast::<u8>().read_volatile();
        object.read_unaligned()
    };
    PROBED_AT.store(0, Ordering::Relaxed);
    value
}

/// Writes a result of a function that the program called at `place`. If the memory is not writable, the program gets
/// SIGSEGV.
///
/// # Safety
/// If the memory is mapped, it has room for a value of this type. The caller is not inside `runtime::with`.
pub(crate) unsafe fn write<T: Copy>(room: *mut T, value: T, place: usize) {
    PROBED_AT.store(place, Ordering::Relaxed);
    // SAFETY: mapped memory has room; otherwise the signal handler ends the run.
    unsafe {
        // As in `read`.
        room.cast::<u8>().read_volatile();
        room.write_unaligned(value);
    }
    PROBED_AT.store(0, Ordering::Relaxed);
}

/// Returns the location where the program called a function with an object that is being probed, if any.
pub(crate) fn probed_at() -> Option<usize> {
    Some(PROBED_AT.load(Ordering::Relaxed)).filter(|&place| place != 0)
}

/// Calls a function of libc or of the program from inside the runtime; the functions it calls are under
/// control.
pub(crate) fn leave<R>(action: impl FnOnce() -> R) -> R {
    let frame = stack::frame();
    PHASE.store(RUNNING, Ordering::Relaxed);
    let result = action();
    PHASE.store(INSIDE, Ordering::Relaxed);
    stack::set_frame(frame);
    result
}

/// Starts control of the program.
pub(crate) fn begin() {
    PHASE.store(RUNNING, Ordering::Relaxed);
}

/// Enters the runtime without a way back, or on a new fiber.
pub(crate) fn inside() {
    PHASE.store(INSIDE, Ordering::Relaxed);
}

/// Ends control.
pub(crate) fn end() {
    PHASE.store(PASSIVE, Ordering::Relaxed);
}

/// Forgets the state of the previous run, which has ended control.
pub(crate) fn forget() {
    PROBED_AT.store(0, Ordering::Relaxed);
    PHASE.store(PASSIVE, Ordering::Relaxed);
}

/// Returns true if the program is under control and the runtime is not executing.
pub(crate) fn is_running() -> bool {
    PHASE.load(Ordering::Relaxed) == RUNNING
}

/// Returns true if nothing is under control, in a run that has begun.
pub(crate) fn is_over() -> bool {
    PHASE.load(Ordering::Relaxed) == PASSIVE
}

/// Returns true if the runtime is executing.
pub(crate) fn is_inside() -> bool {
    PHASE.load(Ordering::Relaxed) == INSIDE
}

/// True if this process executes a run.
static RUN: AtomicBool = AtomicBool::new(false);

/// True if this process is about to serve runs and has not begun.
static STARTING: AtomicBool = AtomicBool::new(false);

/// Records whether this process is about to serve runs.
pub(crate) fn set_starting(starting: bool) {
    STARTING.store(starting, Ordering::Relaxed);
}

/// Records that this process executes a run.
pub(crate) fn begin_run() {
    RUN.store(true, Ordering::Relaxed);
}

/// Returns true if this process is about to serve runs.
pub(crate) fn is_starting() -> bool {
    STARTING.load(Ordering::Relaxed)
}

/// Returns true if this process executes a run and was not forked by the program.
pub(crate) fn is_run() -> bool {
    RUN.load(Ordering::Relaxed)
}

/// Records that the program forked this process.
pub(crate) fn end_run_here() {
    RUN.store(false, Ordering::Relaxed);
}
