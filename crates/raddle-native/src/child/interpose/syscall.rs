//! `syscall`, by which programs call the kernel directly, mostly for futexes.

use super::entry::{PLACE, full_entries, place};
use super::futex::{Call, futex};
use super::{descriptor, identity, process, random, signal, unwind};
use crate::child::control::{self, enter};
use crate::child::scheduling::step;
use crate::child::stack;
use crate::platform::raw::errno_result;
use crate::platform::real;
use raddle_model::{Kind, Operation};
use std::ffi::{c_int, c_long};
use std::sync::atomic::Ordering;

full_entries! {
    // Its last argument is on the stack.
    syscall => call;
}

unsafe extern "C" fn call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_futex {
        let place = place();
        let answer = enter(|| {
            futex(Call {
                address: a,
                operation: b as c_int,
                value: c as u32,
                fourth: d,
                second: e,
                last: f as u32,
                place,
            })
        });
        match answer {
            Some(Ok(count)) => return count,
            Some(Err(error)) => {
                // SAFETY: `__errno_location` returns a valid pointer for every thread.
                unsafe { *libc::__errno_location() = error };
                return -1;
            }
            None => {}
        }
    }
    if number == libc::SYS_sched_yield {
        let place = place();
        if enter(|| step(|runtime| Operation::new(Kind::Yield, runtime.place(place)))).is_some() {
            return 0;
        }
    }
    let target = match number {
        libc::SYS_tkill => Some((a as c_int, b as c_int)),
        libc::SYS_tgkill if a as c_int == std::process::id() as c_int => Some((b as c_int, c as c_int)),
        _ => None,
    };
    if let Some((thread, signal)) = target
        && let Some(result) = signal::send_by_number(thread, signal, place())
    {
        return errno_result(result) as c_long;
    }
    if number == libc::SYS_gettid
        && let Some(number) = identity::thread_number()
    {
        return c_long::from(number);
    }
    if number == libc::SYS_getrandom
        && let Some(result) = random::by_number(a, b)
    {
        return errno_result(result) as c_long;
    }
    if number == libc::SYS_exit_group {
        process::end_with(a as c_int);
    }
    if control::is_running() {
        // SAFETY: the program requested this system call with these arguments.
        let result = unsafe { descriptor::by_number(number, a, b, c) };
        if let Some(result) = result {
            // `syscall` is not a cancellation point.
            unwind::put_off();
            return result as c_long;
        }
    }
    // SAFETY: the program has called `syscall` with these arguments.
    unsafe { real::syscall(number, a, b, c, d, e, f) }
}

/// Returns the result of a call by an instruction, as the kernel would.
///
/// # Safety
/// As the system call.
pub(crate) unsafe fn by_instruction(arguments: [usize; 6], place: usize, frame: usize) -> isize {
    let [a, b, c, d, e, f] = arguments;
    PLACE.store(place, Ordering::Relaxed);
    stack::set_frame(frame);
    // SAFETY: `__errno_location` has no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is valid for the current thread.
    let before = unsafe { *errno };
    // SAFETY: the program requested a futex call with these arguments.
    let result = unsafe { call(libc::SYS_futex, a, b, c, d, e, f) } as isize;
    // SAFETY: the pointer is valid for the current thread, as above.
    let error = unsafe { std::mem::replace(&mut *errno, before) };
    if result == -1 { -(error as isize) } else { result }
}
