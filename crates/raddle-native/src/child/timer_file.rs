//! Timer files (`timerfd`), on the virtual clock.
//!
//! The kernel's timer of the file never runs by itself. At its virtual expiry time the runtime makes it
//! expire at once, so the file becomes ready for reads, polls and sets. A thread that waits for such a file,
//! or for a set, waits no longer than until the next timer is due.

#![expect(unsafe_code, reason = "sets kernel timers")]

use crate::child::outside::poll_now;
use crate::platform::raw;
use libc::{c_int, itimerspec, timespec};

/// A timer of the program.
pub(crate) struct TimerFile {
    /// The number that duplicates of the file share.
    pub(super) number: u64,
    pub(super) file: c_int,
    /// True if its times refer to the real-time clock, not to the monotonic one.
    pub(super) is_real: bool,
    /// Its expiry time, in virtual nanoseconds since the start; `None` if it does not run.
    pub(super) due: Option<u64>,
    /// The interval; 0 for none.
    pub(super) interval: u64,
    /// The number of expirations since the last read.
    pub(super) count: u64,
}

const SECOND: u64 = 1_000_000_000;

fn time(span: u64) -> timespec {
    timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as i64 }
}

/// Makes the kernel's timer of a file expire at once, or not at all.
pub(super) fn expire(file: c_int, expires: bool) {
    let value = itimerspec { it_interval: time(0), it_value: time(u64::from(expires)) };
    let arguments = [file as usize, libc::TFD_TIMER_ABSTIME as usize, &raw const value as usize, 0, 0, 0];
    // SAFETY: the argument points to a valid time.
    unsafe { raw::syscall(libc::SYS_timerfd_settime, arguments) };
    if expires {
        poll_now(file);
    }
}
