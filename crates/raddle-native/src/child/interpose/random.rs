//! Random numbers of the operating system: the same for the same seed and run, and in a replay.
//!
//! Each thread has its own stream, so that its numbers do not depend on when it asks. Before `main` there is
//! one stream, the same for every seed. Not covered: the instructions `rdrand` and `rdseed`, except in C++'s
//! `std::random_device`; the process id, which is the real one so that file names derived from it stay
//! distinct.

use super::entry::exported;
use crate::child::control::{self, enter, is_inside, is_running};
use crate::child::runtime::with;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EFAULT, EIO, c_int, c_uint, c_ulong};
use raddle_engine::Rng;
use raddle_model::mix;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

exported! {
    getrandom getentropy getauxval
}

/// The number of random numbers drawn before `main`.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// Returns the next random number of the current thread; `None` if random numbers are not controlled, for
/// instance in a process that the program forked.
fn draw() -> Option<u64> {
    if let Some(number) = enter(draw_inside) {
        return Some(number);
    }
    let early = control::is_starting() && !is_running() && !is_inside();
    early.then(|| mix(EARLY.fetch_add(1, Ordering::Relaxed).wrapping_add(0x5eed)))
}

fn draw_inside() -> u64 {
    with(|runtime| {
        let (seed, run) = runtime.random;
        let name = runtime.engine.thread_name(runtime.current);
        let stream = runtime.me().random.get_or_insert_with(|| Rng::for_run(mix(seed) ^ name.0, run));
        stream.bits()
    })
}

/// Fills a buffer. Returns true if random numbers are controlled.
fn fill(buffer: *mut c_void, length: usize, draw: impl Fn() -> Option<u64>) -> bool {
    let mut filled = 0;
    while filled < length {
        let Some(number) = draw() else { return false };
        let bytes = number.to_le_bytes();
        let count = bytes.len().min(length - filled);
        // SAFETY: the program passes room for `length` bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.byte_add(filled).cast(), count) };
        filled += count;
    }
    true
}

/// Fills a buffer inside the runtime, for a read of a random file.
pub(super) fn fill_inside(buffer: *mut c_void, length: usize) {
    fill(buffer, length, || Some(draw_inside()));
}

/// Returns the result of the system call `getrandom`, if random numbers are controlled.
pub(super) fn by_number(buffer: usize, length: usize) -> Option<isize> {
    if is_running() && length > 0 && !raw::is_readable(buffer, length) {
        return Some(-(EFAULT as isize));
    }
    fill(buffer as *mut c_void, length, draw).then_some(length as isize)
}

/// Handles `getrandom`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if let Some(result) = by_number(buffer as usize, length) {
        return errno_result(result);
    }
    // SAFETY: the program has called `getrandom` with these arguments.
    unsafe { real::getrandom(buffer, length, flags) }
}

/// Handles `getentropy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    const MOST: usize = 256;
    if length > MOST {
        return errno_result(-(EIO as isize)) as c_int;
    }
    if let Some(result) = by_number(buffer as usize, length) {
        return errno_result(result.min(0)) as c_int;
    }
    // SAFETY: the program has called `getentropy` with these arguments.
    unsafe { real::getentropy(buffer, length) }
}

/// Handles `arc4random_buf`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_buf(buffer: *mut c_void, length: usize) {
    if !fill(buffer, length, draw) {
        // SAFETY: the program has called `getrandom` with these arguments.
        unsafe { real::getrandom(buffer, length, 0) };
    }
}

fn number() -> u32 {
    let mut number = 0_u32;
    // SAFETY: `number` is a local variable of this size.
    unsafe { arc4random_buf((&raw mut number).cast(), size_of::<u32>()) };
    number
}

/// Handles `arc4random`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random() -> u32 {
    number()
}

/// Handles `arc4random_uniform`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_uniform(bound: u32) -> u32 {
    ((u64::from(number()) * u64::from(bound)) >> 32) as u32
}

/// Handles `std::random_device::operator()` of C++, in both forms that its library has. It would use an
/// instruction.
#[unsafe(export_name = "_ZNSt13random_device9_M_getvalEv")]
unsafe extern "C" fn random_device(_: *mut c_void) -> u32 {
    number()
}

/// Like [`random_device`].
#[unsafe(export_name = "_ZNSt13random_device16_M_getval_pretr1Ev")]
unsafe extern "C" fn random_device_of_old(_: *mut c_void) -> u32 {
    number()
}

/// The sixteen random bytes of a program start.
static START: [u64; 2] = [0x8f1d_2c3b_4a59_6877, 0x1029_3847_5665_7483];

/// Handles `getauxval`: the auxiliary vector contains random bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getauxval(kind: c_ulong) -> c_ulong {
    if kind == libc::AT_RANDOM && is_running() {
        return START.as_ptr() as c_ulong;
    }
    // SAFETY: the function has no preconditions.
    unsafe { real::getauxval(kind) }
}
