//! The stack of another OS thread, captured by a signal to it: how a check that hangs tells where.
//!
//! The handler runs on the stack of the fiber that hangs. It allocates, which a handler must not do in general: the thread may hold the
//! lock of the allocator. A thread is asked only where it has made no step for seconds, and whoever asks gives up after a moment.

use std::backtrace::Backtrace;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;
use std::{mem, ptr};

/// The latest stack that was asked for.
static CAPTURED: Mutex<Option<Backtrace>> = Mutex::new(None);

/// Programs hardly ever use it, and it is ignored where nobody handles it.
const SIGNAL: libc::c_int = libc::SIGURG;

/// The number of the current OS thread, for [`capture`].
pub(crate) fn thread_number() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::gettid() }
}

/// Returns the stack of the OS thread `number` of this process; nothing if the thread does not answer.
pub(crate) fn capture(number: i32) -> Option<Backtrace> {
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
    drop(take());
    // SAFETY: the numbers are those of this process, a thread that was one of it, and a signal with a handler.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), number, SIGNAL) };
    if sent != 0 {
        return None;
    }
    (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        take()
    })
}

fn take() -> Option<Backtrace> {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn install() {
    // SAFETY: all bits zero are an action: the default one, with no flags and no signals blocked.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = on_signal;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete and its handler has the signature that goes without SA_SIGINFO.
    unsafe { libc::sigaction(SIGNAL, &action, ptr::null_mut()) };
}

extern "C" fn on_signal(_signal: libc::c_int) {
    let stack = Backtrace::force_capture();
    if let Ok(mut captured) = CAPTURED.try_lock() {
        *captured = Some(stack);
    }
}
