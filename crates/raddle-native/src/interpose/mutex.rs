//! Mutexes and spin locks.

use super::time::{Clock, remaining};
use super::{FOREVER, entries, robust};
use crate::control::enter;
use crate::objects::Class;
use crate::real;
use crate::runtime::{Runtime, step, with};
use libc::{EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, ObjectId, Operation};
use std::ffi::{c_int, c_void};

entries! {
    pthread_mutex_init + "rdx" => init;
    pthread_mutex_destroy + "rsi" => destroy;
    pthread_mutex_lock + "rsi" => lock;
    pthread_mutex_trylock + "rsi" => try_lock;
    pthread_mutex_timedlock + "rdx" => timed_lock;
    pthread_mutex_clocklock + "rcx" => clock_lock;
    pthread_mutex_unlock + "rsi" => unlock;
    pthread_spin_init + "rdx" => spin_init;
    pthread_spin_destroy + "rsi" => spin_destroy;
    pthread_spin_lock + "rsi" => spin_lock;
    pthread_spin_trylock + "rsi" => spin_try_lock;
    pthread_spin_unlock + "rsi" => spin_unlock;
}

/// Where glibc keeps the kind of a mutex, what `pthread_mutex_destroy` puts there, and the bits of the kind.
const KIND_AT: usize = 16;
const DESTROYED: i32 = -1;
const KIND_BITS: i32 = 3;

/// The kind that glibc keeps at `mutex`.
pub(super) unsafe fn kind(mutex: *const c_void) -> i32 {
    // SAFETY: the caller of a mutex function promises that there is a mutex.
    unsafe { *mutex.byte_add(KIND_AT).cast::<i32>() }
}

/// The object of a mutex. One that was initialised anew, be it by plain memory, is a new object.
pub(super) fn object(runtime: &mut Runtime, mutex: usize) -> ObjectId {
    // SAFETY: the caller of a mutex function promises that there is a mutex.
    let kind = unsafe { kind(mutex as *const c_void) };
    let known = runtime.objects.find(mutex as u64, Class::NormalMutex);
    if let Some((object, _)) = known
        && kind == DESTROYED
    {
        return object;
    }
    let class = match kind & KIND_BITS {
        1 => Class::RecursiveMutex,
        2 => Class::CheckingMutex,
        _ => Class::NormalMutex,
    };
    runtime.object(mutex as u64, class, || 0)
}

fn act(kind: Kind, mutex: *mut c_void, span: u64, place: usize) -> c_int {
    let reply = step(|runtime| {
        let object = object(runtime, mutex as usize);
        Operation::new(kind, runtime.place(place)).on(object, Access::Write).with_argument(span)
    });
    match answer(reply) {
        0 if kind.info().holding.takes().is_some() => robust::note_lock(mutex, place),
        error => error,
    }
}

/// As `pthread_mutex_timedlock`, whose time is looked at only if the mutex is not free.
fn act_within(span: Option<u64>, mutex: *mut c_void, place: usize) -> c_int {
    match span {
        Some(span) => act(Kind::Lock, mutex, span, place),
        None if act(Kind::TryLock, mutex, FOREVER, place) == 0 => 0,
        None => EINVAL,
    }
}

/// Unlocks a mutex that the current thread has.
pub(super) fn unlock_inside(mutex: *mut c_void, place: usize) {
    act(Kind::Unlock, mutex, FOREVER, place);
}

fn answer(reply: Reply) -> c_int {
    match reply {
        Reply::Busy => EBUSY,
        Reply::TimedOut => ETIMEDOUT,
        Reply::WouldDeadlock => EDEADLK,
        Reply::NotOwner => EPERM,
        _ => 0,
    }
}

pub(super) unsafe extern "C" fn init(mutex: *mut c_void, attributes: *const c_void, _: usize) -> c_int {
    enter(|| {
        with(|runtime| {
            runtime.objects.forget(mutex as u64, Class::NormalMutex);
            robust::forget(runtime, mutex);
        });
    });
    // SAFETY: our caller's promise.
    unsafe { real::pthread_mutex_init(mutex, attributes) }
}

pub(super) unsafe extern "C" fn destroy(mutex: *mut c_void, place: usize) -> c_int {
    enter(|| {
        if with(|runtime| runtime.objects.find(mutex as u64, Class::NormalMutex)).is_some() {
            act(Kind::Destroy, mutex, FOREVER, place);
        }
    });
    // SAFETY: our caller's promise.
    unsafe { real::pthread_mutex_destroy(mutex) }
}

pub(super) unsafe extern "C" fn lock(mutex: *mut c_void, place: usize) -> c_int {
    enter(|| act(Kind::Lock, mutex, FOREVER, place))
        // SAFETY: our caller's promise.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_lock(mutex) })
}

pub(super) unsafe extern "C" fn try_lock(mutex: *mut c_void, place: usize) -> c_int {
    enter(|| act(Kind::TryLock, mutex, FOREVER, place))
        // SAFETY: our caller's promise.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_trylock(mutex) })
}

pub(super) unsafe extern "C" fn unlock(mutex: *mut c_void, place: usize) -> c_int {
    enter(|| {
        robust::note_unlock(mutex);
        act(Kind::Unlock, mutex, FOREVER, place)
    })
    // SAFETY: our caller's promise.
    .unwrap_or_else(|| unsafe { real::pthread_mutex_unlock(mutex) })
}

pub(super) unsafe extern "C" fn timed_lock(mutex: *mut c_void, time: *const timespec, place: usize) -> c_int {
    enter(|| act_within(remaining(Clock::Real, time), mutex, place))
        // SAFETY: our caller's promise.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_timedlock(mutex, time.cast()) })
}

unsafe extern "C" fn clock_lock(
    mutex: *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    enter(|| match Clock::of(clock) {
        Some(clock) => act_within(remaining(clock, time), mutex, place),
        None => EINVAL,
    })
    // SAFETY: our caller's promise.
    .unwrap_or_else(|| unsafe { real::pthread_mutex_clocklock(mutex, clock, time.cast()) })
}

/// A spin lock is a mutex that nobody initialises with a kind.
fn spin(kind: Kind, lock: *mut c_void, place: usize) -> c_int {
    let reply = step(|runtime| {
        let object = runtime.object(lock as u64, Class::NormalMutex, || 0);
        Operation::new(kind, runtime.place(place)).on(object, Access::Write)
    });
    answer(reply)
}

unsafe extern "C" fn spin_init(lock: *mut c_void, shared: c_int, _: usize) -> c_int {
    enter(|| with(|runtime| runtime.objects.forget(lock as u64, Class::NormalMutex)));
    // SAFETY: our caller's promise.
    unsafe { real::pthread_spin_init(lock, shared) }
}

unsafe extern "C" fn spin_destroy(lock: *mut c_void, place: usize) -> c_int {
    enter(|| {
        if with(|runtime| runtime.objects.find(lock as u64, Class::NormalMutex)).is_some() {
            spin(Kind::Destroy, lock, place);
        }
    });
    // SAFETY: our caller's promise.
    unsafe { real::pthread_spin_destroy(lock) }
}

unsafe extern "C" fn spin_lock(lock: *mut c_void, place: usize) -> c_int {
    enter(|| spin(Kind::Lock, lock, place))
        // SAFETY: our caller's promise.
        .unwrap_or_else(|| unsafe { real::pthread_spin_lock(lock) })
}

unsafe extern "C" fn spin_try_lock(lock: *mut c_void, place: usize) -> c_int {
    enter(|| spin(Kind::TryLock, lock, place))
        // SAFETY: our caller's promise.
        .unwrap_or_else(|| unsafe { real::pthread_spin_trylock(lock) })
}

unsafe extern "C" fn spin_unlock(lock: *mut c_void, place: usize) -> c_int {
    enter(|| spin(Kind::Unlock, lock, place))
        // SAFETY: our caller's promise.
        .unwrap_or_else(|| unsafe { real::pthread_spin_unlock(lock) })
}
