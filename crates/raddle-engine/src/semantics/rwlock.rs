//! Read-write locks: many readers or one writer, no preference for either.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    pub(crate) fn can_read_lock(&self, object: ObjectId) -> bool {
        !matches!(self.objects.get(object).resource, Resource::ReadWriteLock { writer: Some(_), .. })
    }

    pub(crate) fn can_write_lock(&self, object: ObjectId) -> bool {
        match &self.objects.get(object).resource {
            Resource::ReadWriteLock { writer, readers } => writer.is_none() && readers.is_empty(),
            _ => true,
        }
    }

    pub(crate) fn read_lock(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::ReadWriteLock { writer: None, readers } => {
                readers.push(thread);
                self.refresh(object);
                Effect::Goes(Reply::Acquired)
            }
            Resource::ReadWriteLock { .. } => Effect::Goes(refusal(operation)),
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn write_lock(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::ReadWriteLock { writer: writer @ None, readers } if readers.is_empty() => {
                *writer = Some(thread);
                self.refresh(object);
                Effect::Goes(Reply::Acquired)
            }
            Resource::ReadWriteLock { .. } => Effect::Goes(refusal(operation)),
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn downgrade(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::ReadWriteLock { writer, readers } if *writer == Some(thread) => {
                *writer = None;
                readers.push(thread);
                self.refresh(object);
                Effect::Goes(Reply::Go)
            }
            Resource::ReadWriteLock { .. } => {
                self.misuse(thread, operation, "downgraded by a thread that does not have it for writing")
            }
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn read_write_unlock(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::ReadWriteLock { writer, readers } => {
                if *writer == Some(thread) {
                    *writer = None;
                } else if let Some(index) = readers.iter().position(|&reader| reader == thread) {
                    readers.swap_remove(index);
                } else {
                    return self.misuse(thread, operation, "unlocked by a thread that does not have it");
                }
                self.refresh(object);
                Effect::Goes(Reply::Go)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }
}

/// What a thread that cannot have the lock is told.
fn refusal(operation: &Operation) -> Reply {
    if operation.kind.info().attempt { Reply::Busy } else { Reply::TimedOut }
}
