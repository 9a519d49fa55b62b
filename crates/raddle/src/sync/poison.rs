//! Poisoning of locks by panics.
//!
//! Std's own flags cannot be used, because they depend on whether the OS thread panics, and all threads of a
//! run share one.

use crate::runtime;
use std::sync::atomic::{AtomicU32, Ordering};

/// A poison flag: a thread panicked while it held the lock. A lock that outlives a run is no longer poisoned
/// in the next one.
#[derive(Debug)]
pub(super) struct Poison {
    /// The run that poisoned it, or 0.
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

    /// Sets the flag, unless the panic only ends a run.
    pub(super) fn set(&self) {
        if !runtime::is_closing() {
            self.epoch.store(runtime::epoch().unwrap_or(0), Ordering::Relaxed);
        }
    }

    pub(super) fn clear(&self) {
        self.epoch.store(0, Ordering::Relaxed);
    }
}
