//! Random delays in a program that is not under control: the common practice without a scheduler. The command
//! line offers it as a baseline.
#![expect(unsafe_code, reason = "sleeps with a system call")]

use crate::platform::raw;
use raddle_model::mix;
use std::sync::atomic::{AtomicU64, Ordering};

/// 0 if nothing is delayed.
static STATE: AtomicU64 = AtomicU64::new(0);

/// One in this many calls is delayed.
const ONE_OF: u64 = 16;
/// The maximum delay in nanoseconds.
const LONGEST: u64 = 200_000;

/// Starts to delay calls at random.
pub(crate) fn begin(seed: u64) {
    STATE.store(mix(seed) | 1, Ordering::Relaxed);
}

/// Waits a moment at random.
#[inline]
pub(crate) fn perhaps() {
    if STATE.load(Ordering::Relaxed) != 0 {
        wait();
    }
}

#[cold]
fn wait() {
    // An odd number plus even ones is never 0.
    let number = mix(STATE.fetch_add(0x9e37_79b9_7f4a_7c14, Ordering::Relaxed));
    if !number.is_multiple_of(ONE_OF) {
        return;
    }
    let span = libc::timespec { tv_sec: 0, tv_nsec: ((number >> 8) % LONGEST) as i64 };
    // SAFETY: the duration is valid, and no remainder is requested. The system call does not change `errno`.
    unsafe { raw::syscall(libc::SYS_nanosleep, [std::ptr::from_ref(&span) as usize, 0, 0, 0, 0, 0]) };
}
