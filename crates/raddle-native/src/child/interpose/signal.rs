//! Sending signals and waiting for them.
//!
//! All threads share one OS thread, hence one mask and one set of pending signals. A handler runs on the
//! current thread, even for a signal that was sent to another one.

use super::entry::{exported, place, system_calls};
use super::time::{FOREVER, kernel_limit};
use super::transfer::{touch, wait};
use super::{identity, unwind};
use crate::child::control::{self, enter, leave};
use crate::child::outside::{Awaited, What};
use crate::child::runtime::{Runtime, with};
use crate::child::{loss, shared_memory};
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EAGAIN, EFAULT, EINTR, EINVAL, c_int, timespec};
use raddle_model::{ObjectId, ThreadId};
use std::ffi::c_void;

exported! {
    alarm setitimer timer_create mq_notify
}

system_calls! {
    sigwait => wait_one;
    sigwaitinfo => wait_info;
    sigtimedwait => wait_timed;
    sigsuspend => suspend;
    pause => pause_here;
    kill => send_process;
    raise => send_self;
    pthread_kill => send_thread;
}

fn signals(runtime: &mut Runtime) -> ObjectId {
    runtime.all(What::Signals)
}

/// Waits up to `span` until one of the signals of a set is pending. Returns true if one was.
fn wait_pending(set: u64, span: u64, place: usize) -> bool {
    let inside = with(|runtime| runtime.outside.timers == 0);
    wait(Awaited::Signals(set), inside, place, span, signals)
}

/// Takes one of the signals of a set, as `sigtimedwait` does.
fn take(set: *const u64, info: *mut c_void, span: u64, place: usize) -> isize {
    let nothing = -(EAGAIN as isize);
    let now = timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        if unwind::is_due() {
            return -(EINTR as isize);
        }
        touch(place, signals);
        let arguments = [set as usize, info as usize, &raw const now as usize, 8, 0, 0];
        // SAFETY: POSIX requires a valid set, and room for the description of the signal or null.
        let signal = unsafe { raw::syscall(libc::SYS_rt_sigtimedwait, arguments) };
        if signal != nothing {
            return signal;
        }
        super::access::note_no_write();
        // Another thread may have cancelled this one before it polled.
        if unwind::is_due() {
            return -(EINTR as isize);
        }
        // SAFETY: the set is valid, as above; the kernel's sets have 64 bits.
        if span == 0 || !wait_pending(unsafe { *set }, span, place) {
            unwind::is_due();
            return nothing;
        }
    }
}

unsafe extern "C" fn wait_one(set: *const u64, signal: *mut c_int) -> c_int {
    let place = place();
    let taken = enter(|| take(set, std::ptr::null_mut(), FOREVER, place));
    match taken {
        // SAFETY: the program has called `sigwait` with these arguments.
        None => unsafe { real::sigwait(set, signal) },
        Some(taken) if taken < 0 => -taken as c_int,
        Some(taken) => {
            // SAFETY: POSIX requires room for a number.
            unsafe { control::write(signal, taken as c_int, place) };
            0
        }
    }
}

unsafe extern "C" fn wait_info(set: *const u64, info: *mut c_void) -> c_int {
    let place = place();
    enter(|| take(set, info, FOREVER, place))
        // SAFETY: the program has called `sigwaitinfo` with these arguments.
        .map_or_else(|| unsafe { real::sigwaitinfo(set, info) }, |taken| errno_result(taken) as c_int)
}

unsafe extern "C" fn wait_timed(set: *const u64, info: *mut c_void, time: *const timespec) -> c_int {
    let place = place();
    enter(|| match kernel_limit(time, place) {
        Ok(span) => take(set, info, span, place),
        Err(error) => -(error as isize),
    })
    .map_or_else(
        // SAFETY: the program has called `sigtimedwait` with these arguments.
        || unsafe { real::sigtimedwait(set, info, time) },
        |taken| errno_result(taken) as c_int,
    )
}

/// Waits for a signal that `mask` does not block, and lets its handler run.
unsafe extern "C" fn suspend(mask: *const u64) -> c_int {
    let place = place();
    enter(|| {
        if !raw::is_readable(mask as usize, size_of::<u64>()) {
            return -(EFAULT as isize);
        }
        // SAFETY: POSIX requires a valid mask, and the memory is mapped.
        let through = unsafe { !*mask };
        if !unwind::is_due() {
            touch(place, signals);
            if !unwind::is_due() && wait_pending(through, FOREVER, place) && !unwind::is_due() {
                // SAFETY: the mask is valid, as above. A signal is pending, so that this does not wait.
                leave(|| unsafe { raw::syscall(libc::SYS_rt_sigsuspend, [mask as usize, 8, 0, 0, 0, 0]) });
            }
        }
        -(EINTR as isize)
    })
    // SAFETY: the program has called `sigsuspend` with these arguments.
    .map_or_else(|| unsafe { real::sigsuspend(mask) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn pause_here() -> c_int {
    let place = place();
    enter(|| {
        if !unwind::is_due() {
            let inside = with(|runtime| runtime.outside.timers == 0);
            wait(Awaited::Handler, inside, place, FOREVER, signals);
            unwind::is_due();
        }
        -(EINTR as isize)
    })
    // SAFETY: the function has no preconditions.
    .map_or_else(|| unsafe { real::pause() }, |result| errno_result(result) as c_int)
}

/// Sends a signal to `target`, or to any thread. If it ends the process, the location is known.
fn send(target: Option<ThreadId>, signal: c_int, place: usize, call: impl FnOnce() -> isize) -> isize {
    if signal == 0 {
        return call();
    }
    touch(place, signals);
    with(|runtime| shared_memory::note_running(runtime.current.0, place as u64));
    shared_memory::note_sent(signal);
    // A handler of the program runs inside.
    let result = leave(call);
    shared_memory::note_sent(0);
    with(|runtime| {
        runtime.wake_pausing(target);
        runtime.look_inside();
    });
    result
}

/// Sends a signal to this process. All OS threads except the running one block it; if that one does too, a
/// thread that runs later finds it pending.
fn send_here(signal: c_int) -> isize {
    // SAFETY: the system call touches no memory.
    let process = unsafe { raw::syscall(libc::SYS_getpid, [0; 6]) };
    // SAFETY: the program requests this signal; the system call touches no memory.
    unsafe { raw::syscall(libc::SYS_kill, [process as usize, signal as usize, 0, 0, 0, 0]) }
}

/// Ends the run if a signal would reach processes that are not of the program.
fn refuse_foreign(process: c_int, signal: c_int) {
    // SAFETY: the system call touches no memory.
    let parent = unsafe { raw::syscall(libc::SYS_getppid, [0; 6]) as c_int };
    if signal != 0 && process == -1 {
        loss::lose(
            "it sends a signal to all processes of the machine (kill with -1)\nhelp: send it to a process or to a group",
        );
    }
    if signal != 0 && process == parent {
        loss::lose(
            "it sends a signal to its parent process, which in a run is raddle\nhelp: skip that signal when it is tested",
        );
    }
}

unsafe extern "C" fn send_process(process: c_int, signal: c_int) -> c_int {
    let place = place();
    enter(|| {
        refuse_foreign(process, signal);
        send(None, signal, place, || {
            // SAFETY: the program requested this system call, which touches no memory.
            unsafe { raw::syscall(libc::SYS_kill, [process as usize, signal as usize, 0, 0, 0, 0]) }
        })
    })
    // SAFETY: the program has called `kill` with these arguments.
    .map_or_else(|| unsafe { real::kill(process, signal) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn send_self(signal: c_int) -> c_int {
    let place = place();
    enter(|| send(Some(with(|runtime| runtime.current)), signal, place, || send_here(signal)))
        // SAFETY: the program has called `raise` with these arguments.
        .map_or_else(|| unsafe { real::raise(signal) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn send_thread(handle: u64, signal: c_int) -> c_int {
    let place = place();
    enter(|| {
        let Some(target) = with(|runtime| runtime.find_thread(handle)) else {
            return identity::of_no_thread(handle, place);
        };
        match signal {
            0 => 0,
            1..=64 => -send(Some(target), signal, place, || send_here(signal)) as c_int,
            _ => EINVAL,
        }
    })
    // SAFETY: the program has called `pthread_kill` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_kill(handle, signal) })
}

/// Records that a timer may send a signal.
fn note_timer(signal: c_int) {
    enter(|| with(|runtime| runtime.outside.timers |= 1 << (signal - 1)));
}

/// Handles `alarm`.
#[unsafe(no_mangle)]
unsafe extern "C" fn alarm(seconds: u32) -> u32 {
    if seconds > 0 {
        note_timer(libc::SIGALRM);
    }
    // SAFETY: the function has no preconditions.
    unsafe { real::alarm(seconds) }
}

/// Handles `setitimer`.
#[unsafe(no_mangle)]
unsafe extern "C" fn setitimer(which: c_int, new: *const c_void, old: *mut c_void) -> c_int {
    note_timer(match which {
        libc::ITIMER_VIRTUAL => libc::SIGVTALRM,
        libc::ITIMER_PROF => libc::SIGPROF,
        _ => libc::SIGALRM,
    });
    // SAFETY: the program has called `setitimer` with these arguments.
    unsafe { real::setitimer(which, new, old) }
}

/// Handles `timer_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn timer_create(clock: c_int, event: *const libc::sigevent, timer: *mut c_void) -> c_int {
    refuse_thread(event, "a timer");
    // SAFETY: POSIX requires a valid event or null, which means an alarm.
    let signal = unsafe { event.as_ref() }.map_or(libc::SIGALRM, |event| match event.sigev_notify {
        libc::SIGEV_NONE => 0,
        _ => event.sigev_signo,
    });
    if (1..=64).contains(&signal) {
        note_timer(signal);
    }
    // SAFETY: the program has called `timer_create` with these arguments.
    unsafe { real::timer_create(clock, event, timer) }
}

/// Handles `mq_notify`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mq_notify(queue: c_int, event: *const libc::sigevent) -> c_int {
    refuse_thread(event, "a message queue notification");
    // SAFETY: the program has called `mq_notify` with these arguments.
    unsafe { real::mq_notify(queue, event) }
}

/// Ends the run if the C library would create a thread for an event: its creation is not visible to the
/// runtime.
fn refuse_thread(event: *const libc::sigevent, what: &str) {
    // SAFETY: the program passes a valid event or null.
    let notify = unsafe { event.as_ref() }.map(|event| event.sigev_notify);
    if notify == Some(libc::SIGEV_THREAD) {
        enter(|| {
            loss::lose(&format!(
                "it requests {what} on a thread of the C library (SIGEV_THREAD), which raddle does not control\nhelp: use a thread that waits in \
                 sigwait or sleeps instead"
            ))
        });
    }
}
