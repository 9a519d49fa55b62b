//! Reading and writing, and functions that create and close files that threads wait for.
//!
//! Calls with regular files execute immediately and are not steps.

use super::entry::{exported, place, system_calls};
use super::transfer::{Use, change, transfer, transfer_all};
use super::{file_lock, random};
use crate::child::control::enter;
use crate::child::outside::{self, What};
use crate::child::runtime::with;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{c_int, iovec};
use std::ffi::{c_long, c_void};

exported! {
    pipe2 socketpair eventfd epoll_create epoll_create1 dup dup2 dup3
}

system_calls! {
    read => read_bytes;
    __read_chk(file: c_int, buffer: *mut c_void, length: usize, room: usize) -> isize => read_checked;
    readv => read_parts;
    write => write_bytes;
    writev => write_parts;
    close => close_file;
    eventfd_read(file: c_int, value: *mut u64) -> c_int => counter_read;
    eventfd_write(file: c_int, value: u64) -> c_int => counter_write;
    fcntl => control_file;
    fcntl64 => control_file_64;
}

unsafe extern "C" fn read_bytes(file: c_int, buffer: *mut c_void, length: usize) -> isize {
    let place = place();
    enter(|| {
        if outside::is_random(file) {
            random::fill_inside(buffer, length);
            return length as isize;
        }
        let result = transfer(Use::new(file, libc::POLLIN, place), || {
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_read, [file as usize, buffer as usize, length, 0, 0, 0]) }
        });
        if result == 8
            && let Some(count) = with(|runtime| runtime.take_expirations(file))
        {
            // SAFETY: the call has written a number.
            unsafe { buffer.cast::<u64>().write_unaligned(count) };
        }
        result
    })
    // SAFETY: the program has called `read` with these arguments.
    .map_or_else(|| unsafe { real::read(file, buffer, length) }, errno_result)
}

unsafe extern "C" fn read_checked(file: c_int, buffer: *mut c_void, length: usize, room: usize) -> isize {
    if length > room {
        // SAFETY: `abort` has no preconditions, and ends the program as glibc would.
        unsafe { libc::abort() };
    }
    // SAFETY: the program passes room for `length` bytes, which is at most `room`.
    unsafe { read_bytes(file, buffer, length) }
}

unsafe extern "C" fn read_parts(file: c_int, parts: *const iovec, count: c_int) -> isize {
    let place = place();
    enter(|| {
        transfer(Use::new(file, libc::POLLIN, place), || {
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_readv, [file as usize, parts as usize, count as usize, 0, 0, 0]) }
        })
    })
    // SAFETY: the program has called `readv` with these arguments.
    .map_or_else(|| unsafe { real::readv(file, parts, count) }, errno_result)
}

unsafe extern "C" fn write_bytes(file: c_int, buffer: *const c_void, length: usize) -> isize {
    let place = place();
    enter(|| {
        transfer_all(Use::new(file, libc::POLLOUT, place), length, |written| {
            let from = buffer as usize + written;
            // SAFETY: the program passes `length` bytes, and no more than that is written.
            unsafe { raw::syscall(libc::SYS_write, [file as usize, from, length - written, 0, 0, 0]) }
        })
    })
    // SAFETY: the program has called `write` with these arguments.
    .map_or_else(|| unsafe { real::write(file, buffer, length) }, errno_result)
}

/// Returns the number of bytes written, if not all can be written at once.
unsafe extern "C" fn write_parts(file: c_int, parts: *const iovec, count: c_int) -> isize {
    let place = place();
    enter(|| {
        transfer(Use::new(file, libc::POLLOUT, place), || {
            // SAFETY: the program requested this system call with these buffers.
            unsafe {
                raw::syscall(libc::SYS_writev, [file as usize, parts as usize, count as usize, 0, 0, 0])
            }
        })
    })
    // SAFETY: the program has called `writev` with these arguments.
    .map_or_else(|| unsafe { real::writev(file, parts, count) }, errno_result)
}

unsafe extern "C" fn close_file(file: c_int) -> c_int {
    let place = place();
    enter(|| {
        change(file, place, || {
            with(|runtime| {
                runtime.outside.note_closed(file);
                runtime.forget_timers();
            });
            // SAFETY: the program requested this system call with this file.
            unsafe { raw::syscall(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]) }
        })
    })
    // SAFETY: the program has called `close` with these arguments.
    .map_or_else(|| unsafe { real::close(file) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn counter_read(file: c_int, value: *mut u64) -> c_int {
    // SAFETY: the C contract of `eventfd_read` requires room for a number.
    if unsafe { read_bytes(file, value.cast(), 8) } == 8 { 0 } else { -1 }
}

unsafe extern "C" fn counter_write(file: c_int, value: u64) -> c_int {
    // SAFETY: `value` is a local variable of eight bytes.
    if unsafe { write_bytes(file, (&raw const value).cast(), 8) } == 8 { 0 } else { -1 }
}

/// Records files that the program has created.
fn note_created(what: What, files: &[c_int]) {
    enter(|| with(|runtime| runtime.outside.note_created(what, files)));
}

/// Handles `pipe`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: POSIX requires room for two numbers.
    unsafe { pipe2(ends, 0) }
}

/// Handles `pipe2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the program has called `pipe2` with these arguments.
    let error = unsafe { real::pipe2(ends, flags) };
    if error == 0 {
        // SAFETY: the successful call has written two numbers.
        note_created(What::Pipe, unsafe { std::slice::from_raw_parts(ends, 2) });
    }
    error
}

/// Handles `socketpair`.
#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int {
    // SAFETY: the program has called `socketpair` with these arguments.
    let error = unsafe { real::socketpair(domain, kind, protocol, ends) };
    if error == 0 {
        // SAFETY: the successful call has written two numbers.
        note_created(What::Pair, unsafe { std::slice::from_raw_parts(ends, 2) });
    }
    error
}

/// Handles `eventfd`.
#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd(value: u32, flags: c_int) -> c_int {
    // SAFETY: the function has no preconditions.
    let file = unsafe { real::eventfd(value, flags) };
    if file >= 0 {
        note_created(What::Counter, &[file]);
    }
    file
}

/// Handles `epoll_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    // SAFETY: the function has no preconditions.
    let file = unsafe { real::epoll_create(size) };
    if file >= 0 {
        note_created(What::Set, &[file]);
    }
    file
}

/// Handles `epoll_create1`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: the function has no preconditions.
    let file = unsafe { real::epoll_create1(flags) };
    if file >= 0 {
        note_created(What::Set, &[file]);
    }
    file
}

/// Records that `file` was duplicated to `copy`, if it was. The previous file of `copy` is closed.
fn note_copied(file: c_int, copy: c_int) -> c_int {
    if copy >= 0 && copy != file {
        enter(|| {
            with(|runtime| {
                runtime.outside.note_copied(file, copy);
                runtime.network.note_copied(file, copy);
                runtime.forget_timers();
                runtime.look_at_all_wires();
                runtime.look_inside();
            });
        });
    }
    copy
}

/// Handles `dup`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dup(file: c_int) -> c_int {
    // SAFETY: the program has called `dup` with these arguments.
    note_copied(file, unsafe { real::dup(file) })
}

/// Handles `dup2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(file: c_int, copy: c_int) -> c_int {
    // SAFETY: the program has called `dup2` with these arguments.
    note_copied(file, unsafe { real::dup2(file, copy) })
}

/// Handles `dup3`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(file: c_int, copy: c_int, flags: c_int) -> c_int {
    // SAFETY: the program has called `dup3` with these arguments.
    note_copied(file, unsafe { real::dup3(file, copy, flags) })
}

/// Records the duplicate that `fcntl` has created, if that was the command.
fn note_controlled(file: c_int, command: c_int, result: c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => note_copied(file, result),
        _ => result,
    }
}

/// Handles `fcntl`. The argument, if there is one, is in a register, whatever its type.
unsafe extern "C" fn control_file(file: c_int, command: c_int, argument: usize) -> c_int {
    if let Some(result) = file_lock::control(file, command, argument) {
        return result;
    }
    // SAFETY: the program has called `fcntl` with these arguments.
    note_controlled(file, command, unsafe { real::fcntl(file, command, argument) })
}

/// Like [`control_file`].
unsafe extern "C" fn control_file_64(file: c_int, command: c_int, argument: usize) -> c_int {
    if let Some(result) = file_lock::control(file, command, argument) {
        return result;
    }
    // SAFETY: the program has called `fcntl64` with these arguments.
    note_controlled(file, command, unsafe { real::fcntl64(file, command, argument) })
}

/// Returns the result of a call by `syscall`, if it is one that may wait.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn by_number(number: c_long, a: usize, b: usize, c: usize) -> Option<isize> {
    // SAFETY: the arguments are those of the system call that the program requested.
    unsafe {
        Some(match number {
            libc::SYS_read => read_bytes(a as c_int, b as *mut c_void, c),
            libc::SYS_write => write_bytes(a as c_int, b as *const c_void, c),
            libc::SYS_close => close_file(a as c_int) as isize,
            _ => return None,
        })
    }
}
