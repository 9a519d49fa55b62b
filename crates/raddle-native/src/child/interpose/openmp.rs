//! Locks and critical sections of OpenMP. Its library would wait for them on futexes, see
//! [`crate::child::trap`], which shows only the waiting thread; here taking one is a step, and its holder is
//! known. They are never locked in the library itself.

use super::entry::entries;
use crate::child::control::enter;
use crate::child::objects::Class;
use crate::child::runtime::with;
use crate::child::scheduling::step_on;
use crate::platform::real::Hidden;
use raddle_engine::Reply;
use raddle_model::{Access, Kind};
use std::ffi::{c_int, c_void};

entries! {
    omp_set_lock(lock: *mut c_void) => set;
    omp_unset_lock(lock: *mut c_void) => unset;
    omp_test_lock(lock: *mut c_void) -> c_int => test;
    GOMP_critical_start() => begin;
    GOMP_critical_end() => end;
    GOMP_critical_name_start(lock: *mut c_void) => begin_named;
    GOMP_critical_name_end(lock: *mut c_void) => end_named;
}

/// The object of the unnamed critical section.
static SECTION: u64 = 0;

fn act(kind: Kind, lock: *const c_void, place: usize) -> Reply {
    step_on(kind, place, Access::Write, |runtime| runtime.object(lock as u64, Class::SpinLock, || 0))
}

/// Calls the library's function, for a lock that the run does not know.
fn forward(function: &Hidden, lock: *mut c_void) -> c_int {
    let address = function.find();
    if address == 0 {
        return 0;
    }
    // SAFETY: all of these functions take a lock or nothing, and return a number or nothing.
    unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void) -> c_int>(address)(lock) }
}

/// Defines functions on a lock.
macro_rules! functions {
    ($($name:ident: $kind:ident, $hidden:literal;)*) => {$(
        unsafe extern "C" fn $name(lock: *mut c_void, place: usize) {
            static HIDDEN: Hidden = Hidden::new($hidden);
            if enter(|| act(Kind::$kind, lock, place)).is_none() {
                forward(&HIDDEN, lock);
            }
        }
    )*};
}

functions! {
    set: Lock, "omp_set_lock\0";
    unset: Unlock, "omp_unset_lock\0";
    begin_named: Lock, "GOMP_critical_name_start\0";
    end_named: Unlock, "GOMP_critical_name_end\0";
}

unsafe extern "C" fn test(lock: *mut c_void, place: usize) -> c_int {
    static HIDDEN: Hidden = Hidden::new("omp_test_lock\0");
    enter(|| c_int::from(act(Kind::TryLock, lock, place) != Reply::Busy))
        .unwrap_or_else(|| forward(&HIDDEN, lock))
}

unsafe extern "C" fn begin(place: usize) {
    static HIDDEN: Hidden = Hidden::new("GOMP_critical_start\0");
    if enter(|| act(Kind::Lock, (&raw const SECTION).cast(), place)).is_none() {
        forward(&HIDDEN, std::ptr::null_mut());
    }
}

unsafe extern "C" fn end(place: usize) {
    static HIDDEN: Hidden = Hidden::new("GOMP_critical_end\0");
    if enter(|| act(Kind::Unlock, (&raw const SECTION).cast(), place)).is_none() {
        forward(&HIDDEN, std::ptr::null_mut());
    }
}

/// Handles `omp_init_lock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_lock(lock: *mut c_void) {
    static HIDDEN: Hidden = Hidden::new("omp_init_lock\0");
    enter(|| with(|runtime| runtime.objects.forget(lock as u64, Class::SpinLock)));
    forward(&HIDDEN, lock);
}
