//! The reason why a task has no value.

use crate::runtime::panic_message;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The reason why a task has no value.
#[non_exhaustive]
pub enum JoinError {
    /// It was aborted.
    Cancelled,
    /// It panicked.
    Panicked(Payload),
}

/// The panic payload of a task; see [`JoinError::into_panic`].
pub struct Payload(Mutex<Box<dyn Any + Send>>);

impl JoinError {
    pub(super) fn panicked(payload: Box<dyn Any + Send>) -> JoinError {
        JoinError::Panicked(Payload(Mutex::new(payload)))
    }

    /// Returns true if the task was aborted.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JoinError::Cancelled)
    }

    /// Returns true if the task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// Returns the panic payload of the task.
    ///
    /// # Panics
    ///
    /// If it did not panic.
    #[must_use]
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        self.try_into_panic().expect("the task was aborted and did not panic")
    }

    /// Returns the panic payload of the task, or this error if it did not panic.
    ///
    /// # Errors
    ///
    /// If it did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        match self {
            JoinError::Panicked(Payload(payload)) => {
                Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            other => Err(other),
        }
    }
}

impl Payload {
    fn message(&self) -> String {
        panic_message(&**self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("the task was cancelled"),
            JoinError::Panicked(payload) => write!(f, "the task panicked: {}", payload.message()),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("Cancelled"),
            JoinError::Panicked(payload) => f.debug_tuple("Panicked").field(payload).finish(),
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl Error for JoinError {}
