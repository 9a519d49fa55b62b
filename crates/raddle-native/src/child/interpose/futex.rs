//! Futexes by `syscall`, as used by Rust's std, parking_lot, and the guards and atomics of C++.
//!
//! A wait is two operations: reading the word and queueing, then waiting for the thread's token. Waking is
//! one operation that removes waiters from the queue, and one for the token of each.

use super::time::{Clock, FOREVER, kernel_nanoseconds};
use super::transfer;
use crate::child::objects::Class;
use crate::child::pending::{Call as Interruptible, Limit};
use crate::child::runtime::{self, with};
use crate::child::scheduling::{step, step_on};
use crate::child::{loss, values};
use crate::platform::raw;
use libc::{EAGAIN, EFAULT, EINTR, EINVAL, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation, ThreadId};
use std::ffi::{c_int, c_long};

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) address: usize,
    pub(super) operation: c_int,
    pub(super) value: u32,
    /// A time, or the number of waiters to move.
    pub(super) fourth: usize,
    pub(super) second: usize,
    /// A set of bits, or a value to compare with.
    pub(super) last: u32,
    pub(super) place: usize,
}

/// Waiters and wakers without bits have all.
const ALL: u32 = u32::MAX;

pub(super) fn futex(call: Call) -> Result<c_long, c_int> {
    let absolute = || {
        let clock =
            if call.operation & libc::FUTEX_CLOCK_REALTIME != 0 { Clock::Real } else { Clock::Monotonic };
        let time = kernel_nanoseconds(call.fourth as *const timespec, call.place)?;
        Ok::<u64, c_int>(time.saturating_sub(clock.now()))
    };
    check_address(&call)?;
    let command = call.operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    match command {
        libc::FUTEX_WAIT if call.fourth == 0 => wait(call, ALL, FOREVER),
        libc::FUTEX_WAIT => wait(call, ALL, kernel_nanoseconds(call.fourth as *const timespec, call.place)?),
        libc::FUTEX_WAIT_BITSET if call.last == 0 => Err(EINVAL),
        libc::FUTEX_WAIT_BITSET if call.fourth == 0 => wait(call, call.last, FOREVER),
        libc::FUTEX_WAIT_BITSET => wait(call, call.last, absolute()?),
        libc::FUTEX_WAKE => Ok(wake(call, ALL)),
        libc::FUTEX_WAKE_BITSET if call.last == 0 => Err(EINVAL),
        libc::FUTEX_WAKE_BITSET => Ok(wake(call, call.last)),
        libc::FUTEX_REQUEUE => requeue(call, None),
        libc::FUTEX_CMP_REQUEUE => requeue(call, Some(call.last)),
        other => loss::lose(&format!(
            "it uses futex operation {other}, which raddle does not support\nhelp: use a mutex or a condition variable of pthreads \
             in the test"
        )),
    }
}

/// Refuses an address at which there is no word, as the kernel does. Of a futex of this process alone it reads nothing to wake.
fn check_address(call: &Call) -> Result<(), c_int> {
    if !call.address.is_multiple_of(size_of::<u32>()) {
        return Err(EINVAL);
    }
    let is_private = call.operation & libc::FUTEX_PRIVATE_FLAG != 0;
    let wakes = matches!(
        call.operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME),
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET
    );
    if is_private && wakes || raw::is_readable(call.address, size_of::<u32>()) { Ok(()) } else { Err(EFAULT) }
}

fn word(address: usize) -> u32 {
    // SAFETY: the futex interface requires a valid, aligned word at the address.
    unsafe { std::ptr::read_volatile(address as *const u32) }
}

/// Orders operations on the queue of a futex as if they wrote its word. Under weak memory a wait reads the word, and the
/// queue is an object of its own: the values of the word are the engine's.
fn touch(kind: Kind, call: &Call) {
    let address = call.address as u64;
    step(|runtime| {
        if let Some(values) = runtime.values.as_mut().filter(|_| kind == Kind::Read) {
            values.announce(runtime.current, kind, (call.address, size_of::<u32>()), false);
        }
        runtime.accesses.note_kernel(runtime.current, address, size_of::<u32>());
        let word = runtime.accesses.object(address, size_of::<u32>());
        let operation = Operation::new(kind, runtime.place(call.place));
        if !runtime.engine.is_weak() {
            return operation.on(runtime.object(word, Class::Memory, || 0), Access::Write);
        }
        let queue = runtime.object(address, Class::Queue, || 0);
        if kind.reads_memory() {
            operation.on(runtime.object(word, Class::Memory, || 0), Access::Read).on(queue, Access::Write)
        } else {
            operation.on(queue, Access::Write)
        }
    });
    if kind == Kind::Read && values::are_wanted() {
        runtime::begin_value();
    }
    with(|runtime| {
        if runtime.engine.is_weak() {
            runtime.atomics.get_or_insert_default().watch(call.address);
        }
    });
}

fn wait(call: Call, bits: u32, span: u64) -> Result<c_long, c_int> {
    let call_begun = Interruptible::begin();
    let mut limit = Limit::begin(span);
    let me = with(|runtime| runtime.current);
    loop {
        touch(Kind::Read, &call);
        if word(call.address) != call.value {
            return Err(EAGAIN);
        }
        with(|runtime| runtime.sleepers.push((call.address as u64, bits, me)));
        let token = transfer::token(me);
        let park = |span: Option<u64>| {
            step(|runtime| {
                let span = span.unwrap_or_else(|| limit.left(runtime));
                let place = runtime.place(call.place);
                Operation::new(Kind::Park, place).on(token, Access::Write).with_argument(span)
            })
        };
        if park(None) != Reply::TimedOut {
            return Ok(0);
        }
        let queued = with(|runtime| {
            let before = runtime.sleepers.len();
            runtime.sleepers.retain(|&(_, _, thread)| thread != me);
            runtime.sleepers.len() < before
        });
        if !queued {
            // Another thread is about to wake it.
            park(Some(FOREVER));
            return Ok(0);
        }
        if call_begun.is_interrupted(true) {
            return Err(EINTR);
        }
        if !limit.goes_on() {
            return Err(ETIMEDOUT);
        }
    }
}

/// Removes up to `most` waiters from the queue of `address`; if there are more, the strategy chooses.
fn take(address: u64, bits: u32, most: usize, place: usize) -> Vec<ThreadId> {
    let mut taken = Vec::new();
    while taken.len() < most {
        let waiting: Vec<usize> = with(|runtime| {
            let matching =
                runtime.sleepers.iter().enumerate().filter(|(_, s)| s.0 == address && s.1 & bits != 0);
            matching.map(|(index, _)| index).collect()
        });
        if waiting.is_empty() {
            break;
        }
        let mut chosen = 0;
        if waiting.len() > most - taken.len() {
            let arity = waiting.len() as u64;
            let reply =
                step(|runtime| Operation::new(Kind::Choose, runtime.place(place)).with_argument(arity));
            if let Reply::Number(number) = reply {
                chosen = number as usize;
            }
        }
        // Others may have left the queue meanwhile.
        taken.extend(with(|runtime| {
            let matching =
                runtime.sleepers.iter().enumerate().filter(|(_, s)| s.0 == address && s.1 & bits != 0);
            let matching: Vec<usize> = matching.map(|(index, _)| index).collect();
            let index = matching.get(chosen).or(matching.first())?;
            Some(runtime.sleepers.remove(*index).2)
        }));
    }
    taken
}

fn wake_all(threads: &[ThreadId], place: usize) {
    for &thread in threads {
        let token = transfer::token(thread);
        step_on(Kind::Unpark, place, Access::Write, |_| token);
    }
}

fn wake(call: Call, bits: u32) -> c_long {
    touch(Kind::Write, &call);
    let woken = take(call.address as u64, bits, call.value as usize, call.place);
    wake_all(&woken, call.place);
    woken.len() as c_long
}

fn requeue(call: Call, expected: Option<u32>) -> Result<c_long, c_int> {
    touch(Kind::Write, &call);
    if expected.is_some_and(|expected| word(call.address) != expected) {
        return Err(EAGAIN);
    }
    let woken = take(call.address as u64, ALL, call.value as usize, call.place);
    let moved = with(|runtime| {
        let waiting = runtime.sleepers.iter_mut().filter(|sleeper| sleeper.0 == call.address as u64);
        waiting.take(call.fourth).map(|sleeper| sleeper.0 = call.second as u64).count()
    });
    wake_all(&woken, call.place);
    let count = if expected.is_some() { woken.len() + moved } else { woken.len() };
    Ok(count as c_long)
}
