//! A thread that stops in the middle of an operation until all others have ended.
//!
//! If they cannot end, the run is a deadlock or a livelock, and the operation is not lock-free.

use super::run::{Turn, wait_for_turn};
use super::{Runtime, close, step, with};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation, ThreadId};

/// The thread that halts, and the steps of all threads.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    /// The thread, and the number of its steps before it halts; `None` if no thread halts.
    at: Option<(ThreadId, u32)>,
    /// The threads whose ends it waits for.
    others: Vec<ThreadId>,
    /// The operation that it was about to execute, while it halts.
    operation: Option<Operation>,
    /// True if it has halted.
    has_halted: bool,
    /// The number of steps of each thread.
    steps: Vec<u32>,
}

impl Runtime {
    /// Counts the steps of all threads of the run from now on.
    pub(crate) fn count_steps(&mut self) {
        (self.halt, self.diverts) = (Some(Halt::default()), true);
    }

    /// Halts the current thread before its step with the given number, from 0, until `others` have ended. Steps must be
    /// counted.
    pub(crate) fn halt_before(&mut self, step: u32, others: Vec<ThreadId>) {
        let current = self.current;
        let halt = self.halt.as_mut().expect("steps are counted from the beginning of the run");
        (halt.at, halt.others) = (Some((current, step)), others);
    }

    /// Returns true if the thread that was to halt has done so.
    pub(crate) fn has_halted(&self) -> bool {
        self.halt.as_ref().is_some_and(|halt| halt.has_halted)
    }

    /// Returns the number of steps of the current thread, if they are counted.
    pub(crate) fn counted_steps(&self) -> u32 {
        let steps = self.halt.as_ref().and_then(|halt| halt.steps.get(self.current.index()));
        steps.copied().unwrap_or(0)
    }

    /// Takes a step, unless the current thread halts first.
    #[cold]
    #[inline(never)]
    pub(super) fn halt_or_take_step(&mut self, operation: Operation) -> Turn {
        if self.is_to_halt(operation) { Turn::Diverted } else { self.take_step(operation) }
    }

    /// Counts a step of the current thread. Returns true if the thread halts first.
    fn is_to_halt(&mut self, operation: Operation) -> bool {
        let kind = operation.kind;
        if kind == Kind::Call || kind == Kind::Return || kind == Kind::Start {
            return false;
        }
        let thread = self.current;
        let Some(halt) = &mut self.halt else { return false };
        if halt.operation.is_some() && halt.at.is_some_and(|(victim, _)| victim == thread) {
            return false; // The waits of the thread that halts.
        }
        if halt.steps.len() <= thread.index() {
            halt.steps.resize(thread.index() + 1, 0);
        }
        let steps = &mut halt.steps[thread.index()];
        *steps += 1;
        if halt.has_halted || halt.at != Some((thread, *steps - 1)) {
            return false;
        }
        (halt.operation, halt.has_halted) = (Some(operation), true);
        true
    }
}

/// Executes an operation of the current thread in a run that is over, or after the others have ended.
#[cold]
pub(super) fn operate_diverted() -> Reply {
    let others = with(|runtime| {
        let halt = runtime.halt.as_ref().filter(|halt| halt.operation.is_some());
        halt.filter(|_| !runtime.closing).map(|halt| halt.others.clone())
    });
    let Some(others) = others else { return close::operate() };
    for other in others {
        step(|runtime| {
            let location = runtime.halt.as_ref().and_then(|halt| halt.operation);
            let object = runtime.thread_object(other);
            Operation::new(Kind::Join, location.expect("the thread halts before an operation").location)
                .on(object, Access::Read)
        });
    }
    let turn = with(|runtime| {
        let operation = runtime.halt.as_mut().and_then(|halt| halt.operation.take());
        match operation.filter(|_| !runtime.closing) {
            Some(operation) => runtime.take_step(operation),
            None => Turn::Diverted,
        }
    });
    match turn {
        Turn::Mine(reply) => reply,
        Turn::Of(other) => wait_for_turn(other),
        Turn::Diverted => close::operate(),
    }
}
