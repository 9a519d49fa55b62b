//! Condition variables.

use super::entry::{cancellation_points, entries};
use super::time::{Clock, FOREVER, remaining};
use super::{mutex, mutex_object, robust, shared, unwind};
use crate::child::control::{enter_for, is_running, probe};
use crate::child::objects::Class;
use crate::child::pending::Call;
use crate::child::runtime::with;
use crate::child::scheduling::{step, step_on};
use crate::platform::real;
use libc::{EINVAL, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation};
use std::ffi::{c_int, c_void};

entries! {
    pthread_cond_init => init;
    pthread_cond_destroy => destroy;
    pthread_cond_signal => signal;
    pthread_cond_broadcast => broadcast;
}

cancellation_points! {
    pthread_cond_wait => wait;
    pthread_cond_timedwait => timed_wait;
    pthread_cond_clockwait => clock_wait;
}

/// The offset of the flags in glibc's condition variable, and the one for the monotonic clock.
const FLAGS_AT: usize = 36;
const MONOTONIC: u32 = 2;

/// Probes the memory at `mutex`, which the program passes to a wait.
fn look_at(mutex: *mut c_void, place: usize) {
    if is_running() {
        probe(mutex, place);
    }
}

fn act(condition: *mut c_void, mutex: *mut c_void, span: u64, place: usize) -> c_int {
    if unwind::is_due() {
        return 0;
    }
    if shared::is_condition(condition) {
        return act_shared(mutex, span, place);
    }
    let call_begun = Call::begin();
    robust::note_unlock(mutex);
    let reply = step(|runtime| {
        let condition = runtime.object(condition as u64, Class::Condition, || 0);
        let mutex = mutex_object::object(runtime, mutex as usize);
        Operation::new(Kind::ConditionWait, runtime.place(place))
            .on(condition, Access::Write)
            .on(mutex, Access::Write)
            .with_argument(span)
    });
    let died = robust::note_lock(mutex, place);
    if reply != Reply::TimedOut {
        return died;
    }
    // After the handler of a signal, the wait is over as if by chance.
    if unwind::is_due() || call_begun.is_interrupted(false) || died != 0 {
        return died;
    }
    ETIMEDOUT
}

/// Waits for a condition variable that other processes use.
fn act_shared(mutex: *mut c_void, span: u64, place: usize) -> c_int {
    mutex::act(Kind::Unlock, mutex, FOREVER, place);
    let came = shared::pass(place, span);
    let error = mutex::act(Kind::Lock, mutex, FOREVER, place);
    unwind::is_due();
    if came || error != 0 { error } else { ETIMEDOUT }
}

pub(super) unsafe extern "C" fn init(
    condition: *mut c_void,
    attributes: *const c_void,
    place: usize,
) -> c_int {
    enter_for(condition, place, || {
        with(|runtime| runtime.objects.forget(condition as u64, Class::Condition))
    });
    // SAFETY: the program has called `pthread_cond_init` with these arguments.
    unsafe { real::pthread_cond_init(condition, attributes) }
}

pub(super) unsafe extern "C" fn destroy(condition: *mut c_void, place: usize) -> c_int {
    enter_for(condition, place, || {
        if let Some((object, _)) = with(|runtime| runtime.objects.find(condition as u64, Class::Condition)) {
            step_on(Kind::Destroy, place, Access::Write, |_| object);
            with(|runtime| runtime.objects.forget(condition as u64, Class::Condition));
        }
        0
    })
    // SAFETY: the program has called `pthread_cond_destroy` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_cond_destroy(condition) })
}

pub(super) unsafe extern "C" fn wait(condition: *mut c_void, mutex: *mut c_void, place: usize) -> c_int {
    look_at(mutex, place);
    enter_for(condition, place, || act(condition, mutex, FOREVER, place))
        // SAFETY: the program has called `pthread_cond_wait` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_cond_wait(condition, mutex) })
}

pub(super) unsafe extern "C" fn timed_wait(
    condition: *mut c_void,
    mutex: *mut c_void,
    time: *const timespec,
    place: usize,
) -> c_int {
    look_at(mutex, place);
    enter_for(condition, place, || {
        // SAFETY: POSIX requires a valid condition variable, and the offset is inside it.
        let flags = unsafe { condition.byte_add(FLAGS_AT).cast::<u32>().read_unaligned() };
        let clock = if flags & MONOTONIC != 0 { Clock::Monotonic } else { Clock::Real };
        remaining(clock, time, place).map_or(EINVAL, |span| act(condition, mutex, span, place))
    })
    // SAFETY: the program has called `pthread_cond_timedwait` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_cond_timedwait(condition, mutex, time) })
}

unsafe extern "C" fn clock_wait(
    condition: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    look_at(mutex, place);
    enter_for(condition, place, || {
        let span = Clock::of(clock).and_then(|clock| remaining(clock, time, place));
        span.map_or(EINVAL, |span| act(condition, mutex, span, place))
    })
    // SAFETY: the program has called `pthread_cond_clockwait` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_cond_clockwait(condition, mutex, clock, time) })
}

fn wake(kind: Kind, condition: *mut c_void, place: usize) -> c_int {
    if shared::is_condition(condition) {
        // SAFETY: the program passes a condition variable. Every thread of this process looks again by itself.
        return shared::once(place, || unsafe { real::pthread_cond_broadcast(condition) });
    }
    step_on(kind, place, Access::Write, |runtime| runtime.object(condition as u64, Class::Condition, || 0));
    0
}

pub(super) unsafe extern "C" fn signal(condition: *mut c_void, place: usize) -> c_int {
    enter_for(condition, place, || wake(Kind::Signal, condition, place))
        // SAFETY: the program has called `pthread_cond_signal` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_cond_signal(condition) })
}

pub(super) unsafe extern "C" fn broadcast(condition: *mut c_void, place: usize) -> c_int {
    enter_for(condition, place, || wake(Kind::Broadcast, condition, place))
        // SAFETY: the program has called `pthread_cond_broadcast` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_cond_broadcast(condition) })
}
