//! The execution of an atomic access: what it may read or follow, the choice, and its effect on views.

use super::is_sequential;
use crate::config::Config;
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::races::clock::{ThreadClocks, View};
use crate::races::history::Mark;
use crate::races::messages::{Candidates, Messages, Slots, Wants};
use crate::races::{Races, Tracker};
use crate::strategy::Strategy;
use crate::threads::{Status, Thread};
use raddle_model::{Access, Kind, MemoryOrder, ObjectId, Operation, Pick, ThreadId};

/// The order of an access, and that of an exchange that only reads.
#[derive(Clone, Copy)]
struct Orders {
    success: MemoryOrder,
    failure: MemoryOrder,
}

/// Returns the messages that an access of a thread with these clocks may read or follow, and true if another one is missing
/// that was dropped; `None` if it is the newest only.
#[inline]
fn candidates(
    messages: &Messages,
    clocks: &ThreadClocks,
    sequential: &View,
    wants: Wants,
    orders: Orders,
) -> Option<(Candidates, bool)> {
    let (slot, newest) = (messages.slot?, messages.newest()?);
    let known = clocks.now.view.of(slot);
    let bound = |order| if is_sequential(order) { known.max(sequential.of(slot)) } else { known };
    let (first, failing) = (bound(orders.success), bound(orders.failure));
    let least = first.min(failing);
    (newest.stamp > least)
        .then(|| (messages.candidates(wants, first, failing), messages.has_forgotten(least)))
}

/// Lets a thread with these clocks read message number `index`. Returns its value.
#[inline]
fn read(messages: &Messages, clocks: &mut ThreadClocks, index: usize, order: MemoryOrder) -> u128 {
    let message = messages.at(index);
    if !message.is_known(&clocks.now) {
        let taken = if order.acquires() { &mut clocks.now } else { &mut clocks.acquirable };
        taken.join(&message.released);
    }
    if let Some(slot) = messages.slot {
        clocks.now.view.raise(slot, message.stamp);
    }
    message.value
}

/// Lets a thread with these clocks put a message behind number `index`, which it has read if `reads`.
#[inline]
fn write(
    (messages, clocks): (&mut Messages, &mut ThreadClocks),
    (sequential, slots): (&mut View, &mut Slots),
    (thread, step): (ThreadId, u32),
    index: usize,
    order: MemoryOrder,
    reads: bool,
) {
    let (before, message) = messages.insert(index, reads, slots);
    message.released.set(if order.releases() { &clocks.now } else { &clocks.fenced });
    // An acquiring thread has joined what it read.
    let joins_all = order.acquires() && order.releases();
    let passes_on = reads && !joins_all && !before.released.is_empty();
    if passes_on {
        message.released.join(&before.released);
    }
    let knows_all = !passes_on || order.acquires();
    message.count = if knows_all { clocks.now.of(thread) } else { u32::MAX };
    (message.value, message.written) = (0, Some((thread, step)));
    let stamp = message.stamp;
    if let Some(slot) = messages.slot {
        clocks.now.view.raise(slot, stamp);
        if is_sequential(order) {
            sequential.raise(slot, stamp);
        }
    }
}

impl Tracker {
    /// Returns true if `thread` has read so many old values in a row where `operation` stands that it is to read the
    /// newest one.
    fn is_tired(&self, thread: ThreadId, operation: &Operation, patience: u32) -> bool {
        let reads = &self.threads[thread.index()].old_reads;
        reads.iter().any(|&(location, count)| location == operation.location && count >= patience)
    }
}

/// Counts a read of a value at the location of `operation`.
#[inline]
fn count_old_reads(clocks: &mut ThreadClocks, operation: &Operation, is_old: bool) {
    let reads = &mut clocks.old_reads;
    if reads.is_empty() && !is_old {
        return;
    }
    match reads.iter().position(|&(location, _)| location == operation.location) {
        Some(index) if is_old => reads[index].1 += 1,
        Some(index) => _ = reads.swap_remove(index),
        None if is_old => reads.push((operation.location, 1)),
        None => {}
    }
}

impl Engine {
    /// Executes an access to an atomic whose messages are known.
    pub(in crate::races) fn access_weakly(
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
        let Tracker { objects, threads, weak, .. } = &mut self.races;
        let messages = &objects[object.index()].messages;
        let found = candidates(messages, &threads[thread.index()], &weak.sequential, wants, orders);
        let mut chosen = None;
        if let Some((candidates, has_forgotten)) = found {
            weak.forgot |= has_forgotten;
            if candidates.count > 1 {
                let number = self.choose_message(thread, operation, (wants, candidates.count), strategy);
                chosen = Some((candidates, number));
            }
        }
        let step = self.trace.events.len() as u32 - 1;
        let Tracker { objects, threads, weak, .. } = &mut self.races;
        let (shadow, clocks) = (&mut objects[object.index()], &mut threads[thread.index()]);
        let messages = &mut shadow.messages;
        let newest = messages.all().len() - 1;
        let index = chosen.map_or(newest, |(candidates, number)| messages.nth(wants, &candidates, number));
        let mut writes = wants != Wants::Read;
        weak.latest.object = Some(object);
        weak.latest.is_old = false;
        if wants != Wants::Write {
            if let Wants::Exchange(expected) = wants {
                writes = messages.at(index).value == expected;
            }
            let order = if wants == Wants::Read || writes { orders.success } else { orders.failure };
            weak.latest.read = read(messages, clocks, index, order);
            weak.latest.is_old = index != newest;
            count_old_reads(clocks, operation, index != newest);
        }
        let mut order = orders.failure;
        weak.latest.written = None;
        let mut is_long = false;
        if writes {
            order = orders.success;
            let shared = (&mut weak.sequential, &mut weak.slots);
            write((messages, clocks), shared, (thread, step), index, order, wants != Wants::Write);
            weak.latest.written = Some(index + 1);
            is_long = messages.is_long();
        }
        let mut reply = Some(Reply::Go);
        if self.config.races != Races::Ignored {
            let count = clocks.now.of(thread);
            let mark = Mark { thread, count, step, location: operation.location, order };
            if !shadow.history.add_to_atomics(mark, writes) {
                let access = if writes { Access::Write } else { Access::Read };
                reply = self.note_atomic(object, access, mark);
            }
        }
        if is_long {
            self.shorten(object);
        }
        reply
    }

    /// Drops the messages of an atomic, which has just been written, that no thread can read any more.
    #[cold]
    fn shorten(&mut self, object: ObjectId) {
        let dropped = self.drop_unread_messages(object);
        let written = &mut self.races.weak.latest.written;
        // It may have been dropped itself, if it went before the ones that are kept.
        *written = written.map(|index| index.checked_sub(dropped).unwrap_or(usize::MAX));
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
        let (dropped, is_complete) = messages.drop_unread(floor, &mut weak.slots);
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
