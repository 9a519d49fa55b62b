//! What a front end tells the machine before it announces an access, and asks it afterwards.

use super::{Latest, OldRead, is_sequential};
use crate::engine::Engine;
use crate::objects::Resource;
use crate::races::Tracker;
use crate::races::messages::Messages;
use crate::strategy::Strategy;
use raddle_model::{Access, Name, ObjectId, Operation, SEQUENTIAL_ORDER, ThreadId};

impl Engine {
    /// Returns true if accesses to atomics may read old values. Then a front end lets each of them pass through
    /// [`Engine::prepare_access`] before it announces it, and asks for the value read afterwards.
    #[inline]
    pub fn is_weak(&self) -> bool {
        self.races.is_weak
    }

    /// Prepares an access to an atomic under weak memory, which `thread` announces next. `held` is what the memory holds:
    /// the first value of the atomic, or the newest value as [`Engine::note_written`] returned it; any other value is
    /// taken as a write that happened before everything from now on, and that released what all threads knew. `expected` is
    /// what an exchange compares with.
    #[inline]
    pub fn prepare_access(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        held: u128,
        expected: Option<u128>,
    ) -> Operation {
        let Some(object) = operation.object() else { return operation };
        let operation = self.strengthen_here(operation);
        let messages = self.races.objects.get(object.index()).map(|shadow| &shadow.messages);
        if messages.and_then(Messages::newest).is_none_or(|newest| newest.value != held) {
            self.races.restart(object, held);
        }
        if let Some(expected) = expected {
            let all = &mut self.races.weak.expected;
            if all.len() <= thread.index() {
                all.resize(thread.index() + 1, 0);
            }
            all[thread.index()] = expected;
        }
        if operation.is_sequentially_consistent() {
            operation.on(self.order_object(), Access::Read)
        } else {
            operation
        }
    }

    /// Takes over the memory orders of the run that has just begun which are not those of the program.
    pub fn set_stronger_orders(&mut self, strategy: &dyn Strategy) {
        if self.races.is_weak {
            self.races.weak.stronger = strategy.stronger();
        }
    }

    /// Returns true if some accesses and fences of the run have other orders than in the program.
    #[inline]
    pub fn has_stronger_orders(&self) -> bool {
        !self.races.weak.stronger.is_empty()
    }

    /// Returns an access or fence at a location with this name in the order that it has in this run. A front end calls it if
    /// the names of its locations are not those of [`Engine::name_location`].
    #[must_use]
    pub fn strengthen(&self, operation: Operation, location: Name) -> Operation {
        let all = self.races.weak.stronger.iter().filter(|stronger| stronger.location == location);
        all.fold(operation, |operation, stronger| operation.strengthened(stronger.order))
    }

    /// Returns an access or fence in the order that it has in this run, by the engine's names of locations.
    #[inline]
    fn strengthen_here(&self, operation: Operation) -> Operation {
        if !self.has_stronger_orders() {
            return operation;
        }
        self.strengthen(operation, self.location_name(operation.location))
    }

    /// Prepares an atomic access to something else than exactly one atomic under weak memory: to a part of one, or to
    /// several. It reads the newest values, and counts as if it synchronized with every thread.
    pub fn prepare_mixed_access(&mut self, operation: Operation) -> Operation {
        if operation.touches[1].object().is_some() {
            return operation;
        }
        operation.on(self.order_object(), Access::Write)
    }

    /// Returns true if the memory of an atomic holds something else than `held` as far as the accesses of the run show.
    pub fn misses_write(&self, object: ObjectId, held: u128) -> bool {
        let shadow = self.races.objects.get(object.index());
        shadow.and_then(|shadow| shadow.messages.newest()).is_some_and(|newest| newest.value != held)
    }

    /// Takes note that `thread` has exchanged the newest value of an atomic for `held` without an announced access.
    pub fn note_unseen_write(&mut self, thread: ThreadId, object: ObjectId, held: u128) {
        let Tracker { objects, threads, weak, .. } = &mut self.races;
        let (messages, now) = (&mut objects[object.index()].messages, &mut threads[thread.index()].now);
        if let Some(newest) = messages.newest() {
            now.join(&newest.released);
        }
        messages.restart(held, now, &mut weak.slots);
    }

    /// Forgets the values of an atomic whose memory is released.
    pub fn forget_atomic(&mut self, object: ObjectId) {
        if self.races.has_messages(object) {
            self.races.forget_messages(object);
        }
    }

    /// Prepares a fence under weak memory, which a thread announces next.
    pub fn prepare_fence(&mut self, operation: Operation) -> Operation {
        let operation = self.strengthen_here(operation);
        if operation.memory_order().is_some_and(is_sequential) {
            operation.on(self.order_object(), Access::Write)
        } else {
            operation
        }
    }

    /// Lets `object`, which is no other one, stand for the order of sequentially consistent operations. Otherwise the engine
    /// adds one when it needs it.
    pub fn set_sequential_order(&mut self, object: ObjectId) {
        self.races.weak.order = Some(object);
    }

    /// Returns the object that stands for the order of sequentially consistent operations.
    fn order_object(&mut self) -> ObjectId {
        if let Some(object) = self.races.weak.order {
            return object;
        }
        let object = self.add_object(Name::of_text(SEQUENTIAL_ORDER), Resource::Memory);
        self.races.weak.order = Some(object);
        object
    }

    /// Returns the object that stands for the order of sequentially consistent operations in this run, if one had any. It is none of
    /// the program's.
    pub fn sequential_order(&self) -> Option<ObjectId> {
        self.races.weak.order
    }

    /// Returns the value that the atomic access executed last has read.
    pub fn read_value(&self) -> u128 {
        self.races.weak.latest.read
    }

    /// Returns what the atomic access executed last has missed, if it read an old value.
    pub fn old_read(&self) -> Option<OldRead> {
        let Latest { object: Some(object), is_old: true, .. } = self.races.weak.latest else { return None };
        let newest = self.races.objects[object.index()].messages.newest()?;
        Some(OldRead { newest: newest.value, written: newest.written })
    }

    /// Takes note of the value that the atomic access executed last writes, before its thread announces its next
    /// operation. Returns the newest value of the atomic, which the memory has to hold from now on; it is another one if the
    /// write went before others.
    pub fn note_written(&mut self, value: u128) -> u128 {
        let Latest { object: Some(object), written: Some(index), .. } = self.races.weak.latest else {
            return value;
        };
        let messages = &mut self.races.objects[object.index()].messages;
        messages.set(index, value);
        messages.newest().map_or(value, |newest| newest.value)
    }
}
