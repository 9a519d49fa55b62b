//! The hash of a program's state, for strategies that detect states they have visited.

use crate::engine::Engine;
use crate::objects::Resource;
use raddle_model::{ObjectId, Operation, ThreadId, mix};

impl Engine {
    /// Sets the hash of the state of `thread` (its position and locals), for
    /// [`Point::state`](crate::Point::state). No effect under weak memory, whose state includes old values.
    #[inline]
    pub fn set_local(&mut self, thread: ThreadId, hash: u64) {
        if self.needs.state && !self.is_weak() {
            self.has_state = true;
            self.change_local(thread, hash);
        }
    }

    #[inline(never)] // Keeps the path of strategies that do not ask for it short.
    fn change_local(&mut self, thread: ThreadId, hash: u64) {
        let entry = self.threads.get_mut(thread);
        let new = mix(entry.name.0 ^ mix(hash));
        self.state = self.state.wrapping_sub(entry.local).wrapping_add(new);
        entry.local = new;
    }

    /// Records in the state hash that `thread` has advanced inside its announced operation, and why.
    pub(crate) fn advance_local(&mut self, thread: ThreadId) {
        if self.has_state {
            let entry = self.threads.get(thread);
            self.change_local(thread, entry.local.wrapping_add(entry.wake as u64));
        }
    }

    /// Sets the hash of the content of `object`, for [`Point::state`](crate::Point::state).
    #[inline]
    pub fn set_value(&mut self, object: ObjectId, hash: u64) {
        if self.needs.state && !self.is_weak() {
            self.has_state = true;
            self.change_value(object, hash);
        }
    }

    fn change_value(&mut self, object: ObjectId, hash: u64) {
        let entry = self.objects.get_mut(object);
        let new = mix(!entry.name.0 ^ mix(hash));
        self.state = self.state.wrapping_sub(entry.value).wrapping_add(new);
        entry.value = new;
    }

    /// Records in the state hash the content of the objects of an executed operation, as far as the engine
    /// keeps it: it need not follow from the positions of the threads.
    #[cold]
    pub(crate) fn note_objects(&mut self, operation: &Operation) {
        for (object, _) in operation.objects() {
            if let Some(hash) = self.held(object) {
                self.change_value(object, hash);
            }
        }
    }

    fn held(&self, object: ObjectId) -> Option<u64> {
        let name = |thread: &ThreadId| self.threads.name(*thread).0;
        let owner = |thread: &Option<ThreadId>| thread.as_ref().map_or(0, |thread| name(thread) | 1);
        let set = |threads: &[ThreadId]| threads.iter().fold(0_u64, |sum, t| sum.wrapping_add(mix(name(t))));
        Some(match &self.objects.get(object).resource {
            Resource::Memory | Resource::Thread(_) => return None,
            Resource::Mutex { owner: by, depth, .. } => mix(owner(by)) ^ u64::from(*depth),
            Resource::ReadWriteLock { writer, readers } => mix(owner(writer)) ^ set(readers),
            Resource::Condition { waiters } => {
                waiters.iter().fold(0, |hash, thread| mix(hash ^ name(thread)))
            }
            Resource::Semaphore { value } => *value,
            Resource::Barrier { arrived, .. } => set(arrived),
            Resource::Once { runner, done, abandoned } => {
                mix(owner(runner)) ^ u64::from(*done) ^ u64::from(*abandoned) << 1
            }
            Resource::Channel { queued, received, senders, receiver, waiting, .. } => {
                let flags = u64::from(*receiver) ^ u64::from(*waiting) << 1;
                [*received, *senders, flags].iter().fold(*queued, |hash, part| mix(hash) ^ part)
            }
            Resource::Destroyed => 1,
            Resource::Token { available: flag } | Resource::Mailbox { news: flag } => u64::from(*flag),
        })
    }

    /// Returns [`Point::state`](crate::Point::state).
    #[inline]
    pub(crate) fn state(&self) -> u64 {
        // A program that behaves the same after the same partial order is in the same state after it.
        if self.has_state { self.state } else { self.fingerprint }
    }

    /// Returns true if the strategy of this run wants [`Engine::set_local`] and [`Engine::set_value`] to be
    /// called.
    #[inline]
    pub fn wants_state(&self) -> bool {
        self.needs.state
    }
}
