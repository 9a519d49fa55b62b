//! Whose turn it is, when checks use the same static.
//!
//! Checks run beside each other until one meets another one, or its own jobs meet each other, at a static. That one begins
//! again alone. So checks that use the same statics queue up, and none waits for one that waits.

use crate::runtime;
use std::sync::{PoisonError, RwLock};

static TURNS: RwLock<()> = RwLock::new(());

/// Who else may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Other checks, and several jobs.
    Shared,
    /// Nobody: neither another check nor a second job.
    Alone,
}

/// Calls `attempt`, and once more if it gave nothing, when nobody else runs.
pub(super) fn take<R>(mut attempt: impl FnMut(Turn) -> Option<R>) -> R {
    assert!(runtime::epoch().is_none(), "a check does not run inside another one");
    let shared = TURNS.read().unwrap_or_else(PoisonError::into_inner);
    let result = attempt(Turn::Shared);
    drop(shared);
    result.unwrap_or_else(|| {
        let _alone = TURNS.write().unwrap_or_else(PoisonError::into_inner);
        attempt(Turn::Alone).expect("a check that runs alone meets nobody")
    })
}
