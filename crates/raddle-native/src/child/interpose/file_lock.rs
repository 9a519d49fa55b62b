//! File locks, and the queues and semaphores of System V and of POSIX that processes share.
//!
//! The kernel does not notify when one of them becomes free, so a thread that finds it taken parks, and tries
//! again when no other thread can run. The actions of other processes are not controlled.

use super::access::note_no_write;
use super::entry::{place, system_calls};
use super::poll::copy;
use super::time::{Clock, FOREVER, kernel_limit};
use super::transfer::{touch, wait};
use super::unwind;
use crate::child::control::enter;
use crate::child::outside::{Awaited, What};
use crate::child::pending::Call;
use crate::child::runtime::{Runtime, with};
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EAGAIN, EINTR, ENOMSG, ETIMEDOUT, c_int, timespec};
use std::ffi::{c_long, c_void};

system_calls! {
    flock => lock_file;
    lockf => lock_part;
    lockf64(file: c_int, command: c_int, length: i64) -> c_int => lock_part;
    msgrcv => receive;
    msgsnd => send;
    semop(set: c_int, operations: *mut libc::sembuf, count: usize) -> c_int => change;
    semtimedop => change_within;
    mq_receive(queue: c_int, message: *mut c_void, room: usize, priority: *mut c_void) -> isize => queue_receive;
    mq_timedreceive => queue_receive_within;
    mq_send(queue: c_int, message: *const c_void, length: usize, priority: u32) -> c_int => queue_send;
    mq_timedsend => queue_send_within;
}

/// Repeats a nonblocking system call until its result is not one of `busy`, or until the time `span` is over.
pub(super) fn again(place: usize, span: u64, busy: &[c_int], call: impl Fn() -> isize) -> isize {
    let chance = || Awaited::Chance(with(|runtime| runtime.engine.step_count()));
    let others = |runtime: &mut Runtime| runtime.all(What::Others);
    let deadline = with(|runtime| runtime.now()).saturating_add(span);
    let call_begun = Call::begin();
    // Queues and semaphores of System V do not restart.
    let restarts = !busy.contains(&ENOMSG);
    let is_over = || unwind::is_due() || call_begun.is_interrupted(restarts);
    loop {
        if is_over() {
            return -(EINTR as isize);
        }
        touch(place, others);
        call_begun.note_touch();
        let result = call();
        if !busy.iter().any(|&busy| result == -(busy as isize)) {
            return result;
        }
        note_no_write();
        let left =
            if span == FOREVER { FOREVER } else { deadline.saturating_sub(with(|runtime| runtime.now())) };
        if is_over() {
            return -(EINTR as isize);
        }
        if left == 0 || !wait(chance(), false, place, left, others) {
            return result;
        }
    }
}

unsafe extern "C" fn lock_file(file: c_int, operation: c_int) -> c_int {
    let place = place();
    let never_waits = operation & (libc::LOCK_NB | libc::LOCK_UN) != 0;
    let busy: &[c_int] = if never_waits { &[] } else { &[EAGAIN] };
    enter(|| {
        again(place, FOREVER, busy, || {
            let arguments = [file as usize, (operation | libc::LOCK_NB) as usize, 0, 0, 0, 0];
            // SAFETY: the system call touches no memory.
            unsafe { raw::syscall(libc::SYS_flock, arguments) }
        })
    })
    // SAFETY: the system call touches no memory.
    .map_or_else(|| unsafe { real::flock(file, operation) }, |result| errno_result(result) as c_int)
}

/// Handles `lockf`, relative to the file position.
unsafe extern "C" fn lock_part(file: c_int, command: c_int, length: i64) -> c_int {
    if command == libc::F_LOCK {
        // SAFETY: an all-zero lock is valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        (lock.l_type, lock.l_whence, lock.l_len) = (libc::F_WRLCK as i16, libc::SEEK_CUR as i16, length);
        if let Some(result) = control(file, libc::F_SETLKW, &raw const lock as usize) {
            return result;
        }
    }
    // SAFETY: the system call touches no memory.
    unsafe { real::lockf(file, command, length) }
}

/// Returns the result of `fcntl` if the command waits for a lock.
pub(super) fn control(file: c_int, command: c_int, lock: usize) -> Option<c_int> {
    let at_once = match command {
        libc::F_SETLKW => libc::F_SETLK,
        libc::F_OFD_SETLKW => libc::F_OFD_SETLK,
        _ => return None,
    };
    let place = place();
    let result = enter(|| {
        again(place, FOREVER, &[EAGAIN, libc::EACCES], || {
            let arguments = [file as usize, at_once as usize, lock, 0, 0, 0];
            // SAFETY: the program passes a lock with these commands of `fcntl`.
            unsafe { raw::syscall(libc::SYS_fcntl, arguments) }
        })
    })?;
    Some(errno_result(result) as c_int)
}

unsafe extern "C" fn receive(
    queue: c_int,
    message: *mut c_void,
    room: usize,
    kind: c_long,
    flags: c_int,
) -> isize {
    let place = place();
    let busy: &[c_int] = if flags & libc::IPC_NOWAIT == 0 { &[ENOMSG] } else { &[] };
    enter(|| {
        again(place, FOREVER, busy, || {
            let flags = (flags | libc::IPC_NOWAIT) as usize;
            // SAFETY: the program requested this system call with these buffers.
            unsafe {
                raw::syscall(
                    libc::SYS_msgrcv,
                    [queue as usize, message as usize, room, kind as usize, flags, 0],
                )
            }
        })
    })
    // SAFETY: the program has called `msgrcv` with these arguments.
    .map_or_else(|| unsafe { real::msgrcv(queue, message, room, kind, flags) }, errno_result)
}

unsafe extern "C" fn send(queue: c_int, message: *const c_void, length: usize, flags: c_int) -> c_int {
    let place = place();
    let busy: &[c_int] = if flags & libc::IPC_NOWAIT == 0 { &[EAGAIN] } else { &[] };
    enter(|| {
        again(place, FOREVER, busy, || {
            let flags = (flags | libc::IPC_NOWAIT) as usize;
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_msgsnd, [queue as usize, message as usize, length, flags, 0, 0]) }
        })
    })
    .map_or_else(
        // SAFETY: the program has called `msgsnd` with these arguments.
        || unsafe { real::msgsnd(queue, message, length, flags) },
        |result| errno_result(result) as c_int,
    )
}

unsafe extern "C" fn change(set: c_int, operations: *mut libc::sembuf, count: usize) -> c_int {
    // SAFETY: `semop` has the requirements of `semtimedop`; there is no time limit.
    unsafe { change_within(set, operations, count, std::ptr::null()) }
}

unsafe extern "C" fn change_within(
    set: c_int,
    operations: *mut libc::sembuf,
    count: usize,
    time: *const timespec,
) -> c_int {
    let place = place();
    enter(|| {
        let given = kernel_limit(time, place).and_then(|span| Ok((span, copy(operations, count)?)));
        let (span, mut list) = match given {
            Ok(given) => given,
            Err(error) => return -(error as isize),
        };
        let waits = list.iter().all(|one| c_int::from(one.sem_flg) & libc::IPC_NOWAIT == 0);
        list.iter_mut().for_each(|one| one.sem_flg |= libc::IPC_NOWAIT as i16);
        let busy: &[c_int] = if waits { &[EAGAIN] } else { &[] };
        again(place, span, busy, || {
            let arguments = [set as usize, list.as_ptr() as usize, count, 0, 0, 0];
            // SAFETY: the pointer and the length are those of the list.
            unsafe { raw::syscall(libc::SYS_semop, arguments) }
        })
    })
    .map_or_else(
        // SAFETY: the program has called `semtimedop` with these arguments.
        || unsafe { real::semtimedop(set, operations, count, time) },
        |result| errno_result(result) as c_int,
    )
}

/// A time limit that has already expired.
static OVER: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

/// Executes a call of a POSIX message queue, which waits until a time.
fn queue(place: usize, time: *const timespec, call: impl Fn() -> isize) -> isize {
    match kernel_limit(time, place) {
        Ok(FOREVER) => again(place, FOREVER, &[ETIMEDOUT], call),
        Ok(time) => again(place, time.saturating_sub(Clock::Real.now()), &[ETIMEDOUT], call),
        Err(error) => -(error as isize),
    }
}

unsafe extern "C" fn queue_receive(
    queue: c_int,
    message: *mut c_void,
    room: usize,
    priority: *mut c_void,
) -> isize {
    // SAFETY: `mq_receive` has the requirements of `mq_timedreceive`; there is no time limit.
    unsafe { queue_receive_within(queue, message, room, priority, std::ptr::null()) }
}

unsafe extern "C" fn queue_receive_within(
    number: c_int,
    message: *mut c_void,
    room: usize,
    priority: *mut c_void,
    time: *const timespec,
) -> isize {
    let place = place();
    enter(|| {
        queue(place, time, || {
            let over = &raw const OVER as usize;
            let arguments = [number as usize, message as usize, room, priority as usize, over, 0];
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_mq_timedreceive, arguments) }
        })
    })
    .map_or_else(
        // SAFETY: the program has called `mq_timedreceive` with these arguments.
        || unsafe { real::mq_timedreceive(number, message, room, priority, time) },
        errno_result,
    )
}

unsafe extern "C" fn queue_send(queue: c_int, message: *const c_void, length: usize, priority: u32) -> c_int {
    // SAFETY: `mq_send` has the requirements of `mq_timedsend`; there is no time limit.
    unsafe { queue_send_within(queue, message, length, priority, std::ptr::null()) }
}

unsafe extern "C" fn queue_send_within(
    number: c_int,
    message: *const c_void,
    length: usize,
    priority: u32,
    time: *const timespec,
) -> c_int {
    let place = place();
    enter(|| {
        queue(place, time, || {
            let over = &raw const OVER as usize;
            let arguments = [number as usize, message as usize, length, priority as usize, over, 0];
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_mq_timedsend, arguments) }
        })
    })
    .map_or_else(
        // SAFETY: the program has called `mq_timedsend` with these arguments.
        || unsafe { real::mq_timedsend(number, message, length, priority, time) },
        |result| errno_result(result) as c_int,
    )
}
