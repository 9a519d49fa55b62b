//! Poisoning: what a panic leaves behind in a lock.
//!
//! Std's own flags cannot be used, because they ask whether the OS thread panics, and all threads of a run share one.

use crate::runtime;
use std::sync::atomic::{AtomicU32, Ordering};

/// Whether a thread panicked while it had the lock. A lock that outlives a run is sound again in the next one.
#[derive(Debug)]
pub(super) struct Poison {
    /// The run in which that happened, or 0.
    epoch: AtomicU32,
}

impl Poison {
    pub(super) const fn new() -> Poison {
        Poison { epoch: AtomicU32::new(0) }
    }

    pub(super) fn is_set(&self) -> bool {
        match self.epoch.load(Ordering::Relaxed) {
            0 => false,
            epoch => runtime::epoch().is_none_or(|now| now == epoch),
        }
    }

    /// Sets it, unless the panic is only the end of a run that was given up.
    pub(super) fn set(&self) {
        if !runtime::is_closing() {
            self.epoch.store(runtime::epoch().unwrap_or(0), Ordering::Relaxed);
        }
    }

    pub(super) fn clear(&self) {
        self.epoch.store(0, Ordering::Relaxed);
    }
}
