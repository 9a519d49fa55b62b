//! Surviving the abort by which std ends a panic that leaves a destructor during cleanup.
//!
//! std tells the panic hook of such a panic, returns from it, gives back its locks, and calls `abort`. That raises SIGABRT, and
//! POSIX lets a handler of SIGABRT not return: then the process goes on. So the handler leaves the fiber for good. Nothing on its
//! stack is used again, and the stack is never given to another task.

use super::fiber::{Fiber, Leaving};
use std::cell::Cell;
use std::sync::OnceLock;
use std::{mem, ptr};

thread_local! {
    /// Set from the hook's last call on a fiber until the abort that follows at once.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// The action on SIGABRT before ours; none if ours could not be put in place.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Called by the panic hook before std aborts the process: the fiber that runs is left for good at that abort, if somebody
/// waits for its end. Returns whether it will be.
pub(crate) fn leave_at_abort() -> bool {
    let leaves = Fiber::can_leave() && BEFORE.get_or_init(install).is_some();
    EXPECTED.set(leaves);
    leaves
}

fn install() -> Option<libc::sigaction> {
    // SAFETY: all bits zero are an action: the default one, with no flags and no signals blocked.
    let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = on_abort;
    action.sa_sigaction = handler as usize;
    // On the stack that is left, and without a mask that would have to be restored.
    action.sa_flags = libc::SA_NODEFER;
    // SAFETY: the action is complete and its handler has the signature that belongs to its flags.
    (unsafe { libc::sigaction(libc::SIGABRT, &action, &mut before) } == 0).then_some(before)
}

/// Runs inside of `abort`, as the signal is raised there. Where the abort is expected, the caller is std, which holds nothing that
/// others wait for; so any code may run here.
extern "C" fn on_abort(signal: libc::c_int) {
    if EXPECTED.replace(false) {
        Fiber::leave(Leaving::ForGood);
    }
    if let Some(Some(before)) = BEFORE.get() {
        // SAFETY: the action is the one that was in place before.
        unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        // SAFETY: a handler may raise a signal; this one is not blocked and goes to whom it belongs.
        unsafe { libc::raise(signal) };
    }
}
