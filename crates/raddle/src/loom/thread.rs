//! Loom's `thread`: functions and results need not be `Send`, as all threads of a run share one OS thread.

pub use crate::thread::{
    AccessError, JoinHandle, LocalKey, Result, Thread, ThreadId, current, panicking, park, yield_now,
};

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    crate::thread::Builder::new().spawn_local(f)
}

/// A builder for named threads.
#[derive(Debug, Default)]
#[must_use = "a builder starts a thread only when `spawn` is called"]
pub struct Builder(crate::thread::Builder);

impl Builder {
    /// Creates a builder for a thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Sets the name of the thread.
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// No effect: all stacks have the same size.
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size))
    }

    /// Starts the thread; never fails.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> std::io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        Ok(self.0.spawn_local(f))
    }
}
