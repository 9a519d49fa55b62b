//! Plain values that threads share: the only unsafe code of these tests.
#![expect(unsafe_code, reason = "sharing a cell is what races are about")]

use raddle::cell::{Cell, UnsafeCell};

/// A plain value that threads may share if they follow the rules.
#[derive(Default)]
pub(crate) struct Plain(UnsafeCell<u32>);

// SAFETY: threads under control share one OS thread, and no pointer leaves a method.
unsafe impl Sync for Plain {}

impl Plain {
    #[track_caller]
    pub(crate) fn get(&self) -> u32 {
        // SAFETY: the pointer is valid, and all accesses are made on one OS thread.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    pub(crate) fn set(&self, to: u32) {
        // SAFETY: the pointer is valid, and all accesses are made on one OS thread.
        self.0.with_mut(|value| unsafe { *value = to });
    }

    /// Writes it while `meanwhile` runs.
    #[track_caller]
    pub(crate) fn set_during(&self, meanwhile: impl FnOnce()) {
        self.0.with_mut(|_| meanwhile());
    }

    /// Writes it without a visible access.
    pub(crate) fn set_unseen(&self, to: u32) {
        // SAFETY: the pointer is valid, and all accesses are made on one OS thread.
        unsafe { *self.0.get() = to };
    }
}

/// Two cells that threads may share if they follow the rules.
#[derive(Default)]
pub(crate) struct Cells(pub(crate) Cell<u32>, pub(crate) Cell<u32>);

// SAFETY: threads under control share one OS thread, and a cell returns no references.
unsafe impl Sync for Cells {}
