//! A run that a strategy has begun, and what is wanted of it.

use raddle_engine::Needs;

/// The requested results of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its steps if it fails.
    IfFailing,
    /// Its steps.
    Steps,
    /// Its steps and the values that they read and wrote.
    Values,
    /// Also who called them, and where the memory of objects comes from.
    Details,
}

/// A run of a strategy, which has begun it.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    /// The index of the strategy.
    pub(super) number: usize,
    /// The index of the run.
    pub(super) run: u64,
    /// True if the strategy learns from it.
    pub(super) learns: bool,
    pub(super) needs: Needs,
    pub(super) is_weak: bool,
    /// The number from which the program's random numbers are derived.
    pub(super) random: u64,
    pub(super) wanted: Wanted,
}

/// The end of a run in a child.
pub(super) enum End {
    /// This is the child; the number is that of the server.
    Child(i32),
    /// The run is over, and the child executes the next one.
    Stays,
    /// It exited.
    Ended(i32),
    /// It exceeded the time limit of a run and was killed.
    Late(String),
    /// It could not be created.
    Refused(String),
}
