//! Futures under control. A panic of a task fails the run at once.
//!
//! Wake-ups are not steps here, as in Shuttle: a woken task can continue at the next step of the thread that
//! woke it.

pub mod batch_semaphore;

pub use crate::future::{AbortHandle, YieldNow, block_on, yield_now};

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Starts a task, which is polled as soon as it is scheduled, whether or not a thread waits for it.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    JoinHandle(crate::future::spawn(future))
}

/// Like [`spawn`], for a future that cannot be sent to another thread.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    JoinHandle(crate::future::spawn_local(future))
}

/// Waits for a task: a future that returns its value.
#[derive(Debug)]
#[must_use = "the handle waits for the task only if it is awaited"]
pub struct JoinHandle<T>(crate::future::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Cancels the task at its next `await`.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Returns true if the task is over.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Returns a handle that can cancel the task.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.0.abort_handle()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        // A task that panicked has ended the run.
        Pin::new(&mut self.0).poll(context).map_err(|_| JoinError::Cancelled)
    }
}

/// The reason why a task has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinError {
    /// It was cancelled.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task was cancelled")
    }
}

impl Error for JoinError {}
