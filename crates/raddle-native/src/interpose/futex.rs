//! Futexes by `syscall`, as Rust's std, parking_lot, and the guards and atomics of C++ use them.
//!
//! A wait is two operations: looking at the word and queueing, then waiting for the own token. Waking is one that takes
//! waiters out of the queue, and one for the token of each.

use super::time::{Clock, nanoseconds, remaining};
use super::{FOREVER, PLACE, cancel, descriptor, identity, process, random};
use crate::control::{self, enter};
use crate::objects::Class;
use crate::real;
use crate::runtime::{self, step, step_on, with};
use crate::stack::{self, FRAME};
use crate::values;
use libc::{EAGAIN, EINVAL, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};
use std::ffi::{c_int, c_long};
use std::sync::atomic::Ordering;

/// Its last argument is on the stack, so that nothing may be put between.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall() {
    std::arch::naked_asm!(
        "mov rax, [rsp]",
        "mov qword ptr [rip + {}], rax",
        "mov qword ptr [rip + {}], rbp",
        "jmp {}",
        sym PLACE,
        sym FRAME,
        sym call,
    )
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
        let place = super::place();
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
                // SAFETY: each thread has its own.
                unsafe { *libc::__errno_location() = error };
                return -1;
            }
            None => {}
        }
    }
    if number == libc::SYS_sched_yield {
        let place = super::place();
        if enter(|| step(|runtime| Operation::new(Kind::Yield, runtime.place(place)))).is_some() {
            return 0;
        }
    }
    if number == libc::SYS_gettid
        && let Some(number) = identity::thread_number()
    {
        return c_long::from(number);
    }
    if number == libc::SYS_getrandom
        && let Some(result) = random::by_number(a, b)
    {
        return result as c_long;
    }
    if number == libc::SYS_exit_group {
        process::end_with(a as c_int);
    }
    if control::is_running() {
        // SAFETY: our caller's promise.
        let result = unsafe { descriptor::by_number(number, a, b, c) };
        if let Some(result) = result {
            // No thread is cancelled in `syscall`.
            cancel::put_off();
            return result as c_long;
        }
    }
    // SAFETY: our caller's promise.
    unsafe { real::syscall(number, a, b, c, d, e, f) }
}

/// What a call by an instruction gives, as the kernel would.
///
/// # Safety
/// As the system call.
pub(crate) unsafe fn by_instruction(arguments: [usize; 6], place: usize, frame: usize) -> isize {
    let [a, b, c, d, e, f] = arguments;
    PLACE.store(place, Ordering::Relaxed);
    stack::set_frame(frame);
    // SAFETY: each thread has its own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: our caller's promise.
    let result = unsafe { call(libc::SYS_futex, a, b, c, d, e, f) } as isize;
    // SAFETY: as above.
    let error = unsafe { std::mem::replace(&mut *errno, before) };
    if result == -1 { -(error as isize) } else { result }
}

/// The arguments of a call.
#[derive(Clone, Copy)]
struct Call {
    address: usize,
    operation: c_int,
    value: u32,
    /// A time, or how many waiters to move.
    fourth: usize,
    second: usize,
    /// A set of bits, or a value to compare with.
    last: u32,
    place: usize,
}

/// Waiters and wakers without bits have all.
const ALL: u32 = u32::MAX;

fn futex(call: Call) -> Result<c_long, c_int> {
    let absolute = || {
        let clock =
            if call.operation & libc::FUTEX_CLOCK_REALTIME != 0 { Clock::Real } else { Clock::Monotonic };
        remaining(clock, call.fourth as *const timespec)
    };
    let command = call.operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    match command {
        libc::FUTEX_WAIT if call.fourth == 0 => wait(call, ALL, FOREVER),
        libc::FUTEX_WAIT => wait(call, ALL, nanoseconds(call.fourth as *const timespec).ok_or(EINVAL)?),
        libc::FUTEX_WAIT_BITSET if call.last == 0 => Err(EINVAL),
        libc::FUTEX_WAIT_BITSET if call.fourth == 0 => wait(call, call.last, FOREVER),
        libc::FUTEX_WAIT_BITSET => wait(call, call.last, absolute().ok_or(EINVAL)?),
        libc::FUTEX_WAKE => Ok(wake(call, ALL)),
        libc::FUTEX_WAKE_BITSET if call.last == 0 => Err(EINVAL),
        libc::FUTEX_WAKE_BITSET => Ok(wake(call, call.last)),
        libc::FUTEX_REQUEUE => requeue(call, None),
        libc::FUTEX_CMP_REQUEUE => requeue(call, Some(call.last)),
        other => runtime::lose(&format!(
            "the program uses futex operation {other}, which raddle does not support yet"
        )),
    }
}

fn word(address: usize) -> u32 {
    // SAFETY: the caller of a futex call promises that there is a word.
    unsafe { std::ptr::read_volatile(address as *const u32) }
}

/// The order of operations on the queue of a futex matters as if they wrote its word.
fn touch(kind: Kind, call: &Call) {
    step_on(kind, call.place, Access::Write, |runtime| {
        if let Some(values) = runtime.values.as_mut().filter(|_| kind == Kind::Read) {
            values.announce(runtime.current, kind, (call.address, size_of::<u32>()), false);
        }
        runtime.object(call.address as u64 & !7, Class::Memory, || 0)
    });
    if kind == Kind::Read && values::are_wanted() {
        values::begin();
    }
}

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

fn wait(call: Call, bits: u32, span: u64) -> Result<c_long, c_int> {
    touch(Kind::Read, &call);
    if word(call.address) != call.value {
        return Err(EAGAIN);
    }
    let me = with(|runtime| {
        runtime.sleepers.push((call.address as u64, bits, runtime.current));
        runtime.current
    });
    let token = token(me);
    let park = |span: u64| {
        step(|runtime| {
            let place = runtime.place(call.place);
            Operation::new(Kind::Park, place).on(token, Access::Write).with_argument(span)
        })
    };
    if park(span) == Reply::TimedOut {
        let queued = with(|runtime| {
            let before = runtime.sleepers.len();
            runtime.sleepers.retain(|&(_, _, thread)| thread != me);
            runtime.sleepers.len() < before
        });
        if queued {
            return Err(ETIMEDOUT);
        }
        // Somebody is about to wake it.
        park(FOREVER);
    }
    Ok(0)
}

/// Takes up to `most` waiters out of the queue of `address`; which ones is a choice if there are more.
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
        let token = token(thread);
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
    let told = if expected.is_some() { woken.len() + moved } else { woken.len() };
    Ok(told as c_long)
}
