//! `std::sync::mpsc` under control.
//!
//! The errors are std's own. A value becomes part of the channel at the step in which it is sent, and leaves it at the
//! step in which it is received; dropping a sender or the receiver is a step too, as others see it.

mod channel;
mod receiver;
mod sender;

pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use sender::{Sender, SyncSender};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use channel::Channel;
use std::sync::Arc;

/// A channel that holds as many values as are sent.
#[track_caller]
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(u64::MAX));
    channel.make_known();
    (Sender::of(Arc::clone(&channel)), Receiver::of(channel))
}

/// A channel that holds at most `bound` values; with 0, each send waits until its value is received.
#[track_caller]
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(bound as u64));
    channel.make_known();
    (SyncSender::of(Arc::clone(&channel)), Receiver::of(channel))
}
