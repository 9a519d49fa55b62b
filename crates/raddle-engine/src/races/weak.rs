//! Weak memory: which write an atomic access reads, and where in modification order a write goes.
//!
//! The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing Sequential Consistency in C/C++11", PLDI 2017),
//! without load buffering and with the release sequence of C++20. Each atomic has a list of messages in modification
//! order. A thread has three views of them, which are parts of its three clocks, so that whatever passes happens-before
//! also passes knowledge of writes:
//!
//! * A load may read any message that is not before the one its thread knows. An acquiring load takes over what the
//!   message released, another one keeps that for an acquire fence.
//! * A store goes behind any message that is not before the one its thread knows, but never between a message and the
//!   read-modify-write that read it. It releases what the thread knows, or knew at its last release fence.
//! * A read-modify-write reads a message that no other one has read and goes directly behind it; it also releases what
//!   that message released.
//! * A sequentially consistent access is bounded by one more view, that of the sequentially consistent writes so far; a
//!   sequentially consistent fence joins it and the view of its thread.
//!
//! Both choices are the strategy's ([`Strategy::pick_message`](crate::Strategy::pick_message)); 0 is the newest message or
//! the last place. There is no choice, and nothing is drawn, where there is one answer.
//!
//! The machine has no outcome that the model forbids. Known departure: sequentially consistent accesses take effect in
//! the order of execution, so that outcomes of programs like Z6.U, which mix orders on one atomic, may be missed.
//!
//! Limits: after [`patience`](crate::Config::patience) old values in a row at one location in the code a thread reads
//! the newest, so that spin loops end; runs in which more old values are read are not explored. An atomic keeps 64
//! messages, and 256 atomics more than one; [`RunSummary::forgot_writes`](crate::RunSummary) tells whether a choice was
//! smaller for that.

mod access;
mod preparation;

use super::Tracker;
use super::clock::{Clock, View};
use super::messages::Slots;
use raddle_model::{MemoryModel, MemoryOrder, ObjectId, Operation, Stronger, ThreadId};

/// The state of all atomics of a run.
#[derive(Default, Debug)]
pub(super) struct Weak {
    /// The object that stands for the order of sequentially consistent operations: fences write it, accesses read it.
    order: Option<ObjectId>,
    /// The sequentially consistent writes so far.
    pub(super) sequential: View,
    slots: Slots,
    /// Per thread: the value that its next exchange expects.
    expected: Vec<u128>,
    latest: Latest,
    forgot: bool,
    /// The orders that are not those of the program.
    stronger: Vec<Stronger>,
    /// Not in use; keeps its memory.
    scratch: Clock,
}

/// The effect of the latest atomic access.
#[derive(Clone, Copy, Default, Debug)]
struct Latest {
    read: u128,
    /// The number of the message that was written, whose value is not known yet; none if nothing was written.
    written: Option<usize>,
    object: Option<ObjectId>,
    is_old: bool,
}

/// An old value that an access has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OldRead {
    /// The newest value.
    pub newest: u128,
    /// The thread that wrote the newest value and the event in which it did; none for the first value of an atomic.
    pub written: Option<(ThreadId, u32)>,
}

impl Tracker {
    /// Forgets the previous run.
    pub(super) fn begin_weak(&mut self, model: MemoryModel) {
        if self.is_weak {
            let Weak { sequential, slots, expected, .. } = &mut *self.weak;
            sequential.clear();
            slots.clear();
            expected.clear();
            self.objects.iter_mut().for_each(|shadow| shadow.messages.clear());
            (self.weak.order, self.weak.latest, self.weak.forgot) = (None, Latest::default(), false);
        }
        self.is_weak = model == MemoryModel::Weak;
        self.on |= self.is_weak;
    }

    /// Returns true if `operation` is an access to an atomic whose messages are known.
    #[inline]
    pub(super) fn is_weak_access(&self, operation: &Operation) -> bool {
        self.is_weak
            && operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain)
            && !self.is_mixed(operation)
            && operation.object().is_some_and(|object| self.has_messages(object))
    }

    /// Returns true if an atomic access to an object can complete a race.
    #[inline]
    fn may_race(&self, operation: &Operation) -> bool {
        operation.object().is_some_and(|object| self.objects[object.index()].history.has_plain())
    }

    fn has_messages(&self, object: ObjectId) -> bool {
        self.objects.get(object.index()).is_some_and(|shadow| !shadow.messages.is_empty())
    }

    /// Returns true if an access does not touch exactly one atomic, see [`Engine::prepare_mixed_access`].
    fn is_mixed(&self, operation: &Operation) -> bool {
        let second = operation.touches[1];
        second.object().is_some_and(|object| Some(object) != self.weak.order || second.writes())
    }

    /// Drops the messages of the objects of an access that is not a weak one: a plain write, or an atomic access to parts of
    /// several atomics. The latter counts as if it synchronized with every thread, because what it reads has no message.
    pub(super) fn flatten(&mut self, thread: ThreadId, operation: &Operation) {
        let is_atomic = operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain);
        let is_plain_write = !is_atomic && operation.kind.writes_memory();
        if !(is_plain_write || is_atomic && self.is_mixed(operation)) {
            return;
        }
        let known = operation.touches.iter().filter_map(|touch| touch.object());
        let known: [Option<ObjectId>; 2] = {
            let mut known = known.filter(|&object| self.has_messages(object));
            [known.next(), known.next()]
        };
        for object in known.into_iter().flatten() {
            self.forget_messages(object);
            self.objects[object.index()].messages.has_unseen_write = is_atomic;
        }
        if is_atomic {
            let all = self.everything();
            self.threads[thread.index()].now.join(&all);
            self.weak.scratch = all;
        }
    }

    /// Drops the messages of an object.
    fn forget_messages(&mut self, object: ObjectId) {
        let Tracker { objects, weak, .. } = self;
        objects[object.index()].messages.forget(&mut weak.slots);
    }

    /// Returns the knowledge of all threads together.
    fn everything(&mut self) -> Clock {
        let mut all = std::mem::take(&mut self.weak.scratch);
        all.clear();
        self.threads.iter().for_each(|clocks| all.join(&clocks.now));
        all
    }

    /// Makes `held` the only value of an atomic. If it had another one, or an access to a part of it was executed, the writer
    /// is not known: it counts as if it had released the knowledge of all threads.
    #[cold]
    fn restart(&mut self, object: ObjectId, held: u128) {
        self.make_room_for(object);
        let messages = &self.objects[object.index()].messages;
        let is_unseen = messages.has_unseen_write || !messages.is_empty();
        let released = if is_unseen { self.everything() } else { Clock::default() };
        let Tracker { objects, weak, .. } = self;
        objects[object.index()].messages.restart(held, &released, &mut weak.slots);
        if is_unseen {
            weak.scratch = released;
        }
    }

    /// Executes a sequentially consistent fence, except for acquiring and releasing.
    pub(super) fn fence_sequentially(&mut self, thread: ThreadId) {
        let view = &mut self.threads[thread.index()].now.view;
        view.join(&self.weak.sequential);
        self.weak.sequential.set(view);
    }
}

fn is_sequential(order: MemoryOrder) -> bool {
    order == MemoryOrder::SequentiallyConsistent
}
