//! Channels with many senders and one receiver. The engine counts the values; the front end keeps them, in
//! the order in which sends are executed.
//!
//! A channel without a buffer hands values over: a send is two operations, the offer and the wait until it is
//! taken, and a blocking receive begins by announcing that the receiver waits, because only then does an
//! attempt to send succeed.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    /// Records that a sender of a channel was cloned. This is not an operation, as its order does not matter:
    /// cloning needs a sender, so the channel has one before and after.
    pub fn add_sender(&mut self, channel: ObjectId) {
        if let Resource::Channel { senders, .. } = &mut self.objects.get_mut(channel).resource {
            *senders += 1;
        }
    }

    /// Records that a sender of a channel, which is not the last one, was dropped without an operation.
    pub fn drop_sender(&mut self, channel: ObjectId) {
        if let Resource::Channel { senders, .. } = &mut self.objects.get_mut(channel).resource {
            *senders -= 1;
        }
    }

    pub(crate) fn can_send(&self, object: ObjectId) -> bool {
        match self.objects.get(object).resource {
            Resource::Channel { queued, capacity, receiver, .. } => {
                queued < capacity || capacity == 0 || !receiver
            }
            _ => true,
        }
    }

    pub(crate) fn can_end_send(&self, operation: &Operation) -> bool {
        match self.objects.get(first(operation)).resource {
            Resource::Channel { received, receiver, .. } => received > operation.argument || !receiver,
            _ => true,
        }
    }

    pub(crate) fn can_receive(&self, object: ObjectId) -> bool {
        match self.objects.get(object).resource {
            Resource::Channel { queued, senders, .. } => queued > 0 || senders == 0,
            Resource::Mailbox { news } => news,
            _ => true,
        }
    }

    pub(crate) fn send(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        let attempt = operation.kind.info().attempt;
        match &mut self.objects.get_mut(object).resource {
            Resource::Channel { receiver: false, .. } => Effect::Goes(Reply::Closed),
            Resource::Channel { queued, capacity: 0, waiting, .. }
                if attempt && (!*waiting || *queued > 0) =>
            {
                Effect::Goes(Reply::Busy)
            }
            Resource::Channel { queued, capacity, .. } if *capacity > 0 && *queued >= *capacity => {
                Effect::Goes(Reply::Busy)
            }
            Resource::Channel { queued, capacity, .. } => {
                *queued += 1;
                // Otherwise receivers could run before, and senders still can.
                if *queued == 1 || *queued == *capacity {
                    self.refresh(object);
                }
                Effect::Goes(Reply::Acquired)
            }
            Resource::Mailbox { .. } => {
                self.post(object);
                Effect::Goes(Reply::Acquired)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    /// Ends a send. `operation.argument` is the number of the value, counted from 0 in the order of sends.
    pub(crate) fn send_end(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Channel { received, .. } if *received > operation.argument => {
                Effect::Goes(Reply::Acquired)
            }
            Resource::Channel { queued, .. } => {
                // The receiver is gone and the sender takes its value back.
                *queued -= 1;
                Effect::Goes(Reply::Closed)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn receive_begin(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Channel { waiting, .. } => {
                *waiting = true;
                Effect::Goes(Reply::Go)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn receive(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Channel { queued, received, capacity, senders, waiting, .. } => {
                *waiting = false;
                if *queued > 0 {
                    // Otherwise senders could run before, and receivers still can.
                    let matters = *queued == 1 || *queued >= *capacity;
                    *queued -= 1;
                    *received += 1;
                    if matters {
                        self.refresh(object);
                    }
                    Effect::Goes(Reply::Acquired)
                } else if *senders == 0 {
                    Effect::Goes(Reply::Closed)
                } else if operation.kind.info().attempt {
                    Effect::Goes(Reply::Busy)
                } else {
                    Effect::Goes(Reply::TimedOut)
                }
            }
            Resource::Mailbox { .. } => self.look_into_mailbox(object, operation),
            _ => self.not_usable(thread, object, operation),
        }
    }

    /// Closes one side of a channel. `operation.argument` is 1 for the receiver and 0 for a sender.
    pub(crate) fn close(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Channel { receiver, .. } if operation.argument == 1 => *receiver = false,
            Resource::Channel { senders, .. } if *senders > 0 => *senders -= 1,
            Resource::Channel { .. } => {
                return self.misuse(thread, operation, "closed by more senders than it has");
            }
            _ => return self.not_usable(thread, object, operation),
        }
        self.refresh(object);
        Effect::Goes(Reply::Go)
    }
}
