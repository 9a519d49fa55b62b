//! The writes to one atomic that threads may still read, in modification order.

use super::clock::Clock;
use raddle_model::ThreadId;

/// The distance of a new last message from the one before it. Messages that are put between two others halve it.
const GAP: u64 = 1 << 32;
/// The greatest number of messages of one atomic.
const MOST: usize = 64;
/// The number of messages of an atomic above which unreadable ones are searched for.
const FIRST_LIMIT: usize = 4;

/// One write to an atomic.
#[derive(Default, Debug)]
pub(super) struct Message {
    /// Its place in modification order. Invariant: strictly increasing along the list.
    pub(super) stamp: u64,
    pub(super) value: u128,
    /// The clock that an acquiring reader joins. It does not name the message itself, which every reader knows anyway.
    pub(super) released: Clock,
    /// True if a read-modify-write has read it and directly follows it. Nothing may come between the two.
    pub(super) glued: bool,
    /// Who wrote it, and in which event; none for the first value.
    pub(super) written: Option<(ThreadId, u32)>,
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
    list: Vec<Message>,
    /// The index of the atomic in views. `None` while it has one message, which every thread reads.
    pub(super) slot: Option<usize>,
    /// The number of messages at which unreadable ones are searched for next.
    limit: usize,
    /// The greatest stamp of a message that was dropped although a thread could read it.
    forgotten: u64,
    /// True if there are no messages because of a write whose value is not known.
    pub(super) has_unseen_write: bool,
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
    pub(super) fn clear(&mut self, spare: &mut Vec<Clock>) {
        spare.extend(self.list.drain(..).map(|message| message.released));
        (self.slot, self.limit, self.forgotten, self.has_unseen_write) = (None, 0, 0, false);
    }

    /// Drops all messages.
    pub(super) fn forget(&mut self, slots: &mut Slots, spare: &mut Vec<Clock>) {
        if let (Some(slot), Some(last)) = (self.slot, self.list.last()) {
            slots.give_back(slot, last.stamp);
        }
        self.clear(spare);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn newest(&self) -> Option<&Message> {
        self.list.last()
    }

    pub(super) fn at(&self, index: usize) -> &Message {
        &self.list[index]
    }

    /// Makes `value` the only message, as a write that every thread knows, and that released this.
    pub(super) fn restart(
        &mut self,
        value: u128,
        released: Clock,
        slots: &mut Slots,
        spare: &mut Vec<Clock>,
    ) {
        self.forget(slots, spare);
        self.limit = FIRST_LIMIT;
        self.list.push(Message { stamp: GAP, value, released, ..Message::default() });
    }

    /// Returns true if a message was dropped that a thread without knowledge before `bound` could have read.
    pub(super) fn has_forgotten(&self, bound: u64) -> bool {
        bound <= self.forgotten && self.forgotten > 0
    }

    /// Lists the messages that an access may read, or put its own behind, the newest first; never none. `bound` is the
    /// stamp before which it cannot go, and `failing` the same for an exchange that only reads.
    pub(super) fn candidates(&self, wants: Wants, bound: u64, failing: u64, found: &mut Vec<usize>) {
        found.clear();
        let newest = self.list.len() - 1;
        for (index, message) in self.list.iter().enumerate().rev() {
            // The newest is always known to be there.
            let reach = |bound| index == newest || message.stamp >= bound;
            if !reach(bound.min(failing)) {
                break;
            }
            let is_free = || !message.glued && self.has_room(index);
            let fits = match wants {
                Wants::Read => reach(bound),
                Wants::Write | Wants::Update => reach(bound) && is_free(),
                Wants::Exchange(expected) if message.value == expected => reach(bound) && is_free(),
                Wants::Exchange(_) => reach(failing),
            };
            if fits {
                found.push(index);
            }
        }
    }

    fn has_room(&self, index: usize) -> bool {
        self.list.get(index + 1).is_none_or(|next| next.stamp - self.list[index].stamp > 1)
    }

    /// Puts a message directly behind number `index`, glued to it if `glue`. Returns its stamp.
    pub(super) fn insert(
        &mut self,
        index: usize,
        mut message: Message,
        glue: bool,
        slots: &mut Slots,
    ) -> u64 {
        self.list[index].glued |= glue;
        if self.slot.is_none() {
            self.slot = slots.take();
            if let (Some(slot), [only]) = (self.slot, &mut *self.list) {
                only.stamp = slots.last[slot] + GAP;
            }
        }
        let before = self.list[index].stamp;
        message.stamp = match self.list.get(index + 1) {
            Some(next) => before + (next.stamp - before) / 2,
            None => before + GAP,
        };
        let stamp = message.stamp;
        self.list.insert(index + 1, message);
        stamp
    }

    /// Sets the value of the message with this stamp.
    pub(super) fn set(&mut self, stamp: u64, value: u128) {
        if let Ok(index) = self.list.binary_search_by_key(&stamp, |message| message.stamp) {
            self.list[index].value = value;
        }
    }

    /// Returns true if it is time to search for unreadable messages.
    pub(super) fn is_long(&self) -> bool {
        self.list.len() > self.limit || self.list.len() > 1 && self.slot.is_none()
    }

    /// Drops the messages that no thread can read, given the least stamp that a thread knows, and as many others as there
    /// are too many. Returns false if a message without a slot was dropped that might have been read.
    pub(super) fn drop_unread(&mut self, floor: u64, slots: &mut Slots, spare: &mut Vec<Clock>) -> bool {
        let newest = self.list.len() - 1;
        let Some(slot) = self.slot else {
            spare.extend(self.list.drain(..newest).map(|message| message.released));
            return false;
        };
        let unread = self.list.partition_point(|message| message.stamp < floor).min(newest);
        let excess = self.list.len().saturating_sub(MOST);
        if excess > unread {
            self.forgotten = self.forgotten.max(self.list[excess - 1].stamp);
        }
        spare.extend(self.list.drain(..unread.max(excess)).map(|message| message.released));
        if let [only] = &*self.list {
            slots.give_back(slot, only.stamp);
            (self.slot, self.forgotten) = (None, 0);
        }
        self.limit = (self.list.len() * 2).clamp(FIRST_LIMIT, MOST);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(values: &[u128]) -> (Messages, Slots) {
        let (mut messages, mut slots) = (Messages::default(), Slots::default());
        messages.restart(values[0], Clock::default(), &mut slots, &mut Vec::new());
        for (index, &value) in values[1..].iter().enumerate() {
            messages.insert(index, Message { value, ..Message::default() }, false, &mut slots);
        }
        (messages, slots)
    }

    fn candidates(messages: &Messages, wants: Wants, bound: u64) -> Vec<usize> {
        let mut found = Vec::new();
        messages.candidates(wants, bound, bound, &mut found);
        found
    }

    #[test]
    fn the_newest_comes_first_and_the_bound_holds() {
        let (messages, _) = with(&[0, 1, 2]);
        let stamp = |index: usize| messages.at(index).stamp;
        assert_eq!(candidates(&messages, Wants::Read, 0), [2, 1, 0]);
        assert_eq!(candidates(&messages, Wants::Read, stamp(1)), [2, 1]);
        assert_eq!(candidates(&messages, Wants::Write, stamp(2)), [2]);
    }

    #[test]
    fn nothing_comes_between_a_message_and_what_is_glued_to_it() {
        let (mut messages, mut slots) = with(&[0, 1]);
        messages.insert(0, Message { value: 7, ..Message::default() }, true, &mut slots);
        assert_eq!(messages.at(1).value, 7);
        assert_eq!(candidates(&messages, Wants::Read, 0), [2, 1, 0]);
        assert_eq!(candidates(&messages, Wants::Write, 0), [2, 1]);
        assert_eq!(candidates(&messages, Wants::Update, 0), [2, 1]);
        assert_eq!(candidates(&messages, Wants::Exchange(0), 0), [2, 1], "it fails, or would be glued twice");
    }

    #[test]
    fn a_place_without_room_is_not_offered() {
        let (mut messages, mut slots) = with(&[0, 1]);
        for _ in 0..32 {
            assert!(messages.has_room(0));
            messages.insert(0, Message::default(), false, &mut slots);
        }
        assert!(!messages.has_room(0));
        assert!(!messages.has_room(1) && messages.has_room(2));
        assert_eq!(candidates(&messages, Wants::Write, 0).last(), Some(&2));
        assert!(messages.list.is_sorted_by(|a, b| a.stamp < b.stamp));
    }

    #[test]
    fn a_slot_passes_to_another_atomic_with_greater_stamps() {
        let (mut first, mut slots) = with(&[0, 1, 2]);
        let last = first.at(2).stamp;
        assert!(first.drop_unread(last, &mut slots, &mut Vec::new()));
        assert_eq!((first.list.len(), first.slot), (1, None));
        let mut second = Messages::default();
        second.restart(5, Clock::default(), &mut slots, &mut Vec::new());
        second.insert(0, Message::default(), false, &mut slots);
        assert_eq!(second.slot, Some(0));
        assert!(second.at(0).stamp > last);
    }

    #[test]
    fn too_many_messages_are_dropped_and_that_is_known() {
        let values: Vec<u128> = (0..100).collect();
        let (mut messages, mut slots) = with(&values);
        let known = messages.at(40).stamp;
        assert!(messages.drop_unread(0, &mut slots, &mut Vec::new()));
        assert_eq!((messages.list.len(), messages.at(0).value), (MOST, 36));
        assert!(messages.has_forgotten(0) && !messages.has_forgotten(known));
    }
}
