//! Where it is not known how to survive an abort, a panic in a destructor during cleanup ends the process.

/// Returns that the process will end.
pub(crate) fn leave_at_abort() -> bool {
    false
}
