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

/// Starts a thread with a name.
#[derive(Debug, Default)]
#[must_use = "it starts a thread only when it is told to"]
pub struct Builder(crate::thread::Builder);

impl Builder {
    /// Starts a thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Gives the thread a name.
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// Has no effect: all stacks are of one size.
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
