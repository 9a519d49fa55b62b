//! The signal by which the server learns that a run has ended.
//!
//! A process descriptor would do the same, but creating one for each run takes a twentieth of the time of a
//! short run. So the server blocks the signal and waits for it; a run has the signal in its original state.
#![expect(unsafe_code, reason = "waits for signals and processes")]

use crate::platform::raw::{self, real_now};
use crate::platform::signals::mask_signals;

/// The set of `SIGCHLD` alone.
const CHILD: u64 = 1 << (libc::SIGCHLD - 1);

/// The signals of the server.
pub(super) struct Signals {
    /// The signals that the program had blocked.
    blocked: u64,
    /// True if the program was started with `SIGCHLD` ignored, so that the signal would not be delivered.
    ignored: bool,
}

impl Signals {
    /// Lets the server receive `SIGCHLD`. It has no other thread that could.
    pub(super) fn take() -> Signals {
        // SAFETY: an all-zero action is valid, and is overwritten.
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

    /// Restores the original signal state of the program, in a run.
    pub(super) fn give_back(&self) {
        mask_signals(libc::SIG_SETMASK, self.blocked);
        if self.ignored {
            // SAFETY: no handler is set.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        }
    }

    /// Waits until a child has changed its state, at most `patience` milliseconds. Returns true if it was in
    /// time. Other signals, for instance from a timer that the program started before `main`, do not restart
    /// that time.
    pub(super) fn wait(&self, patience: i32) -> bool {
        const SECOND: u64 = 1_000_000_000;
        let data = patience.max(0) as u64 * 1_000_000;
        let (mut left, mut interrupted) = (data, None);
        loop {
            let limit = libc::timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 };
            let [set, limit] = [std::ptr::from_ref(&CHILD) as usize, &raw const limit as usize];
            // SAFETY: the kernel reads the set and the limit.
            let signal = unsafe { raw::syscall(libc::SYS_rt_sigtimedwait, [set, 0, limit, 8, 0, 0]) };
            if signal != -(libc::EINTR as isize) {
                return signal != -(libc::EAGAIN as isize);
            }
            // The clock is not read earlier, which would cost every run.
            let now = real_now();
            left = data.saturating_sub(now - *interrupted.get_or_insert(now));
        }
    }
}

/// Returns the status of a child, if it has ended. One that the system no longer knows has.
pub(super) fn status(child: i32) -> Option<i32> {
    let mut status = 0_i32;
    let arguments = [child as usize, &raw mut status as usize, libc::WNOHANG as usize, 0, 0, 0];
    // SAFETY: the kernel writes the status into a local variable.
    let ended = unsafe { raw::syscall(libc::SYS_wait4, arguments) };
    (ended != 0).then_some(status)
}
