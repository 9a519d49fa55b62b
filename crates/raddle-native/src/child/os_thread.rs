//! The other way to go from thread to thread: each stays on its own OS thread, and one of them has the turn.
//!
//! It is slower than switching stacks on one carrier, by a futex and two changes of the signal mask for each hand-over. In
//! return it needs nothing of the processor, and a debugger sees every thread as it is. "The carrier" then means whichever OS
//! thread has the turn; all that is said of it elsewhere holds, because no other one runs.

use crate::child::fiber::{Fiber, PARKED, RELEASED, TURN};
use crate::child::shared_memory;
use crate::platform::{raw, signals};
use std::sync::atomic::Ordering;

/// Gives the turn to `to` and waits until `from`, the current thread, has it again or is released.
pub(crate) fn switch(from: &Fiber, to: &Fiber) {
    give_turn(to);
    let mask = signals::block_signals();
    if wait(from) {
        signals::set_signals(mask);
    }
}

/// Tells that the current thread, which is new and has all signals blocked, is there, and waits for its first turn.
pub(crate) fn park(fiber: &Fiber) {
    fiber.state.store(PARKED, Ordering::Release);
    raw::futex_wake(&fiber.state);
    wait(fiber);
}

fn give_turn(fiber: &Fiber) {
    fiber.state.store(TURN, Ordering::Release);
    raw::futex_wake(&fiber.state);
}

/// Waits for the turn, with all signals blocked: their handlers would run beside the thread that has it. Tells whether it
/// came; otherwise the thread was released.
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
