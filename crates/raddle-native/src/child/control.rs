//! The only place that answers "is this call the program's, and in a run?".
//!
//! All threads of a run are fibers of one OS thread, and no other OS thread runs code of the program. So one variable is
//! enough. It changes with every call into the runtime, also if the runtime comes back on another fiber.
#![expect(unsafe_code, reason = "objects of the program are looked at")]

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

/// Does `action` inside the runtime, if the call comes from a program under control.
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

/// Where the program called the function whose object is being looked at; 0 at other times.
static PROBED_AT: AtomicUsize = AtomicUsize::new(0);

/// As [`enter`], for a function that the program called at `place` for `object`. If there is no memory, the program gets the
/// signal that it would get without control, before anything of the runtime is at work.
#[inline]
pub(crate) fn enter_for<R>(object: *const c_void, place: usize, action: impl FnOnce() -> R) -> Option<R> {
    if is_running() {
        probe(object, place);
    }
    enter(action)
}

/// Reads a byte of what the program passes to a function that it calls at `place`.
#[inline]
pub(crate) fn probe(object: *const c_void, place: usize) {
    PROBED_AT.store(place, Ordering::Relaxed);
    // SAFETY: the program promises that there is an object; if there is none, the handler of the signal ends the run.
    unsafe { object.cast::<u8>().read_volatile() };
    PROBED_AT.store(0, Ordering::Relaxed);
}

/// Returns where the program called a function with an object that is being looked at, if one is.
pub(crate) fn probed_at() -> Option<usize> {
    Some(PROBED_AT.load(Ordering::Relaxed)).filter(|&place| place != 0)
}

/// Calls a function of libc or of the program from inside the runtime; what it calls is under control.
pub(crate) fn leave<R>(action: impl FnOnce() -> R) -> R {
    let frame = stack::frame();
    PHASE.store(RUNNING, Ordering::Relaxed);
    let result = action();
    PHASE.store(INSIDE, Ordering::Relaxed);
    stack::set_frame(frame);
    result
}

/// From now on the program is under control.
pub(crate) fn begin() {
    PHASE.store(RUNNING, Ordering::Relaxed);
}

/// The runtime is entered without a way back, or on a new fiber.
pub(crate) fn inside() {
    PHASE.store(INSIDE, Ordering::Relaxed);
}

/// From now on nothing is under control.
pub(crate) fn end() {
    PHASE.store(PASSIVE, Ordering::Relaxed);
}

/// Whether the program is under control and the runtime is not what runs.
pub(crate) fn is_running() -> bool {
    PHASE.load(Ordering::Relaxed) == RUNNING
}

/// Whether nothing is under control, in a run that has begun.
pub(crate) fn is_over() -> bool {
    PHASE.load(Ordering::Relaxed) == PASSIVE
}

/// Whether the runtime is what runs.
pub(crate) fn is_inside() -> bool {
    PHASE.load(Ordering::Relaxed) == INSIDE
}

/// Whether this process makes a run.
static RUN: AtomicBool = AtomicBool::new(false);

/// Whether this process is about to serve runs and has not begun.
static STARTING: AtomicBool = AtomicBool::new(false);

/// Notes whether this process is about to serve runs.
pub(crate) fn set_starting(starting: bool) {
    STARTING.store(starting, Ordering::Relaxed);
}

/// Notes that this process makes a run.
pub(crate) fn begin_run() {
    RUN.store(true, Ordering::Relaxed);
}

/// Whether this process is about to serve runs.
pub(crate) fn is_starting() -> bool {
    STARTING.load(Ordering::Relaxed)
}

/// Whether this process makes a run and is not one that the program forked.
pub(crate) fn is_run() -> bool {
    RUN.load(Ordering::Relaxed)
}

/// Notes that this process is one that the program forked.
pub(crate) fn end_run_here() {
    RUN.store(false, Ordering::Relaxed);
}
