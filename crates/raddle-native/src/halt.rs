//! Runs that are made again to end where they ended unseen: by a signal that nobody handles, or by an instruction.

use crate::runtime::{end_run, with};
use crate::{crash, start};
use raddle_model::Failure;

/// The point at which a run ended unseen, and how.
#[derive(Clone, Copy)]
pub(crate) struct Halt {
    /// After so many steps, in this thread, after this place.
    pub(crate) steps: u64,
    pub(crate) thread: u64,
    pub(crate) place: u64,
    pub(crate) end: UnseenEnd,
}

/// How a process ended.
#[derive(Clone, Copy)]
pub(crate) enum UnseenEnd {
    Signal(i32),
    Exit(i32),
}

/// Ends the run where it ended before, if this is that point. Called wherever a thread begins to run code of the program.
#[inline]
pub(crate) fn halt_if_due() {
    if with(|runtime| runtime.halt.is_some()) {
        halt();
    }
}

#[cold]
fn halt() {
    let due = with(|runtime| {
        let here = (runtime.engine.step_count(), u64::from(runtime.current.0));
        runtime.halt.take_if(|halt| (halt.steps, halt.thread) == here)
    });
    match due {
        None => {}
        Some(Halt { end: UnseenEnd::Exit(status), .. }) => {
            with(|runtime| runtime.status = status);
            start::end_program();
        }
        Some(Halt { end: UnseenEnd::Signal(signal), place, .. }) => {
            with(|runtime| {
                runtime.fail(place as usize, |thread, location| Failure::Signal {
                    thread,
                    location,
                    signal: crash::name(signal),
                    address: None,
                });
            });
            end_run();
        }
    }
}
