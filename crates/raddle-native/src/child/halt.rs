//! Runs that are repeated up to the point where they ended unseen: by an unhandled signal, or by an
//! instruction.

/// The point at which a run ended unseen, and how.
#[derive(Clone, Copy)]
pub(crate) struct Halt {
    /// After this many steps, in this thread, after this location.
    pub(crate) steps: u64,
    pub(crate) thread: u64,
    pub(crate) place: u64,
    pub(crate) end: UnseenEnd,
}

/// The way a process ended.
#[derive(Clone, Copy)]
pub(crate) enum UnseenEnd {
    Signal(i32),
    Exit(i32),
}
