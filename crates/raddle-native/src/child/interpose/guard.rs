//! Static variables of C++ functions: initialized once, by the first thread.
//!
//! The compiler checks the first byte of the guard with an atomic access, and calls these functions only if
//! the static is not initialized. So the end of the initialization is a release of that byte for threads that
//! only read it, and the end of a once-initialization for threads that wait.

use super::access::{Accessed, Announced, Orders, announce};
use super::entry::entries;
use super::once::{begin, end, must_announce};
use crate::child::control::enter;
use crate::child::weak;
use crate::platform::real;
use raddle_engine::Reply;
use raddle_model::Kind;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

entries! {
    __cxa_guard_acquire => acquire;
    __cxa_guard_release => release;
    __cxa_guard_abort => abort;
}

/// The first byte of a guard whose static is initialized.
const MADE: u8 = 1;
/// The number of the release order in C.
const RELEASE: c_int = 3;

fn first_byte(guard: *mut c_void) -> &'static AtomicU8 {
    // SAFETY: the compiler passes a guard of eight bytes, which lives as long as the program.
    unsafe { AtomicU8::from_ptr(guard.cast()) }
}

/// Returns 1 if the caller must initialize the static.
unsafe extern "C" fn acquire(guard: *mut c_void, place: usize) -> c_int {
    let begun = enter(|| {
        if first_byte(guard).load(Ordering::Acquire) == MADE && !must_announce(guard) {
            return 0;
        }
        c_int::from(begin(guard, place) == Reply::RunOnce)
    });
    // SAFETY: the program has called `__cxa_guard_acquire` with these arguments.
    begun.unwrap_or_else(|| unsafe { real::__cxa_guard_acquire(guard) })
}

unsafe extern "C" fn release(guard: *mut c_void, place: usize) {
    let ended = enter(|| {
        let (address, orders) = (guard as usize, Orders::atomic(RELEASE));
        let written = Accessed { kind: Kind::Write, address, size: 1, orders, expected: None, place };
        if announce(written) == Announced::Weakly {
            weak::execute(address, 1, false, |_| ((), Some(u128::from(MADE))));
        } else {
            first_byte(guard).store(MADE, Ordering::Release);
        }
        end(guard, place, true);
    });
    if ended.is_none() {
        // SAFETY: the program has called `__cxa_guard_release` with these arguments.
        unsafe { real::__cxa_guard_release(guard) };
    }
}

/// Handles an exception in the initialization of the static: the next thread tries.
unsafe extern "C" fn abort(guard: *mut c_void, place: usize) {
    if enter(|| end(guard, place, false)).is_none() {
        // SAFETY: the program has called `__cxa_guard_abort` with these arguments.
        unsafe { real::__cxa_guard_abort(guard) };
    }
}
