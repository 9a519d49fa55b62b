//! Sending signals and waiting for them; see [`crate::child::pending`].

use super::entry::{exported, place, system_calls};
use super::time::{FOREVER, kernel_limit};
use super::transfer::{touch, wait};
use super::{identity, unwind};
use crate::child::control::{self, enter, leave};
use crate::child::outside::{Awaited, What};
use crate::child::pending::{self, Call, Route};
use crate::child::runtime::{Runtime, with};
use crate::child::signals::{Info, bit};
use crate::child::{loss, shared_memory};
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use crate::platform::signals::mask_signals;
use libc::{EAGAIN, EFAULT, EINTR, EINVAL, ESRCH, c_int, timespec};
use raddle_model::{ObjectId, ThreadId};
use std::ffi::c_void;

exported! {
    mq_notify sigpending signalfd
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
    sigqueue => send_value;
    pthread_sigqueue => send_thread_value;
    tgkill => send_number;
}

fn signals(runtime: &mut Runtime) -> ObjectId {
    runtime.all(What::Signals)
}

/// Announces an operation that changes which signals arrive.
pub(super) fn touch_signals(place: usize) {
    touch(place, signals);
}

/// Takes one of the signals of a set, as `sigtimedwait` does.
fn take(set: u64, info: *mut c_void, span: u64, is_interruptible: bool, place: usize) -> isize {
    let nothing = -(EAGAIN as isize);
    let now = timespec { tv_sec: 0, tv_nsec: 0 };
    let call = Call::begin();
    let is_over = || unwind::is_due() || call.is_interrupted(false) && is_interruptible;
    loop {
        if is_over() {
            return -(EINTR as isize);
        }
        touch(place, signals);
        call.note_touch();
        if let Some(taken) = with(|runtime| runtime.me().signals.take(set)) {
            if !info.is_null() {
                // SAFETY: POSIX requires room for the description of the signal or null.
                unsafe { control::write(info.cast::<Info>(), taken, place) };
            }
            return taken.signal as isize;
        }
        let arguments = [&raw const set as usize, info as usize, &raw const now as usize, 8, 0, 0];
        // SAFETY: the set is valid; POSIX requires room for the description of the signal or null.
        let signal = unsafe { raw::syscall(libc::SYS_rt_sigtimedwait, arguments) };
        if signal != nothing {
            return signal;
        }
        super::access::note_no_write();
        // Another thread may have cancelled this one before it polled.
        if is_over() {
            return -(EINTR as isize);
        }
        if span == 0 || !wait(Awaited::Signals(set), true, place, span, signals) {
            unwind::is_due();
            return nothing;
        }
    }
}

/// Reads the set of a call; `EFAULT` if the memory is not mapped.
fn set_at(set: *const u64) -> Result<u64, isize> {
    if !raw::is_readable(set as usize, size_of::<u64>()) {
        return Err(-(EFAULT as isize));
    }
    // SAFETY: the memory is mapped, and the kernel's sets have 64 bits.
    Ok(unsafe { set.read_unaligned() })
}

unsafe extern "C" fn wait_one(set: *const u64, signal: *mut c_int) -> c_int {
    let place = place();
    let taken = enter(|| match set_at(set) {
        Ok(set) => take(set, std::ptr::null_mut(), FOREVER, false, place),
        Err(error) => error,
    });
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
    enter(|| set_at(set).map_or_else(|error| error, |set| take(set, info, FOREVER, true, place)))
        // SAFETY: the program has called `sigwaitinfo` with these arguments.
        .map_or_else(|| unsafe { real::sigwaitinfo(set, info) }, |taken| errno_result(taken) as c_int)
}

unsafe extern "C" fn wait_timed(set: *const u64, info: *mut c_void, time: *const timespec) -> c_int {
    let place = place();
    enter(|| match (set_at(set), kernel_limit(time, place)) {
        (Ok(set), Ok(span)) => take(set, info, span, true, place),
        (Err(error), _) => error,
        (_, Err(error)) => -(error as isize),
    })
    .map_or_else(
        // SAFETY: the program has called `sigtimedwait` with these arguments.
        || unsafe { real::sigtimedwait(set, info, time) },
        |taken| errno_result(taken) as c_int,
    )
}

/// Replaces the mask of the current thread by the one at `mask`, if there is one, during `action`.
pub(super) fn with_mask(mask: *const u64, action: impl FnOnce() -> isize) -> isize {
    if mask.is_null() {
        return action();
    }
    match set_at(mask) {
        Err(error) => error,
        Ok(mask) => {
            let always = bit(libc::SIGKILL) | bit(libc::SIGSTOP);
            with(|runtime| runtime.me().signals.replaced = Some(mask & !always));
            let result = action();
            with(|runtime| runtime.me().signals.replaced = None);
            result
        }
    }
}

/// Waits for a signal that `mask` does not block, and lets its handler run.
unsafe extern "C" fn suspend(mask: *const u64) -> c_int {
    let place = place();
    enter(|| {
        if mask.is_null() {
            return -(EFAULT as isize);
        }
        with_mask(mask, || {
            let call = Call::begin();
            let through = with(|runtime| !runtime.me().signals.blocked());
            loop {
                touch(place, signals);
                if unwind::is_due() || call.is_interrupted(false) {
                    return -(EINTR as isize);
                }
                wait(Awaited::Signals(through), true, place, FOREVER, signals);
            }
        })
    })
    // SAFETY: the program has called `sigsuspend` with these arguments.
    .map_or_else(|| unsafe { real::sigsuspend(mask) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn pause_here() -> c_int {
    let place = place();
    enter(|| {
        touch(place, signals);
        let call = Call::begin();
        while !unwind::is_due() && !call.is_interrupted(false) {
            let came = wait(Awaited::Handler, true, place, FOREVER, signals);
            if came && !pending::are_due() {
                // The handler of a signal from outside has run.
                break;
            }
        }
        unwind::is_due();
        -(EINTR as isize)
    })
    // SAFETY: the function has no preconditions.
    .map_or_else(|| unsafe { real::pause() }, |result| errno_result(result) as c_int)
}

/// Sends a signal to `target`, or to any thread. If it ends the process, the location is known.
pub(super) fn send(target: Option<ThreadId>, info: Info, place: usize) -> isize {
    touch(place, signals);
    with(|runtime| shared_memory::note_running(runtime.current.0, place as u64));
    match with(|runtime| runtime.route(target, info.signal)) {
        Route::Nowhere => 0,
        Route::Kept(thread) | Route::Handler(thread) => {
            with(|runtime| runtime.post(thread, info));
            if pending::are_due() {
                pending::deliver();
            }
            0
        }
        route => {
            let sent = if route == Route::Default { bit(info.signal) } else { 0 };
            // The mask is that of the running thread, and another one accepts the signal.
            let before = mask_signals(libc::SIG_UNBLOCK, sent);
            shared_memory::note_sent(info.signal);
            let result = leave(|| send_here(&info));
            shared_memory::note_sent(0);
            mask_signals(libc::SIG_SETMASK, before);
            with(Runtime::look_inside);
            result
        }
    }
}

/// Sends a signal to this process.
fn send_here(info: &Info) -> isize {
    // SAFETY: the system call touches no memory.
    let process = unsafe { raw::syscall(libc::SYS_getpid, [0; 6]) } as usize;
    let arguments = [process, info.signal as usize, std::ptr::from_ref(info) as usize, 0, 0, 0];
    // SAFETY: the program requests this signal, and its description is valid.
    unsafe { raw::syscall(libc::SYS_rt_sigqueueinfo, arguments) }
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

/// Sends a signal to a process: to this one, or to others with `call`.
fn send_to(process: c_int, info: Info, place: usize, call: impl FnOnce() -> isize) -> isize {
    let signal = info.signal;
    refuse_foreign(process, signal);
    if signal == 0 {
        return call();
    }
    if process == std::process::id() as c_int {
        return if (1..=64).contains(&signal) { send(None, info, place) } else { -(EINVAL as isize) };
    }
    touch(place, signals);
    with(|runtime| shared_memory::note_running(runtime.current.0, place as u64));
    shared_memory::note_sent(signal);
    // A handler of the program runs inside, if the signal reaches this process, too.
    let result = leave(call);
    shared_memory::note_sent(0);
    with(Runtime::look_inside);
    result
}

unsafe extern "C" fn send_process(process: c_int, signal: c_int) -> c_int {
    let place = place();
    enter(|| {
        send_to(process, Info::new(signal, libc::SI_USER, 0), place, || {
            // SAFETY: the program requested this system call, which touches no memory.
            unsafe { raw::syscall(libc::SYS_kill, [process as usize, signal as usize, 0, 0, 0, 0]) }
        })
    })
    // SAFETY: the program has called `kill` with these arguments.
    .map_or_else(|| unsafe { real::kill(process, signal) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn send_value(process: c_int, signal: c_int, value: usize) -> c_int {
    let place = place();
    enter(|| {
        let info = Info::new(signal, libc::SI_QUEUE, value);
        send_to(process, info, place, || {
            let arguments = [process as usize, signal as usize, &raw const info as usize, 0, 0, 0];
            // SAFETY: the program requested this system call, and the description is valid.
            unsafe { raw::syscall(libc::SYS_rt_sigqueueinfo, arguments) }
        })
    })
    // SAFETY: the program has called `sigqueue` with these arguments.
    .map_or_else(|| unsafe { real::sigqueue(process, signal, value) }, |result| errno_result(result) as c_int)
}

/// Sends a signal to a thread of this process.
fn direct(target: ThreadId, signal: c_int, (code, value): (c_int, usize), place: usize) -> isize {
    match signal {
        0 => 0,
        1..=64 => send(Some(target), Info::new(signal, code, value), place),
        _ => -(EINVAL as isize),
    }
}

unsafe extern "C" fn send_self(signal: c_int) -> c_int {
    let place = place();
    enter(|| direct(with(|runtime| runtime.current), signal, (libc::SI_TKILL, 0), place))
        // SAFETY: the program has called `raise` with these arguments.
        .map_or_else(|| unsafe { real::raise(signal) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn send_thread(handle: u64, signal: c_int) -> c_int {
    let place = place();
    enter(|| {
        let Some(target) = with(|runtime| runtime.find_thread(handle)) else {
            return identity::of_no_thread(handle, place);
        };
        -direct(target, signal, (libc::SI_TKILL, 0), place) as c_int
    })
    // SAFETY: the program has called `pthread_kill` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_kill(handle, signal) })
}

unsafe extern "C" fn send_thread_value(handle: u64, signal: c_int, value: usize) -> c_int {
    let place = place();
    enter(|| {
        let Some(target) = with(|runtime| runtime.find_thread(handle)) else {
            return identity::of_no_thread(handle, place);
        };
        -direct(target, signal, (libc::SI_QUEUE, value), place) as c_int
    })
    // SAFETY: the program has called `pthread_sigqueue` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_sigqueue(handle, signal, value) })
}

/// Sends a signal to the thread with an id, if it is one of the program.
pub(super) fn send_by_number(number: c_int, signal: c_int, place: usize) -> Option<isize> {
    let target = identity::thread_with(number)?;
    enter(|| {
        if target.index() >= with(|runtime| runtime.threads.len()) {
            return -(ESRCH as isize);
        }
        direct(target, signal, (libc::SI_TKILL, 0), place)
    })
}

unsafe extern "C" fn send_number(process: c_int, number: c_int, signal: c_int) -> c_int {
    let place = place();
    let is_own = process == std::process::id() as c_int;
    match is_own.then(|| send_by_number(number, signal, place)).flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `tgkill` with these arguments.
        None => unsafe { real::tgkill(process, number, signal) },
    }
}

/// Handles `sigpending`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigpending(set: *mut u64) -> c_int {
    // SAFETY: the program has called `sigpending` with these arguments.
    let result = unsafe { real::sigpending(set) };
    if result == 0 {
        enter(|| {
            let pending = with(|runtime| {
                runtime.me().signals.pending.iter().fold(0, |set, info| set | bit(info.signal))
            });
            // SAFETY: the successful call has written the set.
            unsafe { set.write_unaligned(set.read_unaligned() | pending) };
        });
    }
    result
}

/// Handles `signalfd`: the kernel then keeps the signals that threads block, so that they can be read from the file.
#[unsafe(no_mangle)]
unsafe extern "C" fn signalfd(file: c_int, set: *const c_void, flags: c_int) -> c_int {
    enter(|| with(|runtime| runtime.outside.signal_files += 1));
    // SAFETY: the program has called `signalfd` with these arguments.
    unsafe { real::signalfd(file, set, flags) }
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
