//! Timers that are files (`timerfd`), on the virtual clock.
//!
//! The kernel's timer behind the file never runs by itself. When the virtual time has come, it is made to expire at once, and so the file
//! is ready to whoever reads, polls or has it in a set. A thread that waits for such a file, or for a set, waits no longer than
//! until the next timer is due.

#![expect(unsafe_code, reason = "the kernel's timers are set")]

use crate::child::outside::poll_now;
use crate::platform::raw;
use libc::{c_int, itimerspec, timespec};

/// A timer of the program.
pub(crate) struct TimerFile {
    /// What copies of the file have in common.
    pub(super) number: u64,
    pub(super) file: c_int,
    /// Whether its times are of the real clock, not of the monotonic one.
    pub(super) is_real: bool,
    /// When it is due, in virtual nanoseconds since the start; nothing if it does not run.
    pub(super) due: Option<u64>,
    /// After how long it is due again; 0 for never.
    pub(super) interval: u64,
    /// How often it was due since somebody has read it.
    pub(super) count: u64,
}

const SECOND: u64 = 1_000_000_000;

fn time(span: u64) -> timespec {
    timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as i64 }
}

/// Has the kernel's timer behind a file expire at once, or not at all.
pub(super) fn expire(file: c_int, expires: bool) {
    let value = itimerspec { it_interval: time(0), it_value: time(u64::from(expires)) };
    let arguments = [file as usize, libc::TFD_TIMER_ABSTIME as usize, &raw const value as usize, 0, 0, 0];
    // SAFETY: there is a time to be read.
    unsafe { raw::syscall(libc::SYS_timerfd_settime, arguments) };
    if expires {
        poll_now(file);
    }
}
