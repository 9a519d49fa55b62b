//! `std::sync::mpsc` under control.
//!
//! The errors are std's own. A value enters the channel at the step that sends it, and leaves it at the step
//! that receives it; dropping a sender or the receiver is a step too, because others observe it.

mod channel;
mod receiver;
mod sender;

pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use sender::{Sender, SyncSender};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use channel::Channel;
use std::sync::Arc;

/// Creates a channel without a capacity limit.
#[track_caller]
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(u64::MAX));
    channel.make_known();
    (Sender::of(Arc::clone(&channel)), Receiver::of(channel))
}

/// Creates a channel that holds at most `bound` values; with 0, each send waits until its value is received.
#[track_caller]
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(bound as u64));
    channel.make_known();
    (SyncSender::of(Arc::clone(&channel)), Receiver::of(channel))
}
