//! Runs that are made again to end where they ended unseen: by a signal that nobody handles, or by an instruction.

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
