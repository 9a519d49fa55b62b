//! Signals as the kernel knows them: masks of OS threads, and names.
#![expect(unsafe_code, reason = "signal masks are changed by system calls")]

use crate::platform::raw;
use std::ffi::c_int;

/// Blocks all signals of the current OS thread and returns the previous mask.
pub(crate) fn block_signals() -> u64 {
    mask_signals(libc::SIG_BLOCK, !0)
}

/// Restores an earlier mask of the current OS thread.
pub(crate) fn set_signals(mask: u64) {
    mask_signals(libc::SIG_SETMASK, mask);
}

/// Changes which signals the current OS thread blocks, and returns those that it blocked.
pub(crate) fn mask_signals(how: i32, mask: u64) -> u64 {
    let mut before = 0_u64;
    let (new, old) = (&raw const mask as usize, &raw mut before as usize);
    // SAFETY: both sets have eight bytes.
    unsafe { raw::syscall(libc::SYS_rt_sigprocmask, [how as usize, new, old, 8, 0, 0]) };
    before
}

/// Returns the name of a signal.
pub(crate) fn name(signal: c_int) -> String {
    let known = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGIO => "SIGIO",
        libc::SIGSYS => "SIGSYS",
        other => return format!("signal {other}"),
    };
    known.to_owned()
}
