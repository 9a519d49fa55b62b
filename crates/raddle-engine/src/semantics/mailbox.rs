//! Mailboxes, from which the owner may take a message out of the middle. The engine only knows whether
//! something has come since the owner last looked; the owner looks, and waits again if no message matches.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::Strategy;
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    /// Records that something has come to the mailbox `object`, as part of the latest step. A
    /// [`Kind::Send`](raddle_model::Kind::Send) does so by itself.
    pub fn post(&mut self, object: ObjectId) {
        self.burst = 0;
        if let Resource::Mailbox { news: news @ false } = &mut self.objects.get_mut(object).resource {
            *news = true;
            self.refresh(object);
        }
    }

    /// Records that the owner of the mailbox `object`, which runs, has seen its whole content. A wait that
    /// begins now waits for later messages.
    pub fn note_seen(&mut self, object: ObjectId) {
        if let Resource::Mailbox { news } = &mut self.objects.get_mut(object).resource {
            *news = false;
        }
    }

    /// Takes what is in flight on a connection, whose object is a mailbox.
    pub(crate) fn deliver(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Effect {
        self.note_seen(first(operation));
        let arity = u32::try_from(operation.argument).unwrap_or(1);
        Effect::Goes(Reply::Number(self.ask(thread, arity, strategy)))
    }

    pub(crate) fn look_into_mailbox(&mut self, object: ObjectId, operation: &Operation) -> Effect {
        match &mut self.objects.get_mut(object).resource {
            Resource::Mailbox { news: news @ true } => {
                *news = false;
                Effect::Goes(Reply::Acquired)
            }
            _ if operation.kind.info().attempt => Effect::Goes(Reply::Busy),
            _ => Effect::Goes(Reply::TimedOut),
        }
    }
}
