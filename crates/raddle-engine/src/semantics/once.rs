//! One-time initialisation.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    pub(crate) fn can_begin_once(&self, object: ObjectId) -> bool {
        !matches!(self.objects.get(object).resource, Resource::Once { runner: Some(_), .. })
    }

    pub(crate) fn once_begin(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Once { done: true, .. } => Effect::Goes(Reply::Go),
            Resource::Once { runner, abandoned, .. } => {
                *runner = Some(thread);
                *abandoned = false;
                self.refresh(object);
                Effect::Goes(Reply::RunOnce)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn can_end_once_wait(&self, operation: &Operation) -> bool {
        match self.objects.get(first(operation)).resource {
            Resource::Once { done, abandoned, .. } => done || (abandoned && operation.argument == 0),
            _ => true,
        }
    }

    pub(crate) fn once_try(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        match self.objects.get(first(operation)).resource {
            Resource::Once { done: true, .. } => Effect::Goes(Reply::Acquired),
            Resource::Once { .. } => Effect::Goes(Reply::Busy),
            _ => self.not_usable(thread, first(operation), operation),
        }
    }

    pub(crate) fn once_end(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Once { runner, done, abandoned } if *runner == Some(thread) => {
                *runner = None;
                *done = operation.argument != 0;
                *abandoned = !*done;
                self.refresh(object);
                Effect::Goes(Reply::Go)
            }
            Resource::Once { .. } => self.misuse(thread, operation, "ended by a thread that does not run it"),
            _ => self.not_usable(thread, object, operation),
        }
    }
}
