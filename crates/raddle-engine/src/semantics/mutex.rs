//! Mutexes: normal, recursive and error-checking.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::{MutexKind, Resource};
use raddle_model::{ObjectId, Operation, ThreadId};

impl Engine {
    /// Returns true if locking would not wait: the mutex is free, or the reply is immediate.
    #[inline]
    pub(crate) fn can_lock(&self, thread: ThreadId, object: ObjectId) -> bool {
        match self.objects.get(object).resource {
            Resource::Mutex { owner: None, .. } => true,
            Resource::Mutex { kind, owner: Some(owner), .. } => owner == thread && kind != MutexKind::Normal,
            _ => true,
        }
    }

    pub(crate) fn lock(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        self.acquire(thread, operation, Reply::TimedOut)
    }

    pub(crate) fn try_lock(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        self.acquire(thread, operation, Reply::Busy)
    }

    fn acquire(&mut self, thread: ThreadId, operation: &Operation, otherwise: Reply) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Mutex { owner: owner @ None, depth, .. } => {
                *owner = Some(thread);
                *depth = 1;
                self.update_rivals(object, false);
                Effect::Goes(Reply::Acquired)
            }
            Resource::Mutex { kind, owner: Some(owner), depth } if *owner == thread => match kind {
                MutexKind::Recursive => {
                    *depth += 1;
                    Effect::Goes(Reply::Acquired)
                }
                MutexKind::ErrorChecking if otherwise == Reply::TimedOut => {
                    Effect::Goes(Reply::WouldDeadlock)
                }
                MutexKind::ErrorChecking | MutexKind::Normal => Effect::Goes(otherwise),
            },
            Resource::Mutex { .. } => Effect::Goes(otherwise),
            _ => self.not_usable(thread, object, operation),
        }
    }

    pub(crate) fn unlock(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        match &mut self.objects.get_mut(object).resource {
            Resource::Mutex { owner, depth, .. } if *owner == Some(thread) => {
                *depth -= 1;
                if *depth == 0 {
                    *owner = None;
                    self.update_rivals(object, true);
                }
                Effect::Goes(Reply::Go)
            }
            Resource::Mutex { kind: MutexKind::Normal, owner, .. } => {
                let rule = if owner.is_some() {
                    "unlocked by a thread that does not hold it"
                } else {
                    "unlocked while not locked"
                };
                self.misuse(thread, operation, rule)
            }
            Resource::Mutex { .. } => Effect::Goes(Reply::NotOwner),
            _ => self.not_usable(thread, object, operation),
        }
    }
}
