//! Creation and setting of timer files; see [`crate::child::timer_file`].

use super::entry::{place, system_calls};
use super::time::{Clock, kernel_nanoseconds};
use super::transfer::touch;
use crate::child::control::{self, enter};
use crate::child::runtime::{Runtime, with};
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EFAULT, c_int, itimerspec, timespec};

system_calls! {
    timerfd_create => make;
    timerfd_settime => set;
    timerfd_gettime => get;
}

unsafe extern "C" fn make(id: c_int, flags: c_int) -> c_int {
    // SAFETY: the function has no preconditions.
    let file = unsafe { real::timerfd_create(id, flags) };
    if file >= 0 {
        enter(|| with(|runtime| runtime.add_timer(file, Clock::of(id) == Some(Clock::Real))));
    }
    file
}

fn write(value: *mut itimerspec, place: usize, (left, interval): (u64, u64)) {
    let time = |span: u64| timespec {
        tv_sec: (span / 1_000_000_000) as i64,
        tv_nsec: (span % 1_000_000_000) as i64,
    };
    // SAFETY: both calling functions require room for a value.
    unsafe { control::write(value, itimerspec { it_interval: time(interval), it_value: time(left) }, place) };
}

unsafe extern "C" fn set(file: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
    let place = place();
    let result = enter(|| {
        let before = with(|runtime| runtime.timer_state(file))?;
        touch(place, |runtime| match runtime.file(file) {
            Some(object) => object,
            None => runtime.all(crate::child::outside::What::Others),
        });
        // SAFETY: `timerfd_settime` requires a valid value.
        let (value, interval) = unsafe { (&raw const (*new).it_value, &raw const (*new).it_interval) };
        let times = kernel_nanoseconds(value, place)
            .and_then(|span| Ok((span, kernel_nanoseconds(interval, place)?)));
        let (span, interval) = match times {
            Ok(times) => times,
            Err(error) => return Some(-(error as isize)),
        };
        let absolute = flags & libc::TFD_TIMER_ABSTIME != 0;
        let is_real = with(|runtime| runtime.timer_is_real(file));
        let clock = if is_real { Clock::Real } else { Clock::Monotonic };
        let left = if absolute { span.saturating_sub(clock.now()) } else { span };
        with(|runtime| {
            let due = (span > 0).then(|| runtime.now().saturating_add(left));
            runtime.set_timer(file, due, interval);
            runtime.look_inside();
        });
        if !old.is_null() {
            if !raw::is_readable(old as usize, size_of::<itimerspec>()) {
                return Some(-(EFAULT as isize));
            }
            write(old, place, before);
        }
        Some(0)
    });
    match result.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `timerfd_settime` with these arguments.
        None => unsafe { real::timerfd_settime(file, flags, new, old) },
    }
}

unsafe extern "C" fn get(file: c_int, value: *mut itimerspec) -> c_int {
    let place = place();
    match enter(|| with(|runtime: &mut Runtime| runtime.timer_state(file))).flatten() {
        Some(_) if !raw::is_readable(value as usize, size_of::<itimerspec>()) => {
            errno_result(-(EFAULT as isize)) as c_int
        }
        Some(state) => {
            write(value, place, state);
            0
        }
        // SAFETY: the program has called `timerfd_gettime` with these arguments.
        None => unsafe { real::timerfd_gettime(file, value) },
    }
}
