//! Read-write locks: many readers or one writer, no preference for either. A thread that already reads and
//! asks again may have to wait behind a writer, if the front end requests that ([`Kind::ReadLockAgain`]).

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::Strategy;
use crate::threads::Wake;
use raddle_model::{Kind, LockMode, ObjectId, Operation, ThreadId};

impl Engine {
    /// Returns true if `thread` holds `object`, a read-write lock, for reading or writing.
    pub fn has_read_write_lock(&self, thread: ThreadId, object: ObjectId) -> bool {
        match &self.objects.get(object).resource {
            Resource::ReadWriteLock { writer, readers } => {
                *writer == Some(thread) || readers.contains(&thread)
            }
            _ => false,
        }
    }

    /// Returns how `object` is locked, if it is a lock and not free, and how often it must be unlocked.
    pub fn held_lock(&self, object: ObjectId) -> Option<(LockMode, u32)> {
        match &self.objects.get(object).resource {
            Resource::Mutex { owner: Some(_), depth, .. } => Some((LockMode::Exclusive, *depth)),
            Resource::ReadWriteLock { writer: Some(_), .. } => Some((LockMode::Exclusive, 1)),
            Resource::ReadWriteLock { readers, .. } if !readers.is_empty() => {
                Some((LockMode::Shared, readers.len() as u32))
            }
            _ => None,
        }
    }

    pub(crate) fn can_read_lock(&self, thread: ThreadId, object: ObjectId) -> bool {
        !matches!(self.objects.get(object).resource, Resource::ReadWriteLock { writer: Some(_), .. })
            && self.threads.get(thread).wake != Wake::Delayed
    }

    /// Takes a lock that `thread` already holds for reading, or lets it wait behind arriving writers, as std
    /// allows. A writer waits for this thread, so that both wait forever. If no writer has arrived when
    /// nothing else can run, the thread continues: it was slow.
    pub(crate) fn read_lock_again(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Effect {
        let value = self.draw(2, strategy);
        if value == 0 {
            return self.read_lock(thread, operation);
        }
        self.print_outcome(thread, u64::from(value));
        let later = Operation { kind: Kind::ReadLock, ..*operation };
        self.advance_local(thread);
        self.await_turn(thread, later);
        let now = self.now;
        let entry = self.threads.get_mut(thread);
        (entry.wake, entry.deadline) = (Wake::Delayed, now);
        self.threads.set_enabled(thread, false);
        Effect::Stays
    }

    /// Lets threads that hold a lock for reading, and wait behind its writers to take it again, wait forever
    /// if there is a writer.
    pub(crate) fn wait_behind_writers(&mut self) {
        for index in 0..self.threads.len() as u32 {
            let thread = ThreadId(index);
            if self.threads.get(thread).wake == Wake::Delayed && !self.writers_ahead(thread).is_empty() {
                self.threads.get_mut(thread).deadline = u64::MAX;
            }
        }
    }

    /// Returns the writers behind which `thread` waits for a lock.
    pub(crate) fn writers_ahead(&self, thread: ThreadId) -> Vec<ThreadId> {
        let object = first(self.threads.operation(thread));
        let pending = self.pending.touching(object).map(|(other, _)| other);
        pending.filter(|&other| self.threads.operation(other).kind == Kind::WriteLock).collect()
    }

    /// Returns true if `thread` holds `object`, a read-write lock, for reading, and another thread may ask
    /// for it.
    pub fn reads_beside_others(&self, thread: ThreadId, object: ObjectId) -> bool {
        match &self.objects.get(object).resource {
            Resource::ReadWriteLock { readers, .. } => self.alive > 1 && readers.contains(&thread),
            _ => false,
        }
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
                // Further readers change nothing for others.
                if readers.len() == 1 {
                    self.refresh(object);
                }
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
                self.misuse(thread, operation, "downgraded by a thread that does not hold it for writing")
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
                    return self.misuse(thread, operation, "unlocked by a thread that does not hold it");
                }
                if readers.is_empty() {
                    self.refresh(object);
                }
                Effect::Goes(Reply::Go)
            }
            _ => self.not_usable(thread, object, operation),
        }
    }
}

/// Returns the reply to a thread that cannot take the lock.
fn refusal(operation: &Operation) -> Reply {
    if operation.kind.info().attempt { Reply::Busy } else { Reply::TimedOut }
}
