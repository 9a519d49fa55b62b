//! Mutexes and spin locks.

use super::entry::entries;
use super::mutex_object::announce;
use super::robust;
use super::shared;
use super::time::{Clock, FOREVER, remaining};
use crate::child::control::{self, enter, enter_for};
use crate::child::objects::Class;
use crate::child::runtime::with;
use crate::child::scheduling::step;
use crate::platform::{raw, real};
use libc::{EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation};
use std::ffi::{c_int, c_void};

entries! {
    pthread_mutex_init => init;
    pthread_mutex_destroy => destroy;
    pthread_mutex_lock => lock;
    pthread_mutex_trylock => try_lock;
    pthread_mutex_timedlock => timed_lock;
    pthread_mutex_clocklock => clock_lock;
    pthread_mutex_unlock => unlock;
    pthread_spin_init => spin_init;
    pthread_spin_destroy => spin_destroy;
    pthread_spin_lock => spin_lock;
    pthread_spin_trylock => spin_try_lock;
    pthread_spin_unlock => spin_unlock;
}

pub(super) fn act(kind: Kind, mutex: *mut c_void, span: u64, place: usize) -> c_int {
    if shared::is_mutex(mutex) {
        return act_shared(kind, mutex, span, place);
    }
    match answer(announce(kind, mutex, span, place)) {
        0 if kind.info().holding.takes().is_some() => robust::note_lock(mutex, place),
        error => error,
    }
}

/// Performs an operation on a mutex that other processes use.
fn act_shared(kind: Kind, mutex: *mut c_void, span: u64, place: usize) -> c_int {
    // SAFETY: the program passes a mutex.
    let try_lock = || unsafe { real::pthread_mutex_trylock(mutex) };
    if kind == Kind::Lock {
        let result = shared::again(place, span, try_lock);
        return if result == EBUSY { ETIMEDOUT } else { result };
    }
    if kind == Kind::TryLock {
        return shared::once(place, try_lock);
    }
    if kind == Kind::Unlock {
        // SAFETY: the program passes a mutex.
        return shared::once(place, || unsafe { real::pthread_mutex_unlock(mutex) });
    }
    0
}

/// Handles `pthread_mutex_timedlock`, whose time is read only if the mutex is not free.
fn act_within(clock: Clock, time: *const timespec, mutex: *mut c_void, place: usize) -> c_int {
    let is_mapped = raw::is_readable(time as usize, size_of::<timespec>());
    if let Some(span) = is_mapped.then(|| remaining(clock, time, place)).flatten() {
        return act(Kind::Lock, mutex, span, place);
    }
    if act(Kind::TryLock, mutex, FOREVER, place) == 0 {
        return 0;
    }
    control::probe(time.cast(), place);
    EINVAL
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

pub(super) unsafe extern "C" fn init(mutex: *mut c_void, attributes: *const c_void, place: usize) -> c_int {
    enter_for(mutex, place, || {
        with(|runtime| {
            runtime.objects.forget(mutex as u64, Class::NormalMutex);
            robust::forget(runtime, mutex);
        });
    });
    // SAFETY: the program has called `pthread_mutex_init` with these arguments.
    unsafe { real::pthread_mutex_init(mutex, attributes) }
}

pub(super) unsafe extern "C" fn destroy(mutex: *mut c_void, place: usize) -> c_int {
    enter_for(mutex, place, || {
        if with(|runtime| runtime.objects.find(mutex as u64, Class::NormalMutex)).is_some() {
            act(Kind::Destroy, mutex, FOREVER, place);
        }
    });
    // SAFETY: the program has called `pthread_mutex_destroy` with these arguments.
    unsafe { real::pthread_mutex_destroy(mutex) }
}

pub(super) unsafe extern "C" fn lock(mutex: *mut c_void, place: usize) -> c_int {
    enter_for(mutex, place, || act(Kind::Lock, mutex, FOREVER, place))
        // SAFETY: the program has called `pthread_mutex_lock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_lock(mutex) })
}

pub(super) unsafe extern "C" fn try_lock(mutex: *mut c_void, place: usize) -> c_int {
    enter_for(mutex, place, || act(Kind::TryLock, mutex, FOREVER, place))
        // SAFETY: the program has called `pthread_mutex_trylock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_trylock(mutex) })
}

pub(super) unsafe extern "C" fn unlock(mutex: *mut c_void, place: usize) -> c_int {
    enter_for(mutex, place, || {
        robust::note_unlock(mutex);
        act(Kind::Unlock, mutex, FOREVER, place)
    })
    // SAFETY: the program has called `pthread_mutex_unlock` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_mutex_unlock(mutex) })
}

pub(super) unsafe extern "C" fn timed_lock(mutex: *mut c_void, time: *const timespec, place: usize) -> c_int {
    enter_for(mutex, place, || act_within(Clock::Real, time, mutex, place))
        // SAFETY: the program has called `pthread_mutex_timedlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_timedlock(mutex, time) })
}

unsafe extern "C" fn clock_lock(
    mutex: *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    enter_for(mutex, place, || match Clock::of(clock) {
        Some(clock) => act_within(clock, time, mutex, place),
        None => EINVAL,
    })
    // SAFETY: the program has called `pthread_mutex_clocklock` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_mutex_clocklock(mutex, clock, time) })
}

/// A spin lock is a mutex that is initialized without a kind.
fn spin(kind: Kind, lock: *mut c_void, place: usize) -> c_int {
    let reply = step(|runtime| {
        let object = runtime.object(lock as u64, Class::SpinLock, || 0);
        Operation::new(kind, runtime.place(place)).on(object, Access::Write)
    });
    answer(reply)
}

unsafe extern "C" fn spin_init(lock: *mut c_void, shared: c_int, place: usize) -> c_int {
    enter_for(lock, place, || with(|runtime| runtime.objects.forget(lock as u64, Class::SpinLock)));
    // SAFETY: the program has called `pthread_spin_init` with these arguments.
    unsafe { real::pthread_spin_init(lock, shared) }
}

unsafe extern "C" fn spin_destroy(lock: *mut c_void, place: usize) -> c_int {
    enter(|| {
        if with(|runtime| runtime.objects.find(lock as u64, Class::SpinLock)).is_some() {
            spin(Kind::Destroy, lock, place);
        }
    });
    // SAFETY: the program has called `pthread_spin_destroy` with these arguments.
    unsafe { real::pthread_spin_destroy(lock) }
}

unsafe extern "C" fn spin_lock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || spin(Kind::Lock, lock, place))
        // SAFETY: the program has called `pthread_spin_lock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_spin_lock(lock) })
}

unsafe extern "C" fn spin_try_lock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || spin(Kind::TryLock, lock, place))
        // SAFETY: the program has called `pthread_spin_trylock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_spin_trylock(lock) })
}

unsafe extern "C" fn spin_unlock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || spin(Kind::Unlock, lock, place))
        // SAFETY: the program has called `pthread_spin_unlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_spin_unlock(lock) })
}
