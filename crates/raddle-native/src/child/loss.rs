//! Runs that end without a verdict.

use crate::child::{control, shared_memory};
use crate::platform::raw;

/// Ends the process because its run cannot be controlled, for the reason in `message`.
pub(crate) fn lose(message: &str) -> ! {
    control::end();
    shared_memory::write_loss(message);
    raw::exit(0)
}

/// Ends the process because the system denies a resource that the run needs.
pub(crate) fn refuse(message: &str) -> ! {
    control::end();
    shared_memory::write_refusal(message);
    raw::exit(0)
}
