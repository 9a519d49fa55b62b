//! The sending sides.

use super::channel::Channel;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{SendError, TrySendError};

/// The sending side of [`channel`](super::channel), as in std.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
    created_at: &'static Location<'static>,
}

/// The sending side of [`sync_channel`](super::sync_channel), as in std.
pub struct SyncSender<T> {
    channel: Arc<Channel<T>>,
    created_at: &'static Location<'static>,
}

impl<T> Sender<T> {
    #[track_caller]
    pub(super) fn of(channel: Arc<Channel<T>>) -> Sender<T> {
        Sender { channel, created_at: Location::caller() }
    }

    /// Sends a value; never waits.
    ///
    /// # Errors
    ///
    /// If the receiver is gone; the error has the value.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.channel.send(value, Location::caller())
    }
}

impl<T> SyncSender<T> {
    #[track_caller]
    pub(super) fn of(channel: Arc<Channel<T>>) -> SyncSender<T> {
        SyncSender { channel, created_at: Location::caller() }
    }

    /// Sends a value, and waits for room in the channel; if it has no buffer, until the value is received.
    ///
    /// # Errors
    ///
    /// If the receiver is gone; the error has the value.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.channel.send(value, Location::caller())
    }

    /// Sends a value if there is room; if the channel has no buffer, if the receiver is waiting.
    ///
    /// # Errors
    ///
    /// If there is no room or the receiver is gone; the error has the value.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send(value, Location::caller())
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Sender<T> {
        self.channel.add_sender();
        Sender::of(Arc::clone(&self.channel))
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> SyncSender<T> {
        self.channel.add_sender();
        SyncSender::of(Arc::clone(&self.channel))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.remove_sender(self.created_at);
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.channel.remove_sender(self.created_at);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}
