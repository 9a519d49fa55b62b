//! Sleeping, yielding and the clocks, all on the virtual clock.
//!
//! Virtual time stands still while a thread can run. So that a loop that waits for a time ends, every clock
//! reading takes a microsecond, and a number of consecutive readings lets other threads run.

use super::entry::{cancellation_points, entries};
use super::unwind;
use crate::child::alarms;
use crate::child::control::{self, enter};
use crate::child::pending::Call;
use crate::child::runtime::with;
use crate::child::scheduling::step;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EFAULT, EINTR, EINVAL, timespec, timeval};
use raddle_model::{Kind, Operation};
use std::ffi::{c_int, c_long, c_void};

entries! {
    clock_gettime => clock_time;
    gettimeofday => time_of_day;
    time => seconds;
    clock => processor_time;
}

cancellation_points! {
    sched_yield => yield_now;
    pthread_yield() -> c_int => yield_now;
    sleep => sleep_seconds;
    usleep => sleep_microseconds;
    nanosleep => sleep_span;
    clock_nanosleep => clock_sleep;
}

/// The time limit of waits without one.
pub(super) const FOREVER: u64 = raddle_model::Operation::UNTIMED;

const SECOND: u64 = 1_000_000_000;
/// The initial values of the clocks: a moment in 2026, and some hours after the boot of the machine.
const REAL_START: u64 = 1_767_225_600 * SECOND;
const MONOTONIC_START: u64 = 10_000 * SECOND;
/// The duration of a reading in nanoseconds.
const READING: u64 = 1_000;
/// The number of consecutive readings after which other threads may run.
const READINGS: u32 = 64;

/// A clock of a time value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    Real,
    Monotonic,
    /// The time that the process, or a thread, has used a processor: all the time since the start.
    Processor,
}

impl Clock {
    /// Returns the clock with the number `id` in C.
    pub(super) fn of(id: c_int) -> Option<Clock> {
        match id {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(Clock::Real),
            libc::CLOCK_MONOTONIC
            | libc::CLOCK_MONOTONIC_RAW
            | libc::CLOCK_MONOTONIC_COARSE
            | libc::CLOCK_BOOTTIME => Some(Clock::Monotonic),
            libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(Clock::Processor),
            _ => None,
        }
    }

    /// Returns the current time in nanoseconds.
    pub(super) fn now(self) -> u64 {
        let start = match self {
            Clock::Real => REAL_START,
            Clock::Monotonic => MONOTONIC_START,
            Clock::Processor => 0,
        };
        with(|runtime| runtime.now()).saturating_add(start)
    }
}

/// Returns a time in nanoseconds, if it is valid, for a function that the program called at `place`.
pub(super) fn nanoseconds(time: *const timespec, place: usize) -> Option<u64> {
    // SAFETY: the program passes a time to all functions that call this one.
    let time = unsafe { control::read(time, place) };
    let parts = (0..SECOND as i64).contains(&time.tv_nsec).then_some(time.tv_nsec as u64)?;
    // A time before the epoch has passed.
    Some(u64::try_from(time.tv_sec).map_or(0, |seconds| seconds.saturating_mul(SECOND).saturating_add(parts)))
}

/// Returns a time in nanoseconds for a system call: `EFAULT` if the memory is not mapped, `EINVAL` if the time is invalid.
pub(super) fn kernel_nanoseconds(time: *const timespec, place: usize) -> Result<u64, c_int> {
    if !raw::is_readable(time as usize, size_of::<timespec>()) {
        return Err(EFAULT);
    }
    nanoseconds(time, place).map(|span| span.min(FOREVER - 1)).ok_or(EINVAL)
}

/// Returns a time limit for a system call, as [`kernel_nanoseconds`]; null means none.
pub(super) fn kernel_limit(time: *const timespec, place: usize) -> Result<u64, c_int> {
    if time.is_null() { Ok(FOREVER) } else { kernel_nanoseconds(time, place) }
}

/// Returns the duration until `time`; `None` if that is not a valid time.
pub(super) fn remaining(clock: Clock, time: *const timespec, place: usize) -> Option<u64> {
    // The largest number would mean no time limit.
    nanoseconds(time, place).map(|time| time.saturating_sub(clock.now()).min(u64::MAX - 1))
}

fn give_way(place: usize) {
    step(|runtime| Operation::new(Kind::Yield, runtime.place(place)));
}

/// Sleeps, or less if another thread ends the sleep.
pub(super) fn sleep_within(span: u64, place: usize) {
    step(|runtime| Operation::new(Kind::Sleep, runtime.place(place)).with_argument(span));
}

/// Sleeps on behalf of the program. Returns the rest of the time if the handler of a signal has run.
fn pause(span: u64, place: usize) -> Option<u64> {
    if unwind::is_due() {
        return None;
    }
    let now = || with(|runtime| runtime.now());
    let (call, begun) = (Call::begin(), now());
    sleep_within(span, place);
    unwind::is_due();
    if call.is_interrupted(false) {
        return Some(span.saturating_sub(now() - begun));
    }
    alarms::end_if_over();
    None
}

pub(super) unsafe extern "C" fn yield_now(place: usize) -> c_int {
    enter(|| {
        give_way(place);
        unwind::is_due_here();
        0
    })
    // SAFETY: the function has no preconditions.
    .unwrap_or_else(|| unsafe { real::sched_yield() })
}

unsafe extern "C" fn sleep_seconds(span: u32, place: usize) -> u32 {
    // The rest, rounded up.
    enter(|| pause(u64::from(span) * SECOND, place).map_or(0, |rest| rest.div_ceil(SECOND) as u32))
        // SAFETY: the function has no preconditions.
        .unwrap_or_else(|| unsafe { real::sleep(span) })
}

unsafe extern "C" fn sleep_microseconds(span: u32, place: usize) -> c_int {
    enter(|| match pause(u64::from(span) * 1_000, place) {
        None => 0,
        Some(_) => errno_result(-(EINTR as isize)) as c_int,
    })
    // SAFETY: the function has no preconditions.
    .unwrap_or_else(|| unsafe { real::usleep(span) })
}

pub(super) unsafe extern "C" fn sleep_span(span: *const timespec, rest: *mut c_void, place: usize) -> c_int {
    enter(|| match kernel_nanoseconds(span, place) {
        Ok(span) => match pause(span, place) {
            None => 0,
            Some(left) => errno_result(-(write_rest(rest, left, place) as isize)) as c_int,
        },
        Err(error) => errno_result(-(error as isize)) as c_int,
    })
    // SAFETY: the program has called `nanosleep` with these arguments.
    .unwrap_or_else(|| unsafe { real::nanosleep(span, rest) })
}

/// Writes the rest of an interrupted sleep where the program wants it, if it does. Returns the error of the sleep.
fn write_rest(rest: *mut c_void, left: u64, place: usize) -> c_int {
    if !rest.is_null() {
        let left = timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 };
        // SAFETY: POSIX requires room for a time if the pointer is not null.
        unsafe { control::write(rest.cast::<timespec>(), left, place) };
    }
    EINTR
}

unsafe extern "C" fn clock_sleep(
    clock: c_int,
    flags: c_int,
    time: *const timespec,
    rest: *mut c_void,
    place: usize,
) -> c_int {
    enter(|| {
        let Some(clock) = Clock::of(clock) else { return EINVAL };
        match kernel_nanoseconds(time, place) {
            Ok(time) => {
                let until = flags & libc::TIMER_ABSTIME != 0;
                let span = if until { time.saturating_sub(clock.now()) } else { time };
                match pause(span, place) {
                    None => 0,
                    Some(_) if until => EINTR,
                    Some(left) => write_rest(rest, left, place),
                }
            }
            Err(error) => error,
        }
    })
    // SAFETY: the program has called `clock_nanosleep` with these arguments.
    .unwrap_or_else(|| unsafe { real::clock_nanosleep(clock, flags, time, rest) })
}

/// Reads a clock.
fn read(clock: Clock, place: usize) -> u64 {
    let readings = with(|runtime| {
        runtime.ticks += READING;
        runtime.me().readings += 1;
        runtime.me().readings
    });
    if readings > READINGS {
        give_way(place);
    }
    alarms::end_if_over();
    clock.now()
}

unsafe extern "C" fn clock_time(id: c_int, time: *mut timespec, place: usize) -> c_int {
    let known = Clock::of(id).and_then(|clock| enter(|| read(clock, place)));
    match known {
        Some(now) => {
            let now = timespec { tv_sec: (now / SECOND) as i64, tv_nsec: (now % SECOND) as i64 };
            // SAFETY: POSIX requires room for a time.
            unsafe { control::write(time, now, place) };
            0
        }
        // SAFETY: the program has called `clock_gettime` with these arguments.
        None => unsafe { real::clock_gettime(id, time) },
    }
}

unsafe extern "C" fn time_of_day(time: *mut timeval, zone: *mut c_void, place: usize) -> c_int {
    match enter(|| read(Clock::Real, place)) {
        Some(now) => {
            let now = timeval { tv_sec: (now / SECOND) as i64, tv_usec: (now % SECOND / 1_000) as i64 };
            if !time.is_null() {
                // SAFETY: the pointer is not null, and POSIX then requires room for a time.
                unsafe { control::write(time, now, place) };
            }
            0
        }
        // SAFETY: the program has called `gettimeofday` with these arguments.
        None => unsafe { real::gettimeofday(time, zone) },
    }
}

unsafe extern "C" fn seconds(time: *mut c_long, place: usize) -> c_long {
    match enter(|| read(Clock::Real, place)) {
        Some(now) => {
            let now = (now / SECOND) as c_long;
            if !time.is_null() {
                // SAFETY: the pointer is not null, and POSIX then requires room for a time.
                unsafe { control::write(time, now, place) };
            }
            now
        }
        // SAFETY: the program has called `time` with these arguments.
        None => unsafe { real::time(time) },
    }
}

unsafe extern "C" fn processor_time(place: usize) -> c_long {
    match enter(|| read(Clock::Processor, place)) {
        // In microseconds.
        Some(now) => (now / 1_000) as c_long,
        // SAFETY: the function has no preconditions.
        None => unsafe { real::clock() },
    }
}
