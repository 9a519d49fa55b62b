//! Counting semaphores.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    pub(crate) fn can_wait(&self, object: ObjectId) -> bool {
        !matches!(self.objects.get(object).resource, Resource::Semaphore { value: 0 })
    }

    pub(crate) fn semaphore_wait(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Semaphore { value: 0 } if operation.kind.info().attempt => Effect::Goes(Reply::Busy),
            Resource::Semaphore { value: 0 } => Effect::Goes(Reply::TimedOut),
            Resource::Semaphore { value } => {
                *value -= 1;
                if *value == 0 {
                    self.refresh(object);
                }
                Effect::Goes(Reply::Acquired)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn semaphore_post(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Semaphore { value } => {
                *value += 1;
                if *value == 1 {
                    self.refresh(object);
                }
                Effect::Goes(Reply::Go)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }
}
