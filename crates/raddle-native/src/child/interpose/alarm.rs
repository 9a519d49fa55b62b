//! Timers that send signals; see [`crate::child::alarms`].

use super::entry::entries;
use super::signal;
use super::thread;
use super::time::{Clock, kernel_nanoseconds, sleep_within};
use crate::child::alarms::Expiry;
use crate::child::control::{self, enter, leave};
use crate::child::loss;
use crate::child::runtime::{Runtime, with};
use crate::child::signals::{Alarm, Notice};
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EFAULT, EINVAL, c_int, itimerspec, timespec};
use std::ffi::c_void;

entries! {
    alarm => in_seconds;
    ualarm => in_microseconds;
    setitimer => set_interval;
    getitimer => get_interval;
    timer_create => create;
    timer_settime => set;
    timer_gettime => get;
    timer_getoverrun => get_overrun;
    timer_delete => delete;
}

const SECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1_000;

/// The thread of a timer: waits, and sends the signal or starts the thread. `argument` is the number of the timer
/// and its era.
unsafe extern "C" fn run(argument: *mut c_void) -> *mut c_void {
    let (number, era) = (argument as usize >> 32, argument as usize as u32);
    while let Some(Some(left)) = enter(|| with(|runtime| runtime.until_alarm(number, era))) {
        enter(|| {
            let place = with(|runtime| runtime.alarms[number].place);
            if left > 0 {
                sleep_within(left, place);
            }
            if with(|runtime| runtime.until_alarm(number, era)) != Some(0) {
                return;
            }
            match with(|runtime| runtime.expire_alarm(number)) {
                Expiry::Nothing => {}
                Expiry::Signal(target, info) => {
                    signal::send(target, info, place);
                }
                Expiry::Thread(function, value) => start(function, value as *mut c_void, place),
            }
        });
    }
    std::ptr::null_mut()
}

/// Starts a detached thread.
fn start(function: usize, argument: *mut c_void, place: usize) {
    let mut handle = 0;
    // SAFETY: there is room for the handle, and the function takes the argument: it is `run`, or one that the program
    // requests to be called with its value.
    leave(|| unsafe {
        let error =
            thread::create(&raw mut handle, std::ptr::null(), function as *const c_void, argument, place);
        if error == 0 {
            thread::detach(handle, place);
        }
    });
}

/// Sets a timer, which expires after `span` or never.
fn restart(number: usize, span: u64, interval: u64, place: usize) {
    signal::touch_signals(place);
    let needs_thread = with(|runtime| {
        let due = (span > 0).then(|| runtime.now().saturating_add(span));
        runtime.set_alarm(number, due, interval, place)
    });
    if needs_thread {
        begin(number, place);
    }
}

/// Starts the thread of a timer.
fn begin(number: usize, place: usize) {
    let era = with(|runtime| runtime.alarms[number].era);
    start(run as *const () as usize, (number << 32 | era as usize) as *mut c_void, place);
}

/// Starts the threads of timers whose signals the program has just begun to handle. Called inside the runtime.
pub(super) fn begin_handled() {
    for number in with(Runtime::alarms_without_thread) {
        let place = with(|runtime| runtime.alarms[number].place);
        begin(number, place);
    }
}

/// Sets one of the timers of the process in units of nanoseconds; returns its previous state.
fn change(number: usize, span: u64, interval: u64, place: usize) -> (u64, u64) {
    let before = state(number);
    restart(number, span, interval, place);
    before
}

fn state(number: usize) -> (u64, u64) {
    with(|runtime| {
        let now = runtime.now();
        runtime.alarm(number).map_or((0, 0), |alarm| alarm.state(now))
    })
}

unsafe extern "C" fn in_seconds(seconds: u32, place: usize) -> u32 {
    enter(|| {
        let (left, _) = change(libc::ITIMER_REAL as usize, u64::from(seconds) * SECOND, 0, place);
        // As Linux does: rounded, and never to zero.
        if left == 0 { 0 } else { ((left + SECOND / 2) / SECOND).max(1) as u32 }
    })
    // SAFETY: the function has no preconditions.
    .unwrap_or_else(|| unsafe { real::alarm(seconds) })
}

unsafe extern "C" fn in_microseconds(span: u32, interval: u32, place: usize) -> u32 {
    enter(|| {
        let [span, interval] = [span, interval].map(|time| u64::from(time) * MICROSECOND);
        (change(libc::ITIMER_REAL as usize, span, interval, place).0 / MICROSECOND) as u32
    })
    // SAFETY: the function has no preconditions.
    .unwrap_or_else(|| unsafe { real::ualarm(span, interval) })
}

/// Writes the state of a timer where the program wants it, if it does.
fn write_interval(room: *mut libc::itimerval, (left, interval): (u64, u64)) -> c_int {
    if room.is_null() {
        return 0;
    }
    if !raw::is_readable(room as usize, size_of::<libc::itimerval>()) {
        return EFAULT;
    }
    let time = |span: u64| libc::timeval {
        tv_sec: (span / SECOND) as i64,
        tv_usec: (span % SECOND / MICROSECOND) as i64,
    };
    // SAFETY: the program passes room for the value, which is mapped.
    unsafe { room.write_unaligned(libc::itimerval { it_interval: time(interval), it_value: time(left) }) };
    0
}

unsafe extern "C" fn set_interval(
    which: c_int,
    new: *const libc::itimerval,
    old: *mut libc::itimerval,
    place: usize,
) -> c_int {
    enter(|| {
        if !(0..3).contains(&which) {
            return EINVAL;
        }
        let [mut span, mut interval] = [0; 2];
        if !new.is_null() {
            if !raw::is_readable(new as usize, size_of::<libc::itimerval>()) {
                return EFAULT;
            }
            // SAFETY: the program passes a value, which is mapped.
            let value = unsafe { new.read_unaligned() };
            let time = |time: libc::timeval| {
                let is_valid = time.tv_sec >= 0 && (0..1_000_000).contains(&time.tv_usec);
                let parts = (time.tv_sec as u64).saturating_mul(SECOND);
                is_valid.then(|| parts.saturating_add(time.tv_usec as u64 * MICROSECOND))
            };
            let (Some(value), Some(repeats)) = (time(value.it_value), time(value.it_interval)) else {
                return EINVAL;
            };
            (span, interval) = (value, repeats);
        }
        let before = change(which as usize, span, interval, place);
        write_interval(old, before)
    })
    .map_or_else(
        // SAFETY: the program has called `setitimer` with these arguments.
        || unsafe { real::setitimer(which, new, old) },
        |error| errno_result(-(error as isize)) as c_int,
    )
}

unsafe extern "C" fn get_interval(which: c_int, value: *mut libc::itimerval, _: usize) -> c_int {
    enter(|| match which {
        0..3 if value.is_null() => EFAULT,
        0..3 => write_interval(value, state(which as usize)),
        _ => EINVAL,
    })
    .map_or_else(
        // SAFETY: the program has called `getitimer` with these arguments.
        || unsafe { real::getitimer(which, value) },
        |error| errno_result(-(error as isize)) as c_int,
    )
}

/// The offset of the function in `sigevent`, for `SIGEV_THREAD`.
const FUNCTION_AT: usize = 16;

unsafe extern "C" fn create(
    clock: c_int,
    event: *const libc::sigevent,
    timer: *mut *mut c_void,
    place: usize,
) -> c_int {
    enter(|| {
        let Some(clock) = Clock::of(clock) else { return EINVAL };
        let (notice, value) = if event.is_null() {
            (Notice::Signal(libc::SIGALRM, None), None)
        } else {
            // SAFETY: POSIX requires a valid event, as the pointer is not null.
            let event = unsafe { control::read(event, place) };
            let value = Some(event.sigev_value.sival_ptr as usize);
            let signal = event.sigev_signo;
            let is_valid = (1..=64).contains(&signal);
            match event.sigev_notify {
                libc::SIGEV_NONE => (Notice::Nothing, value),
                libc::SIGEV_SIGNAL if is_valid => (Notice::Signal(signal, None), value),
                libc::SIGEV_THREAD_ID if is_valid => {
                    let target = super::identity::thread_with(event.sigev_notify_thread_id);
                    let Some(target) = target else { return EINVAL };
                    (Notice::Signal(signal, Some(target)), value)
                }
                libc::SIGEV_THREAD => {
                    // SAFETY: the event is valid, and has the function at this offset.
                    let function =
                        unsafe { std::ptr::from_ref(&event).byte_add(FUNCTION_AT).cast::<usize>().read() };
                    (Notice::Thread(function), value)
                }
                _ => return EINVAL,
            }
        };
        if matches!(notice, Notice::Thread(0)) {
            loss::lose("it creates a timer that calls a null function\nhelp: set sigev_notify_function");
        }
        let is_real = clock == Clock::Real;
        with(|runtime| {
            let alarm = Alarm::new(notice, 0, is_real, libc::SI_TIMER);
            let number = runtime.add_alarm(alarm);
            // The default value is the number of the timer.
            runtime.alarms[number].value = value.unwrap_or(number);
            // SAFETY: POSIX requires room for the timer.
            unsafe { timer.write_unaligned(number as *mut c_void) };
        });
        0
    })
    .map_or_else(
        // SAFETY: the program has called `timer_create` with these arguments.
        || unsafe { real::timer_create(clock, event, timer) },
        |error| errno_result(-(error as isize)) as c_int,
    )
}

/// Returns true if a timer exists. Those of the process have no handle.
fn exists(timer: *mut c_void) -> bool {
    timer as usize > 2 && with(|runtime| runtime.alarm(timer as usize).is_some())
}

fn write_state(room: *mut itimerspec, (left, interval): (u64, u64)) -> c_int {
    if !raw::is_readable(room as usize, size_of::<itimerspec>()) {
        return EFAULT;
    }
    let time = |span: u64| timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as i64 };
    // SAFETY: POSIX requires room for the state, which is mapped.
    unsafe { room.write_unaligned(itimerspec { it_interval: time(interval), it_value: time(left) }) };
    0
}

unsafe extern "C" fn set(
    timer: *mut c_void,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
    place: usize,
) -> c_int {
    enter(|| {
        if !exists(timer) || new.is_null() {
            return EINVAL;
        }
        let number = timer as usize;
        // SAFETY: `timer_settime` requires a valid value.
        let (value, interval) = unsafe { (&raw const (*new).it_value, &raw const (*new).it_interval) };
        let times = kernel_nanoseconds(value, place)
            .and_then(|span| Ok((span, kernel_nanoseconds(interval, place)?)));
        let (span, interval) = match times {
            Ok(times) => times,
            Err(error) => return error,
        };
        let is_real = with(|runtime| runtime.alarms[number].is_real);
        let clock = if is_real { Clock::Real } else { Clock::Monotonic };
        let is_absolute = flags & libc::TIMER_ABSTIME != 0 && span > 0;
        // A time that has passed is due at once.
        let left = if is_absolute { span.saturating_sub(clock.now()).max(1) } else { span };
        let before = change(number, left, interval, place);
        if old.is_null() { 0 } else { write_state(old, before) }
    })
    .map_or_else(
        // SAFETY: the program has called `timer_settime` with these arguments.
        || unsafe { real::timer_settime(timer, flags, new, old) },
        |error| errno_result(-(error as isize)) as c_int,
    )
}

unsafe extern "C" fn get(timer: *mut c_void, value: *mut itimerspec, _: usize) -> c_int {
    enter(|| if exists(timer) { write_state(value, state(timer as usize)) } else { EINVAL }).map_or_else(
        // SAFETY: the program has called `timer_gettime` with these arguments.
        || unsafe { real::timer_gettime(timer, value) },
        |error| errno_result(-(error as isize)) as c_int,
    )
}

unsafe extern "C" fn get_overrun(timer: *mut c_void, _: usize) -> c_int {
    enter(|| {
        if !exists(timer) {
            return -(EINVAL as isize);
        }
        with(|runtime| runtime.alarms[timer as usize].overrun as isize)
    })
    // SAFETY: the program has called `timer_getoverrun` with this argument.
    .map_or_else(|| unsafe { real::timer_getoverrun(timer) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn delete(timer: *mut c_void, place: usize) -> c_int {
    enter(|| {
        if !exists(timer) {
            return EINVAL;
        }
        restart(timer as usize, 0, 0, place);
        with(|runtime| runtime.alarms[timer as usize].exists = false);
        0
    })
    .map_or_else(
        // SAFETY: the program has called `timer_delete` with this argument.
        || unsafe { real::timer_delete(timer) },
        |error| errno_result(-(error as isize)) as c_int,
    )
}
