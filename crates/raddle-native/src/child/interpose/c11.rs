//! The threads of C11. In glibc they are those of POSIX under other names, with the same objects, but they do not go
//! through the functions of POSIX that a library can replace.

use super::entry::entries;
use super::{cond, heap, mutex, once, thread, time, unwind};
use crate::child::control::enter;
use crate::child::objects::Class;
use crate::child::runtime::with;
use crate::platform::real;
use libc::{EBUSY, ENOMEM, ETIMEDOUT, timespec};
use std::ffi::{c_int, c_void};

entries! {
    thrd_create + "rcx" => create;
    thrd_join + "rdx" => join;
    thrd_yield + "rdi" => time::yield_now;
    thrd_sleep + "rdx" => time::sleep_span;
    mtx_lock + "rsi" => lock;
    mtx_trylock + "rsi" => try_lock;
    mtx_timedlock + "rdx" => timed_lock;
    mtx_unlock + "rsi" => unlock;
    mtx_destroy + "rsi" => mutex::destroy;
    cnd_wait + "rdx" => wait;
    cnd_timedwait + "rcx" => timed_wait;
    cnd_signal + "rsi" => signal;
    cnd_broadcast + "rsi" => broadcast;
    cnd_destroy + "rsi" => cond::destroy;
    call_once + "rdx" => once::once;
}

/// What C11 calls an error of POSIX: success, busy, error, no memory, timed out.
fn told(error: c_int) -> c_int {
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
    // SAFETY: our caller's promise. What the routine returns is a number, of which only the low half is used.
    told(unsafe { thread::create(thread, std::ptr::null(), start, argument, place) })
}

unsafe extern "C" fn join(thread: u64, result: *mut c_int, place: usize) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: our caller's promise.
    let error = unsafe { thread::join(thread, &raw mut value, place) };
    if error == 0 && !result.is_null() {
        // SAFETY: our caller promises room for the result.
        unsafe { *result = value as usize as c_int };
    }
    told(error)
}

/// `thrd_detach`.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_detach(thread: u64) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { thread::pthread_detach(thread) })
}

/// `thrd_exit`, as `pthread_exit`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_exit() {
    std::arch::naked_asm!("movsxd rdi, edi", "push rdi", "call {}", "pop rdi", "jmp rax", sym unwind::note_exit)
}

/// `mtx_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_init(mutex: *mut c_void, kind: c_int) -> c_int {
    enter(|| with(|runtime| runtime.objects.forget(mutex as u64, Class::NormalMutex)));
    // SAFETY: our caller's promise.
    unsafe { real::mtx_init(mutex, kind) }
}

unsafe extern "C" fn lock(mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { mutex::lock(mutex, place) })
}

unsafe extern "C" fn try_lock(mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { mutex::try_lock(mutex, place) })
}

unsafe extern "C" fn timed_lock(mutex: *mut c_void, time: *const timespec, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { mutex::timed_lock(mutex, time, place) })
}

unsafe extern "C" fn unlock(mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { mutex::unlock(mutex, place) })
}

/// `cnd_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_init(condition: *mut c_void) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { cond::init(condition, std::ptr::null(), 0) })
}

unsafe extern "C" fn wait(condition: *mut c_void, mutex: *mut c_void, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { cond::wait(condition, mutex, place) })
}

unsafe extern "C" fn timed_wait(
    condition: *mut c_void,
    mutex: *mut c_void,
    time: *const timespec,
    place: usize,
) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { cond::timed_wait(condition, mutex, time, place) })
}

unsafe extern "C" fn signal(condition: *mut c_void, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { cond::signal(condition, place) })
}

unsafe extern "C" fn broadcast(condition: *mut c_void, place: usize) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { cond::broadcast(condition, place) })
}

/// `tss_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_create(key: *mut u32, destructor: *const c_void) -> c_int {
    // SAFETY: our caller's promise.
    told(unsafe { thread::pthread_key_create(key, destructor) })
}

/// `tss_set`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_set(key: u32, value: *const c_void) -> c_int {
    heap::note_use();
    // SAFETY: our caller's promise.
    unsafe { real::tss_set(key, value) }
}

/// `tss_delete`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_delete(key: u32) {
    // SAFETY: our caller's promise.
    unsafe { thread::pthread_key_delete(key) };
}
