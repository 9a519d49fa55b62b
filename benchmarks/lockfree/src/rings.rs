//! Bounded queues: of one producer and one consumer (Lamport 1983), and Vyukov's of many.

use Ordering::{Acquire, Relaxed, Release, SeqCst};
use raddle::hint;
use raddle::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The order of the two steps that publish a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Publish {
    /// The value, then the index with release.
    Release,
    /// The value, then the index without an order.
    Relaxed,
    /// The index, then the value.
    Early,
}

/// A queue of two values for one producer and one consumer.
pub struct Spsc {
    publish: Publish,
    slots: [AtomicU32; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl Spsc {
    /// Creates an empty queue.
    pub fn new(publish: Publish) -> Spsc {
        let slots = [AtomicU32::new(0), AtomicU32::new(0)];
        Spsc { publish, slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    /// Adds a value; returns false if the queue is full.
    pub fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(Acquire) == self.slots.len() {
            return false;
        }
        let slot = &self.slots[tail % self.slots.len()];
        match self.publish {
            Publish::Early => {
                self.tail.store(tail + 1, SeqCst);
                slot.store(value, SeqCst);
            }
            Publish::Release | Publish::Relaxed => {
                slot.store(value, Relaxed);
                let order = if self.publish == Publish::Release { Release } else { Relaxed };
                self.tail.store(tail + 1, order);
            }
        }
        true
    }

    /// Takes the oldest value.
    pub fn pop(&self) -> Option<u32> {
        let head = self.head.load(Relaxed);
        if head == self.tail.load(Acquire) {
            return None;
        }
        let value = self.slots[head % self.slots.len()].load(Relaxed);
        self.head.store(head + 1, Release);
        Some(value)
    }
}

/// The treatment of a slot that another thread has claimed and not filled or emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// Waits unless the queue is empty, or full.
    Waits,
    /// Says that the queue is empty, or full, as published.
    Fails,
    /// As [`Claimed::Waits`], but a slot is claimed by a load and a store.
    Torn,
}

struct Slot {
    turn: AtomicUsize,
    value: AtomicU32,
}

/// Vyukov's bounded queue for many producers and consumers, of two values.
pub struct Mpmc {
    claimed: Claimed,
    slots: [Slot; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl Mpmc {
    /// Creates an empty queue.
    pub fn new(claimed: Claimed) -> Mpmc {
        let slot = |turn| Slot { turn: AtomicUsize::new(turn), value: AtomicU32::new(0) };
        Mpmc { claimed, slots: [slot(0), slot(1)], head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    fn claim(&self, index: &AtomicUsize, position: usize) -> bool {
        if self.claimed == Claimed::Torn {
            let is_free = index.load(SeqCst) == position;
            if is_free {
                index.store(position + 1, SeqCst);
            }
            return is_free;
        }
        index.compare_exchange(position, position + 1, SeqCst, SeqCst).is_ok()
    }

    /// Adds a value; returns false if the queue is full.
    pub fn push(&self, value: u32) -> bool {
        loop {
            let tail = self.tail.load(SeqCst);
            let slot = &self.slots[tail % self.slots.len()];
            let turn = slot.turn.load(SeqCst);
            if turn == tail {
                if self.claim(&self.tail, tail) {
                    slot.value.store(value, SeqCst);
                    slot.turn.store(tail + 1, SeqCst);
                    return true;
                }
            } else if turn < tail {
                let is_full = self.head.load(SeqCst) + self.slots.len() == tail;
                if is_full && self.tail.load(SeqCst) == tail || self.claimed == Claimed::Fails {
                    return false;
                }
                hint::spin_loop();
            }
        }
    }

    /// Takes the oldest value.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let slot = &self.slots[head % self.slots.len()];
            let turn = slot.turn.load(SeqCst);
            if turn == head + 1 {
                if self.claim(&self.head, head) {
                    let value = slot.value.load(SeqCst);
                    slot.turn.store(head + self.slots.len(), SeqCst);
                    return Some(value);
                }
            } else if turn < head + 1 {
                let is_empty = self.tail.load(SeqCst) == head;
                if is_empty && self.head.load(SeqCst) == head || self.claimed == Claimed::Fails {
                    return None;
                }
                hint::spin_loop();
            }
        }
    }
}
