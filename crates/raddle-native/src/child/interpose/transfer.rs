//! Calls on files that may wait: tried without waiting, while other threads run.

use super::access::note_no_write;
use super::simulated;
use super::time::FOREVER;
use super::unwind;
use crate::child::objects::Class;
use crate::child::outside::{self, Awaited, Waiter, What};
use crate::child::pending::Call;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::step;
use crate::platform::raw;
use libc::{EAGAIN, EINTR, c_int, c_short, pollfd};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, MemoryOrder, ObjectId, Operation, ThreadId};

/// The condition that a thread waits for in a call on one file, and whether the call waits at all.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) file: c_int,
    pub(super) events: c_short,
    pub(super) waits: bool,
    pub(super) place: usize,
    /// The time limit.
    pub(super) span: u64,
}

impl Use {
    pub(super) fn new(file: c_int, events: c_short, place: usize) -> Use {
        Use { file, events, waits: true, place, span: FOREVER }
    }
}

/// Announces an access to `object`. It orders all later accesses after earlier ones, and calls that poll many
/// files before or after.
pub(super) fn touch(place: usize, object: impl FnOnce(&mut Runtime) -> ObjectId) {
    step(|runtime| {
        let (object, all) = (object(runtime), runtime.all(What::All));
        let place = runtime.place(place);
        let operation = Operation::new(Kind::ReadModifyWrite, place).on(object, Access::Write);
        let operation = if object == all { operation } else { operation.on(all, Access::Read) };
        operation.ordered(MemoryOrder::SequentiallyConsistent)
    });
}

/// Waits for `awaited`, which concerns `object`. Returns true if it came before the time limit.
pub(super) fn wait(
    awaited: Awaited,
    inside: bool,
    place: usize,
    span: u64,
    object: impl FnOnce(&mut Runtime) -> ObjectId,
) -> bool {
    let me = with(|runtime| runtime.current);
    let token = token(me);
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
    // SAFETY: the system call touches no memory.
    unsafe { raw::syscall(libc::SYS_fcntl, [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) }
}

fn set_flags(file: c_int, flags: isize) {
    let arguments = [file as usize, libc::F_SETFL as usize, flags as usize, 0, 0, 0];
    // SAFETY: the file is the program's, which requests a nonblocking call; the flags are restored
    // afterwards.
    unsafe { raw::syscall(libc::SYS_fcntl, arguments) };
}

/// Executes a system call without waiting in it. Also returns whether the program wants it nonblocking.
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

/// Executes a system call on one file: immediately if it does not have to wait, otherwise while other threads
/// run.
pub(super) fn transfer(wanted: Use, call: impl Fn() -> isize) -> isize {
    let Use { file, events, waits, place, span } = wanted;
    if with(|runtime| runtime.file(file)).is_none() {
        return call();
    }
    let call = || simulated::as_real(file, events, &call);
    let call_begun = Call::begin();
    // Linux restarts it, unless a time limit is set.
    let is_over = || unwind::is_due() || call_begun.is_interrupted(span == FOREVER);
    if is_over() {
        return -(EINTR as isize);
    }
    let object = |runtime: &mut Runtime| match runtime.file_for(file, events) {
        Some(object) => object,
        // It was closed while the thread waited.
        None => runtime.all(What::Others),
    };
    let inside = || with(|runtime| runtime.outside.is_inside(file));
    let awaited = || Awaited::Files(vec![pollfd { fd: file, events, revents: 0 }]);
    // The schedule does not choose when external input arrives: it arrives when no other thread can run.
    let mut first =
        waits && events & libc::POLLIN != 0 && flags(file) & libc::O_NONBLOCK as isize == 0 && !inside();
    loop {
        let came = !std::mem::take(&mut first) || wait(awaited(), false, place, span, object);
        if is_over() {
            return -(EINTR as isize);
        }
        touch(place, object);
        call_begun.note_touch();
        with(Runtime::expire_timers);
        let (result, never_waits) = attempt(file, call);
        if result != -(EAGAIN as isize) {
            with(|runtime| {
                if let Some(wires) = runtime.wires_of(file) {
                    runtime.look_at(wires);
                }
                runtime.look_inside();
            });
            return result;
        }
        note_no_write();
        if (never_waits || !waits) && !inside() {
            outside::nap();
        }
        if never_waits || !waits || !came {
            return result;
        }
        // Another thread may have cancelled this one, or sent it a signal, before it tried.
        if is_over() {
            return -(EINTR as isize);
        }
        if !wait(awaited(), inside(), place, span, object) {
            return if is_over() { -(EINTR as isize) } else { result };
        }
    }
}

/// Executes system calls on one file until `length` bytes are transferred; `call` gets the number transferred
/// so far. Ends early at the end of the file or an error.
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

/// Executes a system call that may have changed which files are ready.
pub(super) fn change(file: c_int, place: usize, call: impl Fn() -> isize) -> isize {
    if with(|runtime| runtime.file(file)).is_none() {
        return call();
    }
    if let Some(result) = simulated::change(file, place, &call) {
        return result;
    }
    touch(place, |runtime| match runtime.file(file) {
        Some(object) => object,
        None => runtime.all(What::Others),
    });
    let result = call();
    with(Runtime::look_inside);
    result
}

/// Waits for the end of a process, whose status other code will request.
pub(super) fn await_end(process: c_int, place: usize) {
    let end = || Awaited::Child(libc::P_PID as usize, process as usize, libc::WEXITED);
    loop {
        wait(end(), false, place, FOREVER, |runtime| runtime.all(What::Children));
        if end().is_there(&[]) {
            return;
        }
    }
}

/// Returns the object that a thread parks on.
pub(super) fn token(thread: ThreadId) -> ObjectId {
    with(|runtime| {
        if let Some(token) = runtime.threads[thread.index()].token {
            return token;
        }
        let token = runtime.make(u64::from(thread.0), Class::Token, u64::from(thread.0));
        runtime.threads[thread.index()].token = Some(token);
        token
    })
}
