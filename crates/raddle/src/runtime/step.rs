//! Operations as steps of a run.

use super::run::{Turn, wait_for_turn};
use super::{Freedom, Runtime, halt, is_shuttle, with};
use raddle_engine::Reply;
use raddle_model::{Kind, Operation};
use std::panic::Location;

/// Announces the next operation of the current thread and returns when it has been executed.
#[inline]
#[track_caller]
pub(crate) fn step(operation: impl FnOnce(&mut Runtime) -> Operation) -> Reply {
    step_or(operation, |_| {})
}

/// Like [`step`], but calls `closing` instead if the run is over.
#[inline]
#[track_caller]
pub(crate) fn step_or(
    operation: impl FnOnce(&mut Runtime) -> Operation,
    closing: impl FnOnce(&mut Runtime),
) -> Reply {
    step_by(Runtime::take_step, operation, closing)
}

/// Does [`step_or`] for an access to an atomic.
#[inline]
#[track_caller]
pub(crate) fn access_or(
    operation: impl FnOnce(&mut Runtime) -> Operation,
    closing: impl FnOnce(&mut Runtime),
) {
    step_by(Runtime::take_access, operation, closing);
}

#[inline]
#[track_caller]
fn step_by(
    take: impl FnOnce(&mut Runtime, Operation) -> Turn,
    operation: impl FnOnce(&mut Runtime) -> Operation,
    closing: impl FnOnce(&mut Runtime),
) -> Reply {
    let turn = with(|runtime| {
        if runtime.closing {
            closing(runtime);
            return Turn::Diverted;
        }
        // Called once, so that it is compiled into this function.
        let operation = operation(runtime);
        if runtime.diverts { runtime.halt_or_take_step(operation) } else { take(runtime, operation) }
    });
    match turn {
        Turn::Mine(reply) => reply,
        Turn::Of(other) => wait_for_turn(other),
        Turn::Diverted => halt::operate_diverted(),
    }
}

/// Takes a step after the current thread has started another one, in runs that have it: the new thread may
/// come first, before code of the current one that has no operations.
pub(crate) fn pause_after_spawn(location: &'static Location<'static>) {
    if !is_shuttle() && with(|runtime| runtime.free == Freedom::Pauses && !runtime.closing) {
        step(|runtime| Operation::new(Kind::Start, runtime.location(location)));
    }
}
