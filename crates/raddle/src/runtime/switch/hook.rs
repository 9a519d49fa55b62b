//! Leaving the panic hook for good, without the lock that std holds around it.
//!
//! What is on the stack between this and std's function that called the hook is unwound by force, that function included, so that
//! its lock is released. The frames above it cannot be unwound, and stay with the stack.

use super::fiber::{Fiber, Leaving};
use std::ffi::{c_int, c_void};

/// What is thrown, in the layout of the C++ ABI for exceptions, with room for all processors.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: usize,
    private: [usize; 20],
}

type Stop = extern "C-unwind" fn(
    c_int,
    c_int,
    u64,
    *mut Exception,
    context: *mut c_void,
    argument: *mut c_void,
) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// An address on the frame of the function to unwind last, and whether that one has been reached.
struct Limit {
    address: usize,
    reached: bool,
}

/// Leaves the fiber that runs for good, from inside of the panic hook. `info` is what std handed to the hook: it is on the frame of
/// the function that holds the lock. Returns only if that is not possible.
pub(crate) fn leave_hook<T: ?Sized>(info: &T) {
    if !Fiber::can_leave() {
        return;
    }
    let limit = Limit { address: std::ptr::from_ref(info).addr(), reached: false };
    let limit: *mut Limit = Box::into_raw(Box::new(limit));
    let exception = Box::into_raw(Box::new(Exception { class: 0, cleanup: 0, private: [0; 20] }));
    // SAFETY: both are never freed, so that they are there as long as the unwinding lasts, which `stop` ends by leaving the
    // stack. The frames up to there are ours and that of the caller of the hook, which may be unwound by a panic in a hook.
    unsafe { _Unwind_ForcedUnwind(exception, stop, limit.cast()) };
}

/// Called before each frame is unwound.
extern "C-unwind" fn stop(
    _version: c_int,
    _actions: c_int,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the argument is that of `leave_hook`, and only one of these calls runs at a time.
    let limit = unsafe { &mut *argument.cast::<Limit>() };
    // SAFETY: the unwinder hands a valid context.
    let frame_end = unsafe { _Unwind_GetCFA(context) };
    if limit.reached {
        Fiber::leave(Leaving::ForGood);
        std::process::abort();
    }
    limit.reached = frame_end > limit.address;
    0
}
