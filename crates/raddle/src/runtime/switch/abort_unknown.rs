//! On platforms where an abort cannot be survived, a panic in a destructor during cleanup ends the process.

/// Returns false: the process will end.
pub(crate) fn abandon_at_abort() -> bool {
    false
}
