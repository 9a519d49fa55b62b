//! Loom's `future`.

pub use crate::future::block_on;
use crate::sync::Mutex;
use std::task::Waker;

/// A waker that threads share: the last one registered, until it is woken or taken.
#[derive(Debug)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Creates an empty waker.
    #[expect(clippy::new_without_default, reason = "Loom's has none")]
    #[track_caller]
    pub const fn new() -> AtomicWaker {
        AtomicWaker { waker: Mutex::new(None) }
    }

    /// Stores `waker` in place of the previous one.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        self.exchange(Some(waker));
    }

    /// Stores a clone of `waker` in place of the previous one.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Takes the waker and wakes it, if there is one.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker, if there is one.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.exchange(None)
    }

    /// Exchanges the waker. The caller drops or wakes the previous one after the lock was released.
    #[track_caller]
    fn exchange(&self, waker: Option<Waker>) -> Option<Waker> {
        let mut kept = self.waker.lock().unwrap_or_else(crate::sync::PoisonError::into_inner);
        std::mem::replace(&mut *kept, waker)
    }
}
