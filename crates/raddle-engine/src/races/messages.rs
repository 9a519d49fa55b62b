//! The writes to one atomic that threads may still read, in modification order.

use super::clock::Clock;
use raddle_model::ThreadId;

/// The distance of a new last message from the one before it. Messages that are put between two others halve it.
const GAP: u64 = 1 << 32;
/// The greatest number of messages of one atomic.
const MOST: usize = 64;
/// The number of messages of an atomic above which unreadable ones are searched for.
const FIRST_LIMIT: usize = 16;

/// One write to an atomic.
#[derive(Default, Debug)]
pub(super) struct Message {
    pub(super) value: u128,
    /// Its place in modification order.
    pub(super) stamp: u64,
    /// The clock that an acquiring reader joins. It does not name the message itself, which every reader knows anyway.
    pub(super) released: Clock,
    /// Who wrote it, and in which event; none for the first value.
    pub(super) written: Option<(ThreadId, u32)>,
    /// The number of events of the writer up to this one, if everything in `released` happened before it: a thread that knows
    /// that many of its events knows all of that. Otherwise the greatest number.
    pub(super) count: u32,
}

impl Message {
    /// Returns true if `clock` contains everything that the message released, as far as can be seen at once.
    #[inline]
    pub(super) fn is_known(&self, clock: &Clock) -> bool {
        self.released.is_empty() || self.written.is_some_and(|(writer, _)| clock.of(writer) >= self.count)
    }
}

/// The request of an access to the messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wants {
    /// To read one.
    Read,
    /// To put one behind another.
    Write,
    /// To read one and put another directly behind it.
    Update,
    /// The same if it finds this value, and otherwise only to read.
    Exchange(u128),
}

/// The messages of one atomic. Without any, its values are not known.
#[derive(Default, Debug)]
pub(super) struct Messages {
    /// The messages are the first `len`, by strictly increasing stamps; the others keep the memory of their clocks.
    list: Vec<Message>,
    len: usize,
    /// A bit for each message behind which nothing can be put: a read-modify-write has read it and directly follows it, or no
    /// stamp is left between it and the next.
    blocked: u128,
    /// The index of the atomic in views. `None` while it has one message, which every thread reads.
    pub(super) slot: Option<usize>,
    /// The number of messages at which unreadable ones are searched for next.
    limit: usize,
    /// The greatest stamp of a message that was dropped although a thread could read it.
    forgotten: u64,
    /// True if there are no messages because of a write whose value is not known.
    pub(super) has_unseen_write: bool,
}

/// The messages that an access may read, or put its own behind; the newest is always one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidates {
    /// The number of the first message that is not before what the thread knows.
    first: usize,
    /// The same for an exchange that only reads.
    failing: usize,
    /// The number of candidates; at least 1.
    pub(super) count: u32,
}

/// A free place in views, and which stamps were used there.
#[derive(Default, Debug)]
pub(super) struct Slots {
    /// Per slot: the greatest stamp that a view may have in it. A new owner uses greater ones, so that what views know
    /// of earlier owners says nothing about it.
    last: Vec<u64>,
    free: Vec<usize>,
}

impl Slots {
    /// The maximum number of atomics with several messages at the same time.
    const MOST: usize = 256;

    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.free.clear();
    }

    fn take(&mut self) -> Option<usize> {
        self.free.pop().or_else(|| {
            (self.last.len() < Slots::MOST).then(|| {
                self.last.push(0);
                self.last.len() - 1
            })
        })
    }

    fn give_back(&mut self, slot: usize, last: u64) {
        self.last[slot] = last;
        self.free.push(slot);
    }
}

impl Messages {
    pub(super) fn clear(&mut self) {
        (self.len, self.slot, self.limit, self.forgotten, self.blocked) = (0, None, 0, 0, 0);
        self.has_unseen_write = false;
    }

    /// Drops all messages.
    pub(super) fn forget(&mut self, slots: &mut Slots) {
        if let (Some(slot), Some(last)) = (self.slot, self.newest()) {
            slots.give_back(slot, last.stamp);
        }
        self.clear();
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the messages in modification order.
    #[inline]
    pub(super) fn all(&self) -> &[Message] {
        &self.list[..self.len]
    }

    #[inline]
    pub(super) fn newest(&self) -> Option<&Message> {
        self.all().last()
    }

    #[inline]
    pub(super) fn at(&self, index: usize) -> &Message {
        &self.all()[index]
    }

    /// Makes `value` the only message, as a write that every thread knows, and that released this.
    pub(super) fn restart(&mut self, value: u128, released: &Clock, slots: &mut Slots) {
        self.forget(slots);
        self.limit = FIRST_LIMIT;
        let first = self.room_for_one();
        (first.value, first.stamp, first.written, first.count) = (value, GAP, None, 0);
        first.released.set(released);
        self.len = 1;
    }

    /// Returns the unused message behind the last one.
    #[inline]
    fn room_for_one(&mut self) -> &mut Message {
        if self.list.len() == self.len {
            self.list.push(Message::default());
        }
        &mut self.list[self.len]
    }

    /// Returns true if a message was dropped that a thread without knowledge before `bound` could have read.
    #[inline]
    pub(super) fn has_forgotten(&self, bound: u64) -> bool {
        bound <= self.forgotten && self.forgotten > 0
    }

    /// Returns the messages that an access may read, or put its own behind. `bound` is the stamp before which it cannot go, and
    /// `failing` the same for an exchange that only reads.
    pub(super) fn candidates(&self, wants: Wants, bound: u64, failing: u64) -> Candidates {
        let newest = self.len - 1;
        // The newest is always known to be there.
        let first = |bound| self.all()[..newest].partition_point(|message| message.stamp < bound);
        let (first, failing) = (first(bound), if failing == bound { first(bound) } else { first(failing) });
        let mut found = Candidates { first, failing, count: 1 };
        found.count = match wants {
            Wants::Read => (newest + 1 - first) as u32,
            Wants::Write | Wants::Update => self.free(first).count_ones(),
            Wants::Exchange(_) => {
                (first.min(failing)..=newest).filter(|&index| self.fits(wants, &found, index)).count() as u32
            }
        };
        found
    }

    /// Returns a bit for each message from number `first` on behind which another one can be put.
    fn free(&self, first: usize) -> u128 {
        let all = u128::MAX >> (u128::BITS as usize - self.len);
        !self.blocked & all & (u128::MAX << first)
    }

    /// Returns the number of a candidate; 0 is the newest.
    #[inline]
    pub(super) fn nth(&self, wants: Wants, candidates: &Candidates, number: u32) -> usize {
        let newest = self.len - 1;
        if number == 0 {
            return newest;
        }
        match wants {
            Wants::Read => newest - number as usize,
            Wants::Write | Wants::Update => {
                let mut free = self.free(candidates.first);
                (0..number).for_each(|_| free ^= 1 << free.ilog2());
                free.ilog2() as usize
            }
            Wants::Exchange(_) => {
                let fitting = (0..=newest).rev().filter(|&index| self.fits(wants, candidates, index));
                fitting.take(number as usize + 1).last().unwrap_or(newest)
            }
        }
    }

    /// Returns true if an exchange may read message number `index`.
    fn fits(&self, wants: Wants, candidates: &Candidates, index: usize) -> bool {
        if wants == Wants::Exchange(self.at(index).value) {
            index >= candidates.first && self.blocked >> index & 1 == 0
        } else {
            index >= candidates.failing
        }
    }

    /// Puts a message directly behind number `index`, glued to it if `glue`. Returns both.
    #[inline]
    pub(super) fn insert(&mut self, index: usize, glue: bool, slots: &mut Slots) -> (&Message, &mut Message) {
        if self.slot.is_none() {
            self.slot = slots.take();
            if let (Some(slot), [only, ..]) = (self.slot, &mut *self.list) {
                only.stamp = slots.last[slot] + GAP;
            }
        }
        let before = self.at(index).stamp;
        self.room_for_one();
        let stamp = if index + 1 == self.len {
            self.blocked |= u128::from(glue) << index;
            before + GAP
        } else {
            let next = self.at(index + 1).stamp;
            let stamp = before + (next - before) / 2;
            let (low, high) = (self.blocked & ((1 << index) - 1), self.blocked >> (index + 1));
            let is_blocked = [glue || stamp - before <= 1, next - stamp <= 1].map(u128::from);
            self.blocked = low | is_blocked[0] << index | is_blocked[1] << (index + 1) | high << (index + 2);
            self.list[index + 1..=self.len].rotate_right(1);
            stamp
        };
        self.len += 1;
        let (before, behind) = self.list.split_at_mut(index + 1);
        behind[0].stamp = stamp;
        (&before[index], &mut behind[0])
    }

    /// Sets the value of message number `index`, if there is one.
    #[inline]
    pub(super) fn set(&mut self, index: usize, value: u128) {
        if let Some(message) = self.list[..self.len].get_mut(index) {
            message.value = value;
        }
    }

    /// Returns true if it is time to search for unreadable messages.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.len > self.limit || self.len > 1 && self.slot.is_none()
    }

    /// Drops the messages that no thread can read, given the least stamp that a thread knows, and as many others as there
    /// are too many. Returns the number of dropped ones, and false if one without a slot was dropped that might have been read.
    pub(super) fn drop_unread(&mut self, floor: u64, slots: &mut Slots) -> (usize, bool) {
        let (newest, has_slot) = (self.len - 1, self.slot.is_some());
        let unread = self.all()[..newest].partition_point(|message| message.stamp < floor);
        let excess = self.len.saturating_sub(MOST);
        let dropped = if has_slot { unread.max(excess) } else { newest };
        if has_slot && excess > unread {
            self.forgotten = self.forgotten.max(self.at(excess - 1).stamp);
        }
        self.list[..self.len].rotate_left(dropped);
        self.len -= dropped;
        self.blocked >>= dropped;
        if let (Some(slot), [only]) = (self.slot, self.all()) {
            slots.give_back(slot, only.stamp);
            (self.slot, self.forgotten) = (None, 0);
        }
        self.limit = (self.len * 2).clamp(FIRST_LIMIT, MOST);
        (dropped, has_slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(messages: &mut Messages, index: usize, value: u128, glue: bool, slots: &mut Slots) {
        messages.insert(index, glue, slots).1.value = value;
    }

    fn with(values: &[u128]) -> (Messages, Slots) {
        let (mut messages, mut slots) = (Messages::default(), Slots::default());
        messages.restart(values[0], &Clock::default(), &mut slots);
        for (index, &value) in values[1..].iter().enumerate() {
            put(&mut messages, index, value, false, &mut slots);
        }
        (messages, slots)
    }

    fn candidates(messages: &Messages, wants: Wants, bound: u64) -> Vec<usize> {
        let found = messages.candidates(wants, bound, bound);
        order(messages, wants, &found)
    }

    fn order(messages: &Messages, wants: Wants, found: &Candidates) -> Vec<usize> {
        (0..found.count).map(|number| messages.nth(wants, found, number)).collect()
    }

    #[test]
    fn the_newest_comes_first_and_the_bound_holds() {
        let (messages, _) = with(&[0, 1, 2]);
        assert_eq!(candidates(&messages, Wants::Read, 0), [2, 1, 0]);
        assert_eq!(candidates(&messages, Wants::Read, messages.at(1).stamp), [2, 1]);
        assert_eq!(candidates(&messages, Wants::Write, messages.at(2).stamp), [2]);
        assert_eq!(candidates(&messages, Wants::Write, messages.at(2).stamp + GAP), [2]);
    }

    #[test]
    fn nothing_comes_between_a_message_and_what_is_glued_to_it() {
        let (mut messages, mut slots) = with(&[0, 1]);
        put(&mut messages, 0, 7, true, &mut slots);
        assert_eq!(messages.at(1).value, 7);
        assert_eq!(candidates(&messages, Wants::Read, 0), [2, 1, 0]);
        assert_eq!(candidates(&messages, Wants::Write, 0), [2, 1]);
        assert_eq!(candidates(&messages, Wants::Update, 0), [2, 1]);
        assert_eq!(candidates(&messages, Wants::Exchange(0), 0), [2, 1], "it fails, or would be glued twice");
        // What is put behind the glued one moves what comes later.
        put(&mut messages, 1, 8, false, &mut slots);
        assert_eq!(candidates(&messages, Wants::Write, 0), [3, 2, 1]);
        messages.drop_unread(messages.at(1).stamp, &mut slots);
        assert_eq!(candidates(&messages, Wants::Write, 0), [2, 1, 0]);
    }

    #[test]
    fn an_exchange_has_a_bound_for_each_outcome() {
        let (messages, _) = with(&[0, 1, 0, 1]);
        let found = messages.candidates(Wants::Exchange(1), messages.at(2).stamp, messages.at(1).stamp);
        let numbers = order(&messages, Wants::Exchange(1), &found);
        assert_eq!(numbers, [3, 2]);
        let found = messages.candidates(Wants::Exchange(0), messages.at(3).stamp, 0);
        let numbers = order(&messages, Wants::Exchange(0), &found);
        assert_eq!(numbers, [3, 1], "it fails at both");
    }

    #[test]
    fn a_place_without_room_is_not_offered() {
        let (mut messages, mut slots) = with(&[0, 1]);
        for _ in 0..32 {
            assert_eq!(candidates(&messages, Wants::Write, 0).last(), Some(&0));
            put(&mut messages, 0, 0, false, &mut slots);
        }
        assert_eq!(candidates(&messages, Wants::Write, 0).last(), Some(&2));
        assert!(messages.all().is_sorted_by(|a, b| a.stamp < b.stamp));
    }

    #[test]
    fn a_slot_passes_to_another_atomic_with_greater_stamps() {
        let (mut first, mut slots) = with(&[0, 1, 2]);
        let last = first.at(2).stamp;
        assert_eq!(first.drop_unread(last, &mut slots), (2, true));
        assert_eq!((first.len, first.slot), (1, None));
        let mut second = Messages::default();
        second.restart(5, &Clock::default(), &mut slots);
        put(&mut second, 0, 0, false, &mut slots);
        assert_eq!(second.slot, Some(0));
        assert!(second.at(0).stamp > last);
    }

    #[test]
    fn too_many_messages_are_dropped_and_that_is_known() {
        let values: Vec<u128> = (0..100).collect();
        let (mut messages, mut slots) = with(&values);
        let known = messages.at(40).stamp;
        assert_eq!(messages.drop_unread(0, &mut slots), (36, true));
        assert_eq!((messages.len, messages.at(0).value), (MOST, 36));
        assert!(messages.has_forgotten(0) && !messages.has_forgotten(known));
    }
}
