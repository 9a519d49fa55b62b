//! Functions that end the program.

use super::entry::{entries, exported};
use crate::child::control::enter;
use crate::child::runtime::with;
use crate::child::scheduling::{self, end_run};
use crate::platform::real;
use raddle_model::Failure;
use std::ffi::{CStr, c_char, c_int};

exported! {
    _exit quick_exit
}

entries! {
    __assert_fail => assert_fail;
    abort => abort_here;
}

unsafe extern "C" fn assert_fail(
    text: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    place: usize,
) {
    enter(|| {
        // SAFETY: the compiler passes zero-terminated strings.
        let read = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let message = format!("{}:{line}: assertion `{}` failed", read(file), read(text));
        with(|runtime| {
            runtime.fail(place, |thread, location| Failure::Assertion { thread, location, message });
        });
        end_run();
    });
    // SAFETY: the program has called `__assert_fail` with these arguments.
    unsafe { real::__assert_fail(text, file, line, function) }
}

unsafe extern "C" fn abort_here(place: usize) {
    enter(|| {
        with(|runtime| {
            runtime.fail(place, |thread, location| Failure::Signal {
                thread,
                location,
                signal: "SIGABRT".to_owned(),
                address: None,
            });
        });
        end_run();
    });
    // SAFETY: the function has no preconditions.
    unsafe { real::abort() }
}

pub(super) fn end_with(status: c_int) {
    enter(|| {
        with(|runtime| runtime.status = status);
        scheduling::end_program();
    });
}

/// Handles `_exit`: ends the program without the actions of `exit`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) {
    end_with(status);
    // SAFETY: the function has no preconditions.
    unsafe { real::_exit(status) }
}

/// Handles `_Exit`, the same.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(status: c_int) {
    end_with(status);
    // SAFETY: the function has no preconditions.
    unsafe { real::_exit(status) }
}

/// Handles `quick_exit`, without the functions of `at_quick_exit` in a run.
#[unsafe(no_mangle)]
unsafe extern "C" fn quick_exit(status: c_int) {
    end_with(status);
    // SAFETY: the function has no preconditions.
    unsafe { real::quick_exit(status) }
}
