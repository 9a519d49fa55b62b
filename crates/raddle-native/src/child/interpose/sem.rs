//! Semaphores and barriers. The value of a semaphore is also stored where glibc has it, for `sem_getvalue`.

use super::entry::{cancellation_points, entries};
use super::time::{Clock, FOREVER, remaining};
use super::{file_lock, shared, unwind};
use crate::child::control::{self, enter, enter_for};
use crate::child::loss;
use crate::child::objects::Class;
use crate::child::pending::{Call, Limit};
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::{step, step_on};
use crate::platform::real;
use libc::{EAGAIN, EBUSY, EINTR, EINVAL, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, ObjectId, Operation};
use std::ffi::{c_int, c_void};

entries! {
    sem_init => init;
    sem_destroy => destroy;
    sem_trywait => try_wait;
    sem_post => post;
    pthread_barrier_init => barrier_init;
    pthread_barrier_destroy => barrier_destroy;
    pthread_barrier_wait => barrier_wait;
}

cancellation_points! {
    sem_wait => wait;
    sem_timedwait => timed_wait;
    sem_clockwait => clock_wait;
}

/// The offset of the thread count in glibc's barrier.
const COUNT_AT: usize = 8;

fn object(runtime: &mut Runtime, semaphore: *mut c_void) -> ObjectId {
    runtime.object(semaphore as u64, Class::Semaphore, || {
        // SAFETY: POSIX requires a valid semaphore; it begins with its value.
        u64::from(unsafe { semaphore.cast::<u32>().read_unaligned() })
    })
}

/// Sets `errno` and returns -1.
fn refuse(error: c_int) -> c_int {
    // SAFETY: `__errno_location` returns a valid pointer for every thread.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Adds to the value of a semaphore in glibc's memory, modulo 2^32.
fn change(semaphore: *mut c_void, by: u32, place: usize) {
    let value = semaphore.cast::<u32>();
    // SAFETY: POSIX requires a valid semaphore, and no other thread runs now.
    unsafe { control::write(value, value.read_unaligned().wrapping_add(by), place) };
}

fn take(kind: Kind, semaphore: *mut c_void, span: Option<u64>, place: usize) -> c_int {
    let Some(span) = span else { return refuse(EINVAL) };
    if kind == Kind::SemaphoreWait && unwind::is_due() {
        return -1;
    }
    if shared::is_semaphore(semaphore) {
        return take_shared(kind, semaphore, span, place);
    }
    let call_begun = Call::begin();
    let mut limit = Limit::begin(span);
    loop {
        let reply = step(|runtime| {
            let object = object(runtime, semaphore);
            Operation::new(kind, runtime.place(place))
                .on(object, Access::Write)
                .with_argument(limit.left(runtime))
        });
        match reply {
            Reply::Busy => return refuse(EAGAIN),
            Reply::TimedOut => {
                if unwind::is_due() {
                    return refuse(ETIMEDOUT);
                }
                if call_begun.is_interrupted(true) {
                    return refuse(EINTR);
                }
                if !limit.goes_on() {
                    return refuse(ETIMEDOUT);
                }
            }
            _ => {
                change(semaphore, u32::MAX, place);
                return 0;
            }
        }
    }
}

/// Waits for a semaphore that other processes use.
fn take_shared(kind: Kind, semaphore: *mut c_void, span: u64, place: usize) -> c_int {
    // SAFETY: the program passes a semaphore.
    let try_wait = || if unsafe { real::sem_trywait(semaphore) } == 0 { 0 } else { EBUSY };
    let result = if kind == Kind::SemaphoreWait {
        -file_lock::again(place, span, &[EBUSY], || -(try_wait() as isize)) as c_int
    } else {
        shared::once(place, try_wait)
    };
    match result {
        0 => 0,
        EBUSY => refuse(if kind == Kind::SemaphoreWait { ETIMEDOUT } else { EAGAIN }),
        error => refuse(error),
    }
}

unsafe extern "C" fn init(semaphore: *mut c_void, shared: c_int, value: u32, place: usize) -> c_int {
    enter_for(semaphore, place, || {
        with(|runtime| runtime.objects.forget(semaphore as u64, Class::Semaphore))
    });
    // SAFETY: the program has called `sem_init` with these arguments.
    unsafe { real::sem_init(semaphore, shared, value) }
}

unsafe extern "C" fn destroy(semaphore: *mut c_void, place: usize) -> c_int {
    enter(|| {
        if let Some((object, _)) = with(|runtime| runtime.objects.find(semaphore as u64, Class::Semaphore)) {
            step_on(Kind::Destroy, place, Access::Write, |_| object);
            with(|runtime| runtime.objects.forget(semaphore as u64, Class::Semaphore));
        }
    });
    // SAFETY: the program has called `sem_destroy` with these arguments.
    unsafe { real::sem_destroy(semaphore) }
}

unsafe extern "C" fn wait(semaphore: *mut c_void, place: usize) -> c_int {
    enter_for(semaphore, place, || take(Kind::SemaphoreWait, semaphore, Some(FOREVER), place))
        // SAFETY: the program has called `sem_wait` with these arguments.
        .unwrap_or_else(|| unsafe { real::sem_wait(semaphore) })
}

unsafe extern "C" fn try_wait(semaphore: *mut c_void, place: usize) -> c_int {
    enter_for(semaphore, place, || take(Kind::SemaphoreTryWait, semaphore, Some(FOREVER), place))
        // SAFETY: the program has called `sem_trywait` with these arguments.
        .unwrap_or_else(|| unsafe { real::sem_trywait(semaphore) })
}

unsafe extern "C" fn timed_wait(semaphore: *mut c_void, time: *const timespec, place: usize) -> c_int {
    enter_for(semaphore, place, || {
        take(Kind::SemaphoreWait, semaphore, remaining(Clock::Real, time, place), place)
    })
    // SAFETY: the program has called `sem_timedwait` with these arguments.
    .unwrap_or_else(|| unsafe { real::sem_timedwait(semaphore, time) })
}

unsafe extern "C" fn clock_wait(
    semaphore: *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    let span = || Clock::of(clock).and_then(|clock| remaining(clock, time, place));
    enter_for(semaphore, place, || take(Kind::SemaphoreWait, semaphore, span(), place))
        // SAFETY: the program has called `sem_clockwait` with these arguments.
        .unwrap_or_else(|| unsafe { real::sem_clockwait(semaphore, clock, time) })
}

unsafe extern "C" fn post(semaphore: *mut c_void, place: usize) -> c_int {
    enter_for(semaphore, place, || {
        if shared::is_semaphore(semaphore) {
            // SAFETY: the program passes a semaphore.
            return shared::once(place, || unsafe { real::sem_post(semaphore) });
        }
        step_on(Kind::SemaphorePost, place, Access::Write, |runtime| object(runtime, semaphore));
        change(semaphore, 1, place);
        0
    })
    // SAFETY: the program has called `sem_post` with these arguments.
    .unwrap_or_else(|| unsafe { real::sem_post(semaphore) })
}

unsafe extern "C" fn barrier_init(
    barrier: *mut c_void,
    attributes: *const c_void,
    count: u32,
    place: usize,
) -> c_int {
    enter_for(barrier, place, || with(|runtime| runtime.objects.forget(barrier as u64, Class::Barrier)));
    // SAFETY: the program has called `pthread_barrier_init` with these arguments.
    unsafe { real::pthread_barrier_init(barrier, attributes, count) }
}

unsafe extern "C" fn barrier_destroy(barrier: *mut c_void, place: usize) -> c_int {
    enter_for(barrier, place, || {
        if let Some((object, _)) = with(|runtime| runtime.objects.find(barrier as u64, Class::Barrier)) {
            step_on(Kind::Destroy, place, Access::Write, |_| object);
            with(|runtime| runtime.objects.forget(barrier as u64, Class::Barrier));
        }
        0
    })
    // SAFETY: the program has called `pthread_barrier_destroy` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_barrier_destroy(barrier) })
}

unsafe extern "C" fn barrier_wait(barrier: *mut c_void, place: usize) -> c_int {
    enter_for(barrier, place, || {
        if shared::is_barrier(barrier) {
            loss::lose(
                "it waits for a barrier together with another process, which raddle does not control\n\
                 help: test the processes one by one, with a barrier for threads (PTHREAD_PROCESS_PRIVATE)",
            );
        }
        let reply = step(|runtime| {
            let object = runtime.object(barrier as u64, Class::Barrier, || {
                // SAFETY: POSIX requires a valid barrier, and the offset is inside it.
                u64::from(unsafe { barrier.byte_add(COUNT_AT).cast::<u32>().read_unaligned() })
            });
            // One of the threads gets PTHREAD_BARRIER_SERIAL_THREAD.
            Operation::new(Kind::Barrier, runtime.place(place)).on(object, Access::Read).with_argument(1)
        });
        if reply == Reply::Number(1) { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
    })
    // SAFETY: the program has called `pthread_barrier_wait` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_barrier_wait(barrier) })
}
