//! Reading and writing, and what makes and closes files that threads wait for.
//!
//! Calls with regular files go on at once and are no steps.

use super::access::note_no_write;
use super::{FOREVER, cancel, file_lock, futex, place, random, system_calls, told};
use crate::control::enter;
use crate::outside::{self, Awaited, Waiter, What};
use crate::runtime::{Runtime, step, with};
use crate::{raw, real};
use libc::{EAGAIN, EINTR, c_int, c_short, iovec, pollfd};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, MemoryOrder, ObjectId, Operation};
use std::ffi::{c_long, c_void};

system_calls! {
    read => read_bytes;
    __read_chk => read_checked;
    readv => read_parts;
    write => write_bytes;
    writev => write_parts;
    close => close_file;
    eventfd_read => counter_read;
    eventfd_write => counter_write;
    fcntl => control_file;
    fcntl64 => control_file_64;
}

/// What a thread waits for in a call with one file, and whether the call is to wait at all.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) file: c_int,
    pub(super) events: c_short,
    pub(super) waits: bool,
    pub(super) place: usize,
    /// For how long.
    pub(super) span: u64,
}

impl Use {
    pub(super) fn new(file: c_int, events: c_short, place: usize) -> Use {
        Use { file, events, waits: true, place, span: FOREVER }
    }
}

/// Announces that something happens to `object`. In this order everybody who touches it later has seen what was before, and
/// calls that look at many files at once come before or after.
pub(super) fn touch(place: usize, object: impl FnOnce(&mut Runtime) -> ObjectId) {
    step(|runtime| {
        let (object, all) = (object(runtime), runtime.all(What::All));
        let place = runtime.place(place);
        let operation = Operation::new(Kind::ReadModifyWrite, place).on(object, Access::Write);
        let operation = if object == all { operation } else { operation.on(all, Access::Read) };
        operation.ordered(MemoryOrder::SequentiallyConsistent)
    });
}

/// Waits for `awaited`, which is about `object`. Tells whether it came before the time was over.
pub(super) fn wait(
    awaited: Awaited,
    inside: bool,
    place: usize,
    span: u64,
    object: impl FnOnce(&mut Runtime) -> ObjectId,
) -> bool {
    let me = with(|runtime| runtime.current);
    let token = futex::token(me);
    let wanted = span;
    let span = with(|runtime| runtime.until_timer(&awaited, wanted));
    with(|runtime| {
        runtime.outside.waiters.push(Waiter { thread: me, token, awaited, inside, woken: false });
        runtime.engine.expect_outside(true);
    });
    let reply = step(|runtime| {
        let object = object(runtime);
        runtime.wait_operation(token, object, place, span)
    });
    with(|runtime| {
        runtime.outside.waiters.retain(|waiter| waiter.thread != me);
        runtime.engine.expect_outside(!runtime.outside.waiters.is_empty());
    });
    if reply == Reply::TimedOut && span < wanted {
        with(Runtime::expire_timers);
        return true;
    }
    reply != Reply::TimedOut
}

fn flags(file: c_int) -> isize {
    // SAFETY: it changes nothing.
    unsafe { raw::syscall(libc::SYS_fcntl, [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) }
}

fn set_flags(file: c_int, flags: isize) {
    let arguments = [file as usize, libc::F_SETFL as usize, flags as usize, 0, 0, 0];
    // SAFETY: the file is the program's, which asks for a call that does not wait, and then for what it was before.
    unsafe { raw::syscall(libc::SYS_fcntl, arguments) };
}

/// Makes a system call without waiting in it. Tells also whether the program wants it so.
pub(super) fn attempt(file: c_int, call: impl FnOnce() -> isize) -> (isize, bool) {
    let flags = flags(file);
    let never_waits = flags < 0 || flags & libc::O_NONBLOCK as isize != 0;
    if never_waits {
        return (call(), true);
    }
    set_flags(file, flags | libc::O_NONBLOCK as isize);
    let result = call();
    set_flags(file, flags);
    (result, false)
}

/// Makes a system call with one file: at once if it does not have to wait, otherwise while other threads run.
pub(super) fn transfer(wanted: Use, call: impl Fn() -> isize) -> isize {
    let Use { file, events, waits, place, span } = wanted;
    if with(|runtime| runtime.file(file)).is_none() {
        return call();
    }
    if cancel::is_due() {
        return -(EINTR as isize);
    }
    let object = |runtime: &mut Runtime| match runtime.file(file) {
        Some(object) => object,
        // It was closed while the thread waited.
        None => runtime.all(What::Others),
    };
    let inside = || with(|runtime| runtime.outside.is_inside(file));
    let awaited = || Awaited::Files(vec![pollfd { fd: file, events, revents: 0 }]);
    // When something comes from outside is no choice of the schedule: it comes when nobody else can go on.
    let mut first =
        waits && events & libc::POLLIN != 0 && flags(file) & libc::O_NONBLOCK as isize == 0 && !inside();
    loop {
        let came = !std::mem::take(&mut first) || wait(awaited(), false, place, span, object);
        if cancel::is_due() {
            return -(EINTR as isize);
        }
        touch(place, object);
        with(Runtime::expire_timers);
        let (result, never_waits) = attempt(file, &call);
        if result != -(EAGAIN as isize) {
            with(Runtime::look_inside);
            return result;
        }
        note_no_write();
        if (never_waits || !waits) && !inside() {
            outside::nap();
        }
        if never_waits || !waits || !came {
            return result;
        }
        // Somebody may have cancelled the thread while it was about to try.
        if cancel::is_due() {
            return -(EINTR as isize);
        }
        if !wait(awaited(), inside(), place, span, object) {
            return result;
        }
    }
}

/// Makes system calls with one file until `length` bytes are moved; `call` is given how many have been. Ends early at the end of
/// the file or an error.
pub(super) fn transfer_all(wanted: Use, length: usize, call: impl Fn(usize) -> isize) -> isize {
    let mut moved = 0;
    loop {
        let result = transfer(wanted, || call(moved));
        if result <= 0 {
            return if moved > 0 { moved as isize } else { result };
        }
        moved += result as usize;
        let never_waits = flags(wanted.file) & libc::O_NONBLOCK as isize != 0;
        if moved >= length || never_waits || !wanted.waits {
            return moved as isize;
        }
    }
}

/// Makes a system call that may have changed which files are ready.
pub(super) fn change(file: c_int, place: usize, call: impl FnOnce() -> isize) -> isize {
    if with(|runtime| runtime.file(file)).is_none() {
        return call();
    }
    touch(place, |runtime| match runtime.file(file) {
        Some(object) => object,
        None => runtime.all(What::Others),
    });
    let result = call();
    with(Runtime::look_inside);
    result
}

unsafe extern "C" fn read_bytes(file: c_int, buffer: *mut c_void, length: usize) -> isize {
    let place = place();
    enter(|| {
        if outside::is_random(file) {
            random::fill_inside(buffer, length);
            return length as isize;
        }
        let result = transfer(Use::new(file, libc::POLLIN, place), || {
            // SAFETY: our caller's promise.
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
    // SAFETY: our caller's promise.
    .map_or_else(|| unsafe { real::read(file, buffer, length) }, told)
}

unsafe extern "C" fn read_checked(file: c_int, buffer: *mut c_void, length: usize, room: usize) -> isize {
    if length > room {
        // SAFETY: it has no condition, and ends the program as glibc would.
        unsafe { libc::abort() };
    }
    // SAFETY: our caller's promise.
    unsafe { read_bytes(file, buffer, length) }
}

unsafe extern "C" fn read_parts(file: c_int, parts: *const iovec, count: c_int) -> isize {
    let place = place();
    enter(|| {
        transfer(Use::new(file, libc::POLLIN, place), || {
            // SAFETY: our caller's promise.
            unsafe { raw::syscall(libc::SYS_readv, [file as usize, parts as usize, count as usize, 0, 0, 0]) }
        })
    })
    // SAFETY: our caller's promise.
    .map_or_else(|| unsafe { real::readv(file, parts.cast(), count) }, told)
}

unsafe extern "C" fn write_bytes(file: c_int, buffer: *const c_void, length: usize) -> isize {
    let place = place();
    enter(|| {
        transfer_all(Use::new(file, libc::POLLOUT, place), length, |written| {
            let from = buffer as usize + written;
            // SAFETY: our caller's promise, and no more than that is written.
            unsafe { raw::syscall(libc::SYS_write, [file as usize, from, length - written, 0, 0, 0]) }
        })
    })
    // SAFETY: our caller's promise.
    .map_or_else(|| unsafe { real::write(file, buffer, length) }, told)
}

/// If not all can be written at once, tells how much was.
unsafe extern "C" fn write_parts(file: c_int, parts: *const iovec, count: c_int) -> isize {
    let place = place();
    enter(|| {
        transfer(Use::new(file, libc::POLLOUT, place), || {
            // SAFETY: our caller's promise.
            unsafe {
                raw::syscall(libc::SYS_writev, [file as usize, parts as usize, count as usize, 0, 0, 0])
            }
        })
    })
    // SAFETY: our caller's promise.
    .map_or_else(|| unsafe { real::writev(file, parts.cast(), count) }, told)
}

unsafe extern "C" fn close_file(file: c_int) -> c_int {
    let place = place();
    enter(|| {
        change(file, place, || {
            with(|runtime| {
                runtime.outside.note_closed(file);
                runtime.forget_timers();
            });
            // SAFETY: our caller's promise.
            unsafe { raw::syscall(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]) }
        })
    })
    // SAFETY: our caller's promise.
    .map_or_else(|| unsafe { real::close(file) }, |result| told(result) as c_int)
}

unsafe extern "C" fn counter_read(file: c_int, value: *mut u64) -> c_int {
    // SAFETY: our caller promises room for a number.
    if unsafe { read_bytes(file, value.cast(), 8) } == 8 { 0 } else { -1 }
}

unsafe extern "C" fn counter_write(file: c_int, value: u64) -> c_int {
    // SAFETY: the number is readable.
    if unsafe { write_bytes(file, (&raw const value).cast(), 8) } == 8 { 0 } else { -1 }
}

/// Takes note of files that the program has made.
fn note_made(what: What, files: &[c_int]) {
    enter(|| with(|runtime| runtime.outside.note_made(what, files)));
}

/// `pipe`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: our caller's promise.
    unsafe { pipe2(ends, 0) }
}

/// `pipe2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: our caller's promise.
    let error = unsafe { real::pipe2(ends.cast(), flags) };
    if error == 0 {
        // SAFETY: the call has written two.
        note_made(What::Pipe, unsafe { std::slice::from_raw_parts(ends, 2) });
    }
    error
}

/// `socketpair`.
#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int {
    // SAFETY: our caller's promise.
    let error = unsafe { real::socketpair(domain, kind, protocol, ends.cast()) };
    if error == 0 {
        // SAFETY: the call has written two.
        note_made(What::Pair, unsafe { std::slice::from_raw_parts(ends, 2) });
    }
    error
}

/// `eventfd`.
#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd(value: u32, flags: c_int) -> c_int {
    // SAFETY: it has no condition.
    let file = unsafe { real::eventfd(value, flags) };
    if file >= 0 {
        note_made(What::Counter, &[file]);
    }
    file
}

/// `epoll_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    // SAFETY: it has no condition.
    let file = unsafe { real::epoll_create(size) };
    if file >= 0 {
        note_made(What::Set, &[file]);
    }
    file
}

/// `epoll_create1`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: it has no condition.
    let file = unsafe { real::epoll_create1(flags) };
    if file >= 0 {
        note_made(What::Set, &[file]);
    }
    file
}

/// Takes note that `file` was copied to `copy`, if it was. What `copy` was before is closed.
fn note_copied(file: c_int, copy: c_int) -> c_int {
    if copy >= 0 && copy != file {
        enter(|| {
            with(|runtime| {
                runtime.outside.note_copied(file, copy);
                runtime.forget_timers();
                runtime.look_inside();
            });
        });
    }
    copy
}

/// `dup`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dup(file: c_int) -> c_int {
    // SAFETY: our caller's promise.
    note_copied(file, unsafe { real::dup(file) })
}

/// `dup2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(file: c_int, copy: c_int) -> c_int {
    // SAFETY: our caller's promise.
    note_copied(file, unsafe { real::dup2(file, copy) })
}

/// `dup3`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(file: c_int, copy: c_int, flags: c_int) -> c_int {
    // SAFETY: our caller's promise.
    note_copied(file, unsafe { real::dup3(file, copy, flags) })
}

/// Takes note of what `fcntl` has copied, if it was told to.
fn note_controlled(file: c_int, command: c_int, result: c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => note_copied(file, result),
        _ => result,
    }
}

/// The argument, if there is one, is in a register, whatever its type.
unsafe extern "C" fn control_file(file: c_int, command: c_int, argument: usize) -> c_int {
    if let Some(result) = file_lock::control(file, command, argument) {
        return result;
    }
    // SAFETY: our caller's promise.
    note_controlled(file, command, unsafe { real::fcntl(file, command, argument) })
}

/// As [`control_file`].
unsafe extern "C" fn control_file_64(file: c_int, command: c_int, argument: usize) -> c_int {
    if let Some(result) = file_lock::control(file, command, argument) {
        return result;
    }
    // SAFETY: our caller's promise.
    note_controlled(file, command, unsafe { real::fcntl64(file, command, argument) })
}

/// What a call by `syscall` gives, if it is one that may wait.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn by_number(number: c_long, a: usize, b: usize, c: usize) -> Option<isize> {
    // SAFETY: our caller's promise.
    unsafe {
        Some(match number {
            libc::SYS_read => read_bytes(a as c_int, b as *mut c_void, c),
            libc::SYS_write => write_bytes(a as c_int, b as *const c_void, c),
            libc::SYS_close => close_file(a as c_int) as isize,
            _ => return None,
        })
    }
}
