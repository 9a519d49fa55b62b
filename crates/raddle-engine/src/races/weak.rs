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
//! Both choices are the strategy's ([`Strategy::pick_message`]); 0 is the newest message or the last place. There is no
//! choice, and nothing is drawn, where there is one answer.
//!
//! The machine has no outcome that the model forbids. Known departure: sequentially consistent accesses take effect in
//! the order of execution, so that outcomes of programs like Z6.U, which mix orders on one atomic, may be missed.
//!
//! Limits: after [`patience`](crate::Config::patience) old values in a row at one location in the code a thread reads
//! the newest, so that spin loops end; runs in which more old values are read are not explored. An atomic keeps 64
//! messages, and 256 atomics more than one; [`RunSummary::forgot_writes`](crate::RunSummary) tells whether a choice was
//! smaller for that.

use super::Tracker;
use super::clock::{Clock, View};
use super::history::Mark;
use super::messages::{Candidates, Message, Slots, Wants};
use crate::config::Config;
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::Strategy;
use crate::threads::{Status, Thread};
use raddle_model::{
    Access, Kind, MemoryModel, MemoryOrder, Name, ObjectId, Operation, Pick, SEQUENTIAL_ORDER, Stronger,
    ThreadId,
};

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
    /// Clocks that are not in use, for their memory.
    spare: Vec<Clock>,
}

/// The effect of the latest atomic access.
#[derive(Clone, Copy, Default, Debug)]
struct Latest {
    read: u128,
    /// The atomic and the number of the message that was written, whose value is not known yet.
    written: Option<(ObjectId, usize)>,
    old: Option<OldRead>,
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
            let Weak { sequential, slots, expected, spare, .. } = &mut *self.weak;
            sequential.clear();
            slots.clear();
            expected.clear();
            self.objects.iter_mut().for_each(|shadow| shadow.messages.clear(spare));
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
            self.weak.spare.push(all);
        }
    }

    /// Drops the messages of an object.
    fn forget_messages(&mut self, object: ObjectId) {
        let Tracker { objects, weak, .. } = self;
        objects[object.index()].messages.forget(&mut weak.slots, &mut weak.spare);
    }

    /// Returns the knowledge of all threads together.
    fn everything(&mut self) -> Clock {
        let mut all = self.weak.spare.pop().unwrap_or_default();
        all.clear();
        self.threads.iter().for_each(|clocks| all.join(&clocks.now));
        all
    }

    /// Makes `held` the only value of an atomic. If it had another one, or an access to a part of it was executed, the writer
    /// is not known: it counts as if it had released the knowledge of all threads.
    fn restart(&mut self, object: ObjectId, held: u128) {
        let messages = &self.objects[object.index()].messages;
        let is_unseen = messages.has_unseen_write || !messages.is_empty();
        let released = if is_unseen { self.everything() } else { Clock::default() };
        let Tracker { objects, weak, .. } = self;
        objects[object.index()].messages.restart(held, released, &mut weak.slots, &mut weak.spare);
    }

    /// Returns the messages that an access may read or follow, and notes if one is missing that was dropped.
    #[inline]
    fn candidates(&mut self, thread: ThreadId, object: ObjectId, wants: Wants, orders: Orders) -> Candidates {
        let messages = &self.objects[object.index()].messages;
        let Some(slot) = messages.slot else { return messages.candidates(wants, 0, 0) };
        let known = self.threads[thread.index()].now.view.of(slot);
        let weak = &mut *self.weak;
        let bound = |order| if is_sequential(order) { known.max(weak.sequential.of(slot)) } else { known };
        let (bound, failing) = (bound(orders.success), bound(orders.failure));
        weak.forgot |= messages.has_forgotten(bound.min(failing));
        messages.candidates(wants, bound, failing)
    }

    /// Lets `thread` read message number `index`. Returns its value.
    #[inline]
    fn read_message(&mut self, thread: ThreadId, object: ObjectId, index: usize, order: MemoryOrder) -> u128 {
        let clocks = &mut self.threads[thread.index()];
        let messages = &self.objects[object.index()].messages;
        let message = messages.at(index);
        if !message.is_known(&clocks.now) {
            let taken = if order.acquires() { &mut clocks.now } else { &mut clocks.acquirable };
            taken.join(&message.released);
        }
        if let Some(slot) = messages.slot {
            clocks.now.view.raise(slot, messages.stamp(index));
        }
        message.value
    }

    /// Lets `thread` put a message behind number `index`, which it has read if `reads`.
    #[inline]
    fn write_message(
        &mut self,
        (thread, object, step): (ThreadId, ObjectId, u32),
        index: usize,
        order: MemoryOrder,
        reads: bool,
    ) {
        let clocks = &mut self.threads[thread.index()];
        let messages = &mut self.objects[object.index()].messages;
        let weak = &mut *self.weak;
        let own = if order.releases() { &clocks.now } else { &clocks.fenced };
        // An acquiring thread has joined what it read.
        let joins_all = reads && order.acquires() && order.releases();
        let passed_on = if reads && !joins_all { Some(&messages.at(index).released) } else { None };
        let passed_on = passed_on.filter(|released| !released.is_empty());
        let released = if own.is_empty() && passed_on.is_none() {
            Clock::default()
        } else {
            let mut released = weak.spare.pop().unwrap_or_default();
            released.set(own);
            passed_on.into_iter().for_each(|passed_on| released.join(passed_on));
            released
        };
        let knows_all = passed_on.is_none() || order.acquires();
        let count = if knows_all { clocks.now.of(thread) } else { u32::MAX };
        let message = Message { value: 0, released, written: Some((thread, step)), count };
        let stamp = messages.insert(index, message, reads, &mut weak.slots);
        if let Some(slot) = messages.slot {
            clocks.now.view.raise(slot, stamp);
            if is_sequential(order) {
                weak.sequential.raise(slot, stamp);
            }
        }
    }

    /// Executes a sequentially consistent fence, except for acquiring and releasing.
    pub(super) fn fence_sequentially(&mut self, thread: ThreadId) {
        let view = &mut self.threads[thread.index()].now.view;
        view.join(&self.weak.sequential);
        self.weak.sequential.set(view);
    }

    /// Returns true if `thread` has read so many old values in a row where `operation` stands that it is to read the
    /// newest one.
    fn is_tired(&self, thread: ThreadId, operation: &Operation, patience: u32) -> bool {
        let reads = &self.threads[thread.index()].old_reads;
        reads.iter().any(|&(location, count)| location == operation.location && count >= patience)
    }

    fn count_old_reads(&mut self, thread: ThreadId, operation: &Operation, is_old: bool) {
        let reads = &mut self.threads[thread.index()].old_reads;
        match reads.iter().position(|&(location, _)| location == operation.location) {
            Some(index) if is_old => reads[index].1 += 1,
            Some(index) => _ = reads.swap_remove(index),
            None if is_old => reads.push((operation.location, 1)),
            None => {}
        }
    }
}

/// The order of an access, and that of an exchange that only reads.
#[derive(Clone, Copy)]
struct Orders {
    success: MemoryOrder,
    failure: MemoryOrder,
}

fn is_sequential(order: MemoryOrder) -> bool {
    order == MemoryOrder::SequentiallyConsistent
}

/// The access that a front end is about to announce, and what the memory holds.
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
    pub fn prepare_access(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        held: u128,
        expected: Option<u128>,
    ) -> Operation {
        let Some(object) = operation.object() else { return operation };
        let operation = self.strengthen_here(operation);
        self.races.make_room(thread);
        let (_, shadow) = self.races.parts(thread, object);
        if shadow.messages.newest().is_none_or(|newest| newest.value != held) {
            self.races.restart(object, held);
        }
        if let Some(expected) = expected {
            let all = &mut self.races.weak.expected;
            if all.len() <= thread.index() {
                all.resize(thread.index() + 1, 0);
            }
            all[thread.index()] = expected;
        }
        let sequential = [operation.memory_order(), operation.failure_order()];
        if sequential.contains(&Some(MemoryOrder::SequentiallyConsistent)) {
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
        let mut released = weak.spare.pop().unwrap_or_default();
        released.set(now);
        messages.restart(held, released, &mut weak.slots, &mut weak.spare);
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
        self.races.weak.latest.old
    }

    /// Takes note of the value that the atomic access executed last writes, before its thread announces its next
    /// operation. Returns the newest value of the atomic, which the memory has to hold from now on; it is another one if the
    /// write went before others.
    pub fn note_written(&mut self, value: u128) -> u128 {
        let Some((object, index)) = self.races.weak.latest.written else { return value };
        let messages = &mut self.races.objects[object.index()].messages;
        messages.set(index, value);
        messages.newest().map_or(value, |newest| newest.value)
    }

    /// Executes an access to an atomic whose messages are known.
    pub(super) fn access_weakly(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Option<Reply> {
        let object = operation.object()?;
        let success = operation.memory_order()?;
        let failure = operation.failure_order();
        let wants = match (operation.kind.reads_memory(), operation.kind.writes_memory()) {
            (false, _) => Wants::Write,
            (true, false) => Wants::Read,
            (true, true) if failure.is_none() => Wants::Update,
            (true, true) => Wants::Exchange(self.races.weak.expected[thread.index()]),
        };
        let orders = Orders { success, failure: failure.unwrap_or(success) };
        let candidates = self.races.candidates(thread, object, wants, orders);
        let index = if candidates.count == 1 {
            self.races.objects[object.index()].messages.len() - 1
        } else {
            let choice = self.choose_message(thread, operation, (wants, candidates.count), strategy);
            self.races.objects[object.index()].messages.nth(&candidates, choice)
        };
        let mut latest = Latest::default();
        let mut writes = wants != Wants::Read;
        if wants != Wants::Write {
            let messages = &self.races.objects[object.index()].messages;
            let newest = messages.newest()?;
            let is_old = index + 1 != messages.len();
            latest.old = is_old.then_some(OldRead { newest: newest.value, written: newest.written });
            if let Wants::Exchange(expected) = wants {
                writes = messages.at(index).value == expected;
            }
            let order = if wants == Wants::Read || writes { orders.success } else { orders.failure };
            latest.read = self.races.read_message(thread, object, index, order);
            self.races.count_old_reads(thread, operation, is_old);
        }
        let step = self.trace.events.len() as u32 - 1;
        if writes {
            let by = (thread, object, step);
            self.races.write_message(by, index, orders.success, wants != Wants::Write);
            let mut index = index + 1;
            if self.races.objects[object.index()].messages.is_long() {
                // It may have been dropped itself, if it went before the ones that are kept.
                let dropped = self.drop_unread_messages(object);
                index = index.checked_sub(dropped).unwrap_or(usize::MAX);
            }
            latest.written = Some((object, index));
        }
        self.races.weak.latest = latest;
        let order = if writes || failure.is_none() { orders.success } else { orders.failure };
        let access = if writes { Access::Write } else { Access::Read };
        let mark = Mark { thread, count: 0, step, location: operation.location, order };
        self.note_atomic(object, access, mark)
    }

    /// Executes `operation`, the next one of `thread`, which was resumed, if the strategy lets the thread run on and this is
    /// an atomic access under weak memory. If it returns false, the operation has to be announced.
    pub fn run_on_weakly(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        strategy: &mut dyn Strategy,
    ) -> bool {
        if !self.runs_on() || !self.races.is_weak_access(&operation) || self.races.may_race(&operation) {
            return false;
        }
        if !self.run_on_with(thread, operation) {
            return false;
        }
        self.races.tick(thread);
        self.access_weakly(thread, &operation, strategy);
        true
    }

    /// Returns which of several candidates an access takes.
    fn choose_message(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        (wants, arity): (Wants, u32),
        strategy: &mut dyn Strategy,
    ) -> u32 {
        let patience =
            if self.config.patience > 0 { self.config.patience } else { Config::default().patience };
        if wants != Wants::Write && self.races.is_tired(thread, operation, patience) {
            return 0;
        }
        let value = strategy.pick_message(arity);
        assert!(value < arity, "a strategy picked message {value} of {arity}");
        let step = self.trace.events.len() as u32 - 1;
        self.trace.picks.push(Pick { step, arity, value });
        self.print_outcome(thread, u64::from(value));
        value
    }

    /// Adds the choice that the latest step of `thread` made among messages in the recorded run, where an engine without them
    /// repeats it.
    pub fn repeat_message_choice(&mut self, thread: ThreadId, arity: u32, value: u32) {
        let step = self.trace.events.len() as u32 - 1;
        self.trace.picks.push(Pick { step, arity, value });
        self.print_outcome(thread, u64::from(value));
    }

    /// Drops the messages of an atomic that no thread can read any more; returns their number.
    #[cold]
    fn drop_unread_messages(&mut self, object: ObjectId) -> usize {
        let slot = self.races.objects[object.index()].messages.slot;
        let known = |(id, thread): (ThreadId, &Thread)| match slot {
            Some(slot) if thread.status != Status::Done => Some(self.known_stamp(id, thread, slot)),
            _ => None,
        };
        let floor = self.threads.iter().filter_map(known).min().unwrap_or(u64::MAX);
        let Tracker { objects, weak, .. } = &mut self.races;
        let messages = &mut objects[object.index()].messages;
        let (dropped, is_complete) = messages.drop_unread(floor, &mut weak.slots, &mut weak.spare);
        weak.forgot |= !is_complete;
        dropped
    }

    /// Returns the stamp of the latest write that `thread` knows, or will know before it does anything.
    fn known_stamp(&self, id: ThreadId, thread: &Thread, slot: usize) -> u64 {
        let of =
            |id: ThreadId| self.races.threads.get(id.index()).map_or(0, |clocks| clocks.now.view.of(slot));
        let waits = thread.status == Status::Pending
            && thread.operation.kind == Kind::Join
            && thread.operation.argument == Operation::UNTIMED;
        let target = thread.operation.object().filter(|_| waits);
        match target.map(|object| &self.objects.get(object).resource) {
            Some(Resource::Thread(target)) => of(id).max(of(*target)),
            _ => of(id),
        }
    }

    /// Returns true if a choice of this run was smaller because messages had been dropped that could have been read.
    pub(crate) fn forgot_writes(&self) -> bool {
        self.races.weak.forgot
    }
}
