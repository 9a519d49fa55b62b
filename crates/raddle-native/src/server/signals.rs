//! The signal by which the server hears that a run has ended.
//!
//! A descriptor of the process would tell that, too, but making one for each run takes a twentieth of the time of a short run. So
//! the server blocks the signal and waits for it; a run has it as the program would have it.
#![expect(unsafe_code, reason = "signals and processes are waited for")]

use crate::platform::raw::{self, real_now};
use crate::platform::signals::mask_signals;

/// The set of `SIGCHLD` alone.
const CHILD: u64 = 1 << (libc::SIGCHLD - 1);

/// The signals of the server.
pub(super) struct Signals {
    /// Those that the program had blocked.
    blocked: u64,
    /// Whether it was started with `SIGCHLD` ignored, so that nobody would hear of it.
    ignored: bool,
}

impl Signals {
    /// Lets the server hear of its children. It has no other thread that could.
    pub(super) fn take() -> Signals {
        // SAFETY: an action of zeroes is a valid one, and is overwritten.
        let ignored = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut action);
            action.sa_sigaction == libc::SIG_IGN
        };
        if ignored {
            // SAFETY: no handler is set.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
        Signals { blocked: mask_signals(libc::SIG_BLOCK, CHILD), ignored }
    }

    /// In a run: the program has its signals as it was started with them.
    pub(super) fn give_back(&self) {
        mask_signals(libc::SIG_SETMASK, self.blocked);
        if self.ignored {
            // SAFETY: no handler is set.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        }
    }

    /// Waits until something has come of a child, no longer than so many milliseconds. Tells whether it was in time. Other signals, as a
    /// timer sends them that the program has started before `main`, do not begin that time anew.
    pub(super) fn wait(&self, patience: i32) -> bool {
        const SECOND: u64 = 1_000_000_000;
        let whole = patience.max(0) as u64 * 1_000_000;
        let (mut left, mut interrupted) = (whole, None);
        loop {
            let limit = libc::timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 };
            let [set, limit] = [std::ptr::from_ref(&CHILD) as usize, &raw const limit as usize];
            // SAFETY: the kernel reads the set and the limit.
            let signal = unsafe { raw::syscall(libc::SYS_rt_sigtimedwait, [set, 0, limit, 8, 0, 0]) };
            if signal != -(libc::EINTR as isize) {
                return signal != -(libc::EAGAIN as isize);
            }
            // The clock is not looked at before, which every run would pay for.
            let now = real_now();
            left = whole.saturating_sub(now - *interrupted.get_or_insert(now));
        }
    }
}

/// The status of a child, if it has ended. One that the system does not know any more has.
pub(super) fn status(child: i32) -> Option<i32> {
    let mut status = 0_i32;
    let arguments = [child as usize, &raw mut status as usize, libc::WNOHANG as usize, 0, 0, 0];
    // SAFETY: the status is written.
    let ended = unsafe { raw::syscall(libc::SYS_wait4, arguments) };
    (ended != 0).then_some(status)
}
