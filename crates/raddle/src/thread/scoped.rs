//! Scoped threads.

use super::handle::{Handle, wait_for};
use super::{Builder, Result, Scope, Thread};
use crate::runtime;
use std::panic::Location;

/// Calls `f` with a scope, and waits for all threads that were started in it, as in std. Panics if one of
/// them panicked and was not joined.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let location = Location::caller();
    runtime::lend(|scope| {
        let result = runtime::catch(|| f(scope));
        let mut panicked = false;
        // Threads may start others during the wait.
        while let Some(thread) = first(scope) {
            wait_for(thread, location);
            panicked |= runtime::with(|runtime| runtime.take_panic(thread));
        }
        match result {
            Err(payload) => runtime::resume(payload),
            Ok(_) if panicked => panic!("a scoped thread panicked"),
            Ok(result) => result,
        }
    })
}

/// Removes the thread from the scope that was started first.
fn first(scope: &Scope<'_, '_>) -> Option<raddle_model::ThreadId> {
    let mut threads = scope.threads.lock().expect("no code panics while the threads are locked");
    (!threads.is_empty()).then(|| threads.remove(0))
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread in this scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("a thread can always be started")
    }
}

/// Waits for a thread of a scope, as in std.
#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T> {
    pub(super) handle: Handle<T>,
    pub(super) scope: &'scope dyn Members,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.handle.thread
    }

    /// Waits for the thread to end and returns its result or its panic payload.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        let id = self.handle.id();
        let result = self.handle.join(Location::caller());
        self.scope.forget(id);
        result
    }

    /// Returns true if the thread has finished; see
    /// [`JoinHandle::is_finished`](super::JoinHandle::is_finished).
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished(Location::caller())
    }
}

/// The part of a scope that a handle needs, independent of lifetimes.
pub(super) trait Members: std::fmt::Debug + Sync {
    /// Forgets a thread that was joined.
    fn forget(&self, thread: raddle_model::ThreadId);
}

impl Members for Scope<'_, '_> {
    fn forget(&self, thread: raddle_model::ThreadId) {
        self.threads
            .lock()
            .expect("no code panics while the threads are locked")
            .retain(|&other| other != thread);
    }
}
