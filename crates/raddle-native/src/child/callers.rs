//! Finds the program's own call when it crashes inside a library of the compiler, or outside of any code.
#![expect(unsafe_code, reason = "the stack is unwound")]

use crate::platform::modules::Modules;
use crate::platform::raw;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Lets the unwinder continue with the next caller.
const NEXT: c_int = 0;
/// Stops the unwinder.
const STOP: c_int = 4;

/// The state of a search for the program's own call.
struct Search<'a> {
    modules: &'a Modules,
    /// The return address of the innermost call in the program's own code.
    found: Option<usize>,
}

unsafe extern "C" fn visit(context: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: `of_program` passes a search, which outlives the unwinding.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the unwinder passes its context.
    let address = unsafe { _Unwind_GetIP(context) };
    if !search.modules.is_program(address as u64) {
        return NEXT;
    }
    search.found = Some(address);
    STOP
}

/// The files of the program, for signal handlers that may interrupt `runtime::with`.
static MODULES: AtomicPtr<Modules> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the files that [`of_program_here`] uses.
pub(crate) fn set_modules(modules: &'static Modules) {
    MODULES.store(std::ptr::from_ref(modules).cast_mut(), Ordering::Relaxed);
}

/// Returns the same as [`of_program`], inside `runtime::with` too.
pub(super) fn of_program_here(place: usize, top: usize) -> usize {
    // SAFETY: `set_modules` takes a reference that lives forever, and is never written.
    match unsafe { MODULES.load(Ordering::Relaxed).as_ref() } {
        Some(modules) => of_program(modules, place, top),
        None => place + 1,
    }
}

/// Returns the return address of the innermost call in the program's own code. Called by the handler of a signal that interrupted
/// the instruction `place` with the stack pointer `top`. If that instruction is the program's, or no call is found, returns the
/// address after it.
pub(super) fn of_program(modules: &Modules, place: usize, top: usize) -> usize {
    if modules.is_program(place as u64) {
        return place + 1;
    }
    // A call of an invalid address has only pushed its return address.
    if !modules.contain(place as u64) && raw::is_readable(top, size_of::<usize>()) {
        // SAFETY: the memory is mapped.
        let back = unsafe { (top as *const usize).read_unaligned() };
        if modules.is_program(back as u64) {
            return back;
        }
    }
    let mut search = Search { modules, found: None };
    // SAFETY: the search is what `visit` takes.
    unsafe { _Unwind_Backtrace(visit, (&raw mut search).cast()) };
    search.found.unwrap_or(place + 1)
}
