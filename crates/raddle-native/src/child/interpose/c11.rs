//! The threads of C11. In glibc they are POSIX threads under other names, with the same objects, but they do
//! not call the POSIX functions that a library can replace.

use super::entry::{entries, exported};
use super::{cond, heap, mutex, once, thread, time, unwind};
use crate::child::control::{self, enter_for};
use crate::child::objects::Class;
use crate::child::runtime::with;
use crate::platform::real;
use libc::{EBUSY, ENOMEM, ETIMEDOUT, timespec};
use std::ffi::{c_int, c_void};

exported! {
    tss_set
}

entries! {
    thrd_create(thread: *mut u64, start: *const c_void, argument: *mut c_void) -> c_int => create;
    thrd_join(thread: u64, result: *mut c_int) -> c_int => join;
    thrd_detach(thread: u64) -> c_int => detach;
    thrd_yield() => yield_now;
    thrd_sleep(span: *const timespec, rest: *mut c_void) -> c_int => time::sleep_span;
    mtx_init => init_mutex;
    mtx_lock(mutex: *mut c_void) -> c_int => lock;
    mtx_trylock(mutex: *mut c_void) -> c_int => try_lock;
    mtx_timedlock(mutex: *mut c_void, time: *const timespec) -> c_int => timed_lock;
    mtx_unlock(mutex: *mut c_void) -> c_int => unlock;
    mtx_destroy(mutex: *mut c_void) => destroy_mutex;
    cnd_init(condition: *mut c_void) -> c_int => init_condition;
    cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int => wait;
    cnd_timedwait(condition: *mut c_void, mutex: *mut c_void, time: *const timespec) -> c_int => timed_wait;
    cnd_signal(condition: *mut c_void) -> c_int => signal;
    cnd_broadcast(condition: *mut c_void) -> c_int => broadcast;
    cnd_destroy(condition: *mut c_void) => destroy_condition;
    call_once(once: *mut c_void, routine: extern "C-unwind" fn()) => call_routine as "C-unwind";
}

/// Returns the code of C11 for an error of POSIX: success, busy, error, no memory, timed out.
fn c11_result(error: c_int) -> c_int {
    match error {
        0 => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

unsafe extern "C" fn create(
    thread: *mut u64,
    start: *const c_void,
    argument: *mut c_void,
    place: usize,
) -> c_int {
    // SAFETY: C11 requires room for the handle, and a valid routine. Its result is an int, of which only the
    // low half is used.
    c11_result(unsafe { thread::create(thread, std::ptr::null(), start, argument, place) })
}

unsafe extern "C" fn join(thread: u64, result: *mut c_int, place: usize) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    let error = unsafe { thread::join(thread, &raw mut value, place) };
    if error == 0 && !result.is_null() {
        // SAFETY: C11 requires room for the result if it is not null.
        unsafe { control::write(result, value as usize as c_int, place) };
    }
    c11_result(error)
}

unsafe extern "C" fn detach(thread: u64, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { thread::detach(thread, place) })
}

/// `thrd_exit`, as `pthread_exit`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_exit() {
    std::arch::naked_asm!("movsxd rdi, edi", "push rdi", "call {}", "pop rdi", "jmp rax", sym unwind::note_exit)
}

unsafe extern "C" fn init_mutex(mutex: *mut c_void, kind: c_int, place: usize) -> c_int {
    enter_for(mutex, place, || with(|runtime| runtime.objects.forget(mutex as u64, Class::NormalMutex)));
    // SAFETY: the program has called `mtx_init` with these arguments.
    unsafe { real::mtx_init(mutex, kind) }
}

unsafe extern "C" fn lock(mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { mutex::lock(mutex, place) })
}

unsafe extern "C" fn try_lock(mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { mutex::try_lock(mutex, place) })
}

unsafe extern "C" fn timed_lock(mutex: *mut c_void, time: *const timespec, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { mutex::timed_lock(mutex, time, place) })
}

unsafe extern "C" fn unlock(mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { mutex::unlock(mutex, place) })
}

unsafe extern "C" fn init_condition(condition: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { cond::init(condition, std::ptr::null(), place) })
}

unsafe extern "C" fn wait(condition: *mut c_void, mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { cond::wait(condition, mutex, place) })
}

unsafe extern "C" fn timed_wait(
    condition: *mut c_void,
    mutex: *mut c_void,
    time: *const timespec,
    place: usize,
) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { cond::timed_wait(condition, mutex, time, place) })
}

unsafe extern "C" fn signal(condition: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { cond::signal(condition, place) })
}

unsafe extern "C" fn broadcast(condition: *mut c_void, place: usize) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { cond::broadcast(condition, place) })
}

/// Handles `tss_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_create(key: *mut u32, destructor: *const c_void) -> c_int {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    c11_result(unsafe { thread::pthread_key_create(key, destructor) })
}

/// Handles `tss_set`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_set(key: u32, value: *const c_void) -> c_int {
    heap::note_use();
    // SAFETY: the program has called `tss_set` with these arguments.
    unsafe { real::tss_set(key, value) }
}

/// Handles `tss_delete`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_delete(key: u32) {
    // SAFETY: glibc's C11 objects are those of POSIX, and C11 has the same requirements.
    unsafe { thread::pthread_key_delete(key) };
}

unsafe extern "C" fn yield_now(place: usize) {
    // SAFETY: the function has no preconditions.
    unsafe { time::yield_now(place) };
}

unsafe extern "C" fn destroy_mutex(mutex: *mut c_void, place: usize) {
    // SAFETY: C11 requires a valid mutex, and glibc's is one of POSIX.
    unsafe { mutex::destroy(mutex, place) };
}

unsafe extern "C" fn destroy_condition(condition: *mut c_void, place: usize) {
    // SAFETY: C11 requires a valid condition variable, and glibc's is one of POSIX.
    unsafe { cond::destroy(condition, place) };
}

unsafe extern "C-unwind" fn call_routine(flag: *mut c_void, routine: extern "C-unwind" fn(), place: usize) {
    // SAFETY: C11 requires a valid flag, and glibc's is a `pthread_once_t`.
    unsafe { once::once(flag, routine, place) };
}
