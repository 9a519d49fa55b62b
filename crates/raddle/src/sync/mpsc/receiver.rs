//! The receiving side.

use super::channel::Channel;
use crate::sync::condvar::nanoseconds;
use raddle_model::Operation;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// The receiving side of a channel, as in std.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    created_at: &'static Location<'static>,
    /// One thread at a time receives.
    not_sync: PhantomData<Cell<()>>,
}

impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    #[track_caller]
    pub(super) fn of(channel: Arc<Channel<T>>) -> Receiver<T> {
        Receiver { channel, created_at: Location::caller(), not_sync: PhantomData }
    }

    /// Receives a value, and waits for one if necessary.
    ///
    /// # Errors
    ///
    /// If there is no value and no sender.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.channel.receive(Operation::UNTIMED, Location::caller()).map_err(|_| RecvError)
    }

    /// Receives a value if there is one.
    ///
    /// # Errors
    ///
    /// If there is none; the error says whether a sender is left.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel.try_receive(Location::caller())
    }

    /// Receives a value, and waits for one at most as long as `timeout`.
    ///
    /// # Errors
    ///
    /// If none came in time, or there is no sender.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.channel.receive(nanoseconds(timeout), Location::caller())
    }

    /// Returns all values until the last sender is gone, waiting for each.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// Returns all available values.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.remove_receiver(self.created_at);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// The values of [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// The values of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// The values of a consumed [`Receiver`].
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
