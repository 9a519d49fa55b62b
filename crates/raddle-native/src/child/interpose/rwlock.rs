//! Read-write locks.

use super::entry::entries;
use super::shared;
use super::time::{Clock, FOREVER, remaining};
use crate::child::control::{enter, enter_for};
use crate::child::objects::Class;
use crate::child::pending::Limit;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::{step, step_on};
use crate::platform::real;
use libc::{EBUSY, EDEADLK, EINVAL, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Holding, Kind, LockMode, Operation};
use std::ffi::{c_int, c_void};

entries! {
    pthread_rwlock_init => init;
    pthread_rwlock_destroy => destroy;
    pthread_rwlock_rdlock => read_lock;
    pthread_rwlock_wrlock => write_lock;
    pthread_rwlock_tryrdlock => try_read_lock;
    pthread_rwlock_trywrlock => try_write_lock;
    pthread_rwlock_timedrdlock => timed_read_lock;
    pthread_rwlock_timedwrlock => timed_write_lock;
    pthread_rwlock_clockrdlock => clock_read_lock;
    pthread_rwlock_clockwrlock => clock_write_lock;
    pthread_rwlock_unlock => unlock;
}

fn act(kind: Kind, lock: *mut c_void, span: Option<u64>, place: usize) -> c_int {
    let Some(span) = span else { return EINVAL };
    if shared::is_lock(lock) {
        return act_shared(kind, lock, span, place);
    }
    let holding = kind.info().holding;
    let access = if holding.takes() == Some(LockMode::Shared) { Access::Read } else { Access::Write };
    // glibc knows the writer, and does not let it wait for itself.
    let writes = |runtime: &mut Runtime| runtime.writers.contains(&(lock as usize, runtime.current));
    if matches!(holding, Holding::Takes(_)) && with(writes) {
        return EDEADLK;
    }
    if kind == Kind::ReadWriteUnlock {
        with(|runtime| forget(runtime, lock));
    }
    let mut limit = Limit::begin(span);
    let reply = limit.repeat(|limit| {
        step(|runtime| {
            let object = runtime.object(lock as u64, Class::ReadWriteLock, || 0);
            Operation::new(kind, runtime.place(place)).on(object, access).with_argument(limit.left(runtime))
        })
    });
    match reply {
        Reply::Busy => EBUSY,
        Reply::TimedOut => ETIMEDOUT,
        _ => {
            if holding.takes() == Some(LockMode::Exclusive) {
                with(|runtime| runtime.writers.push((lock as usize, runtime.current)));
            }
            0
        }
    }
}

/// Performs an operation on a lock that other processes use.
fn act_shared(kind: Kind, lock: *mut c_void, span: u64, place: usize) -> c_int {
    // SAFETY: the program passes a lock.
    let read = || unsafe { real::pthread_rwlock_tryrdlock(lock) };
    // SAFETY: as above.
    let write = || unsafe { real::pthread_rwlock_trywrlock(lock) };
    let waits = kind == Kind::ReadLock || kind == Kind::WriteLock;
    let result = match kind.info().holding.takes() {
        Some(LockMode::Shared) if waits => shared::again(place, span, read),
        Some(LockMode::Shared) => shared::once(place, read),
        Some(LockMode::Exclusive) if waits => shared::again(place, span, write),
        Some(LockMode::Exclusive) => shared::once(place, write),
        // SAFETY: as above.
        None => shared::once(place, || unsafe { real::pthread_rwlock_unlock(lock) }),
    };
    if waits && result == EBUSY { ETIMEDOUT } else { result }
}

/// Records that no thread writes under `lock` any more.
fn forget(runtime: &mut Runtime, lock: *mut c_void) {
    runtime.writers.retain(|&(known, _)| known != lock as usize);
}

unsafe extern "C" fn init(lock: *mut c_void, attributes: *const c_void, place: usize) -> c_int {
    enter_for(lock, place, || {
        with(|runtime| {
            runtime.objects.forget(lock as u64, Class::ReadWriteLock);
            forget(runtime, lock);
        });
    });
    // SAFETY: the program has called `pthread_rwlock_init` with these arguments.
    unsafe { real::pthread_rwlock_init(lock, attributes) }
}

unsafe extern "C" fn destroy(lock: *mut c_void, place: usize) -> c_int {
    enter(|| {
        if let Some((object, _)) = with(|runtime| runtime.objects.find(lock as u64, Class::ReadWriteLock)) {
            step_on(Kind::Destroy, place, Access::Write, |_| object);
            with(|runtime| runtime.objects.forget(lock as u64, Class::ReadWriteLock));
        }
    });
    // SAFETY: the program has called `pthread_rwlock_destroy` with these arguments.
    unsafe { real::pthread_rwlock_destroy(lock) }
}

unsafe extern "C" fn read_lock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::ReadLock, lock, Some(FOREVER), place))
        // SAFETY: the program has called `pthread_rwlock_rdlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_rdlock(lock) })
}

unsafe extern "C" fn write_lock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::WriteLock, lock, Some(FOREVER), place))
        // SAFETY: the program has called `pthread_rwlock_wrlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_wrlock(lock) })
}

unsafe extern "C" fn try_read_lock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::TryReadLock, lock, Some(FOREVER), place))
        // SAFETY: the program has called `pthread_rwlock_tryrdlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_tryrdlock(lock) })
}

unsafe extern "C" fn try_write_lock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::TryWriteLock, lock, Some(FOREVER), place))
        // SAFETY: the program has called `pthread_rwlock_trywrlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_trywrlock(lock) })
}

unsafe extern "C" fn timed_read_lock(lock: *mut c_void, time: *const timespec, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::ReadLock, lock, remaining(Clock::Real, time, place), place))
        // SAFETY: the program has called `pthread_rwlock_timedrdlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_timedrdlock(lock, time) })
}

unsafe extern "C" fn timed_write_lock(lock: *mut c_void, time: *const timespec, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::WriteLock, lock, remaining(Clock::Real, time, place), place))
        // SAFETY: the program has called `pthread_rwlock_timedwrlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_timedwrlock(lock, time) })
}

unsafe extern "C" fn clock_read_lock(
    lock: *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    let span = || Clock::of(clock).and_then(|clock| remaining(clock, time, place));
    enter_for(lock, place, || act(Kind::ReadLock, lock, span(), place))
        // SAFETY: the program has called `pthread_rwlock_clockrdlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_clockrdlock(lock, clock, time) })
}

unsafe extern "C" fn clock_write_lock(
    lock: *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    let span = || Clock::of(clock).and_then(|clock| remaining(clock, time, place));
    enter_for(lock, place, || act(Kind::WriteLock, lock, span(), place))
        // SAFETY: the program has called `pthread_rwlock_clockwrlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_clockwrlock(lock, clock, time) })
}

unsafe extern "C" fn unlock(lock: *mut c_void, place: usize) -> c_int {
    enter_for(lock, place, || act(Kind::ReadWriteUnlock, lock, Some(FOREVER), place))
        // SAFETY: the program has called `pthread_rwlock_unlock` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_unlock(lock) })
}
