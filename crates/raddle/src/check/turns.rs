//! Serializes checks that use the same static.
//!
//! Checks run in parallel until one shares a static with another check, or its own jobs share one. That check
//! restarts alone. Checks that use the same statics therefore queue up, and none waits for one that waits.

use crate::runtime;
use std::sync::{PoisonError, RwLock};

static TURNS: RwLock<()> = RwLock::new(());

/// The other work that may run in parallel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Other checks, and several jobs.
    Shared,
    /// Neither another check nor a second job.
    Alone,
}

/// Calls `attempt`, and once more if it returned `None`, when no other check runs.
pub(super) fn take<R>(mut attempt: impl FnMut(Turn) -> Option<R>) -> R {
    assert!(runtime::epoch().is_none(), "checks cannot be nested");
    let shared = TURNS.read().unwrap_or_else(PoisonError::into_inner);
    let result = attempt(Turn::Shared);
    drop(shared);
    result.unwrap_or_else(|| {
        let _alone = TURNS.write().unwrap_or_else(PoisonError::into_inner);
        attempt(Turn::Alone).expect("a check that runs alone has no conflict")
    })
}
