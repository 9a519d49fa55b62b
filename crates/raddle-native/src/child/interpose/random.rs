//! Random numbers of the operating system: the same for the same seed and run, and in a replay.
//!
//! Each thread has a stream of its own, so that what it gets does not depend on when it asks. Before `main` there is one
//! stream, the same for every seed. What is not seen: the instructions `rdrand` and `rdseed`, but for `std::random_device` of C++; random
//! files that stdio opens by another name; the number of the process, which is a real one so that names of files made of it
//! stay different.

use super::entry::exported;
use crate::child::control::{self, enter, is_inside, is_running};
use crate::child::runtime::with;
use crate::platform::{raw, real};
use libc::{EIO, c_int, c_uint, c_ulong};
use raddle_engine::Rng;
use raddle_model::mix;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

exported! {
    getrandom getentropy getauxval fopen fopen64
}

/// How many numbers were drawn before `main`.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// The next random number of the current thread; none if random numbers are not ours, in a process that the program forked for
/// instance.
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

/// Fills a buffer. Tells whether the random numbers are ours.
fn fill(buffer: *mut c_void, length: usize, draw: impl Fn() -> Option<u64>) -> bool {
    let mut filled = 0;
    while filled < length {
        let Some(number) = draw() else { return false };
        let bytes = number.to_le_bytes();
        let count = bytes.len().min(length - filled);
        // SAFETY: the program promises room for `length` bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.byte_add(filled).cast(), count) };
        filled += count;
    }
    true
}

/// Fills a buffer inside the runtime, for a read of a random file.
pub(super) fn fill_inside(buffer: *mut c_void, length: usize) {
    fill(buffer, length, || Some(draw_inside()));
}

/// What `getrandom` gives, if it is ours.
pub(super) fn by_number(buffer: usize, length: usize) -> Option<isize> {
    fill(buffer as *mut c_void, length, draw).then_some(length as isize)
}

/// `getrandom`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if fill(buffer, length, draw) {
        return length as isize;
    }
    // SAFETY: the program has called `getrandom` with these arguments.
    unsafe { real::getrandom(buffer, length, flags) }
}

/// `getentropy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    const MOST: usize = 256;
    if length > MOST {
        return raw::errno_result(-(EIO as isize)) as c_int;
    }
    if fill(buffer, length, draw) {
        return 0;
    }
    // SAFETY: the program has called `getentropy` with these arguments.
    unsafe { real::getentropy(buffer, length) }
}

/// `arc4random_buf`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_buf(buffer: *mut c_void, length: usize) {
    if !fill(buffer, length, draw) {
        // SAFETY: the program has called `getrandom` with these arguments.
        unsafe { real::getrandom(buffer, length, 0) };
    }
}

fn number() -> u32 {
    let mut number = 0_u32;
    // SAFETY: there is room for a number.
    unsafe { arc4random_buf((&raw mut number).cast(), size_of::<u32>()) };
    number
}

/// `arc4random`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random() -> u32 {
    number()
}

/// `arc4random_uniform`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_uniform(bound: u32) -> u32 {
    ((u64::from(number()) * u64::from(bound)) >> 32) as u32
}

/// `std::random_device::operator()` of C++, in both forms that its library has. It would use an instruction.
#[unsafe(export_name = "_ZNSt13random_device9_M_getvalEv")]
unsafe extern "C" fn random_device(_: *mut c_void) -> u32 {
    number()
}

/// As [`random_device`].
#[unsafe(export_name = "_ZNSt13random_device16_M_getval_pretr1Ev")]
unsafe extern "C" fn random_device_of_old(_: *mut c_void) -> u32 {
    number()
}

/// Sixteen bytes that are random for each start of a program.
static START: [u64; 2] = [0x8f1d_2c3b_4a59_6877, 0x1029_3847_5665_7483];

/// `getauxval`: what the kernel hands over at the start of a program has random bytes in it.
#[unsafe(no_mangle)]
unsafe extern "C" fn getauxval(kind: c_ulong) -> c_ulong {
    if kind == libc::AT_RANDOM && is_running() {
        return START.as_ptr() as c_ulong;
    }
    // SAFETY: it has no condition.
    unsafe { real::getauxval(kind) }
}

/// A stream of stdio that reads random numbers, if that is what `path` names.
fn open_random(path: *const c_char) -> Option<*mut c_void> {
    /// How much a program can read from it.
    const LENGTH: usize = 1 << 16;
    // SAFETY: the program passes a path that ends with a zero.
    let path = unsafe { CStr::from_ptr(path) };
    if !is_running() || (path != c"/dev/urandom" && path != c"/dev/random") {
        return None;
    }
    let mut bytes = vec![0_u8; LENGTH];
    enter(|| fill_inside(bytes.as_mut_ptr().cast(), LENGTH))?;
    // SAFETY: the bytes are copied to a new file, which is read from its beginning.
    unsafe {
        let file = libc::memfd_create(c"random".as_ptr(), libc::MFD_CLOEXEC);
        libc::pwrite(file, bytes.as_ptr().cast(), LENGTH, 0);
        Some(libc::fdopen(file, c"r".as_ptr()).cast())
    }
}

/// `fopen`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    // SAFETY: the program has called `fopen` with these arguments.
    open_random(path).unwrap_or_else(|| unsafe { real::fopen(path, mode) })
}

/// `fopen64`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void {
    // SAFETY: the program has called `fopen64` with these arguments.
    open_random(path).unwrap_or_else(|| unsafe { real::fopen64(path, mode) })
}
