//! Survives the abort with which std ends a panic that leaves a destructor during cleanup.
//!
//! std calls the panic hook for such a panic, returns from it, releases its locks, and calls `abort`. That
//! raises SIGABRT, and POSIX allows a handler of SIGABRT not to return: the process then continues. So the
//! handler abandons the fiber. Nothing on its stack is used again, and the stack is never given to another
//! task.

use super::fiber::{Fiber, SuspendReason};
use std::cell::Cell;
use std::sync::OnceLock;
use std::{mem, ptr};

thread_local! {
    /// Set from the hook's last call on a fiber until the abort that follows immediately.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// The previous action for SIGABRT; `None` if ours could not be installed.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Prepares to abandon the current fiber at the abort that std is about to call, if a thread waits for its
/// end; called by the panic hook. Returns true if the fiber will be abandoned.
pub(crate) fn abandon_at_abort() -> bool {
    let leaves = Fiber::can_suspend() && BEFORE.get_or_init(install).is_some();
    EXPECTED.set(leaves);
    leaves
}

fn install() -> Option<libc::sigaction> {
    // SAFETY: all-zero bits are a valid `sigaction`: the default action, with no flags and no blocked
    // signals.
    let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = on_abort;
    action.sa_sigaction = handler as usize;
    // On the abandoned stack, and without a mask that would have to be restored.
    action.sa_flags = libc::SA_NODEFER;
    // SAFETY: the action is complete and its handler has the signature that its flags require.
    (unsafe { libc::sigaction(libc::SIGABRT, &action, &mut before) } == 0).then_some(before)
}

/// Handles SIGABRT, inside `abort`, where the signal is raised. If the abort is expected, the caller is std,
/// which holds no locks; so any code may run here.
extern "C" fn on_abort(signal: libc::c_int) {
    if EXPECTED.replace(false) {
        Fiber::suspend(SuspendReason::Abandoned);
    }
    if let Some(Some(before)) = BEFORE.get() {
        // SAFETY: `before` is the action that `sigaction` returned at installation.
        unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        // SAFETY: a handler may raise a signal; this one is not blocked and goes to the previous action.
        unsafe { libc::raise(signal) };
    }
}
