//! The hash of a program's state, for strategies that want to know whether they have been there before.

use crate::engine::Engine;
use raddle_model::{ObjectId, ThreadId, mix};

impl Engine {
    /// Tells a hash of what `thread` knows (where it stands, its locals), for [`Point::state`](crate::Point::state).
    #[inline]
    pub fn set_local(&mut self, thread: ThreadId, hash: u64) {
        if self.needs.state {
            self.told = true;
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

    /// Notes in the state hash that `thread` has come further inside the operation it announced, and why.
    pub(crate) fn advance_local(&mut self, thread: ThreadId) {
        if self.needs.state {
            let entry = self.threads.get(thread);
            self.change_local(thread, entry.local.wrapping_add(entry.wake as u64));
        }
    }

    /// Tells a hash of what `object` holds, for [`Point::state`](crate::Point::state).
    #[inline]
    pub fn set_value(&mut self, object: ObjectId, hash: u64) {
        if self.needs.state {
            self.told = true;
            let entry = self.objects.get_mut(object);
            let new = mix(!entry.name.0 ^ mix(hash));
            self.state = self.state.wrapping_sub(entry.value).wrapping_add(new);
            entry.value = new;
        }
    }

    /// See [`Point::state`](crate::Point::state).
    #[inline]
    pub(crate) fn state(&self) -> u64 {
        // A program that does the same after the same partial order is in the same state after it.
        if self.told { self.state } else { self.fingerprint }
    }

    /// Whether the strategy of this run wants [`Engine::set_local`] and [`Engine::set_value`] to be called.
    #[inline]
    pub fn wants_state(&self) -> bool {
        self.needs.state
    }
}
