//! The alternative way to switch threads: each stays on its own OS thread, and one of them has the turn.
//!
//! It is slower than switching stacks on one carrier, by a futex and two changes of the signal mask for each
//! hand-over. In return it needs no processor support, and a debugger sees every thread. "The carrier" then
//! means the OS thread that has the turn; everything said about it elsewhere holds, because no other one
//! runs.

use crate::child::fiber::{Fiber, PARKED, RELEASED, TURN};
use crate::child::shared_memory;
use crate::platform::{raw, signals};
use std::sync::atomic::Ordering;

/// Passes the turn to `to` and waits until `from`, the current thread, has it again or is released.
pub(crate) fn switch(from: &Fiber, to: &Fiber) {
    give_turn(to);
    let mask = signals::block_signals();
    if wait(from) {
        signals::set_signals(mask);
    }
}

/// Announces that the current thread, which is new and has all signals blocked, is ready, and waits for its
/// first turn.
pub(crate) fn park(fiber: &Fiber) {
    fiber.state.store(PARKED, Ordering::Release);
    raw::futex_wake(&fiber.state);
    wait(fiber);
}

fn give_turn(fiber: &Fiber) {
    fiber.state.store(TURN, Ordering::Release);
    raw::futex_wake(&fiber.state);
}

/// Waits for the turn, with all signals blocked: their handlers would run concurrently with the thread that
/// has it. Returns true if it came; otherwise the thread was released.
fn wait(fiber: &Fiber) -> bool {
    loop {
        match fiber.state.load(Ordering::Acquire) {
            TURN => break,
            RELEASED => return false,
            other => raw::futex_wait(&fiber.state, other),
        }
    }
    fiber.state.store(PARKED, Ordering::Relaxed);
    shared_memory::note_carrier(fiber.number.load(Ordering::Relaxed));
    true
}
