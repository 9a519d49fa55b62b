//! Tokens: each thread may wait for its own, and any thread may make it available. A second one is lost.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    pub(crate) fn can_park(&self, object: ObjectId) -> bool {
        !matches!(self.objects.get(object).resource, Resource::Token { available: false })
    }

    /// Continues with the token, or without it because the time limit expired.
    pub(crate) fn park(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Token { available: false } => Effect::Goes(Reply::TimedOut),
            Resource::Token { available } => {
                *available = false;
                self.refresh(object);
                Effect::Goes(Reply::Acquired)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn unpark(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Token { available: true } => Effect::Goes(Reply::Go),
            Resource::Token { available } => {
                *available = true;
                self.refresh(object);
                Effect::Goes(Reply::Go)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    /// Declares whether something from outside the program may unblock a thread: then [`Engine::next`]
    /// returns [`Next::Idle`](crate::Next::Idle) before it lets time pass or reports a deadlock.
    pub fn expect_outside(&mut self, expected: bool) {
        self.outside = expected;
    }

    /// Makes the token `object` available, or notes news for the mailbox `object`, without a step: something has
    /// come from outside the program, or from the running thread without an operation. Must be called again at the same point when the run is
    /// enacted.
    pub fn give_token(&mut self, object: ObjectId) {
        self.burst = 0;
        match &mut self.objects.get_mut(object).resource {
            Resource::Token { available } => *available = true,
            Resource::Mailbox { news } => *news = true,
            _ => return,
        }
        self.refresh(object);
    }
}
