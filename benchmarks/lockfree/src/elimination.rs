//! A stack with an elimination slot (Hendler, Shavit and Yerushalmi, SPAA 2004). Nodes are not reused.

use crate::arena::{Arena, NONE};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The slot is free; a pop has taken the offer; other numbers are offers of a push.
const EMPTY: usize = 0;
const TAKEN: usize = 1;
const OFFER: usize = 2;

/// A stack.
pub struct Stack {
    takes_by_store: bool,
    arena: Arena,
    top: AtomicUsize,
    slot: AtomicUsize,
}

impl Stack {
    /// Creates an empty stack. `takes_by_store`: a pop takes an offer without asking whether it is still there.
    pub fn new(takes_by_store: bool) -> Stack {
        let (top, slot) = (AtomicUsize::new(NONE), AtomicUsize::new(EMPTY));
        Stack { takes_by_store, arena: Arena::new(16), top, slot }
    }

    /// Pushes a value.
    pub fn push(&self, value: u32) {
        let node = self.arena.take();
        self.arena[node].value.store(value, SeqCst);
        loop {
            let top = self.top.load(SeqCst);
            self.arena[node].next.store(top, SeqCst);
            if self.top.compare_exchange(top, node, SeqCst, SeqCst).is_ok() {
                return;
            }
            let offer = OFFER + value as usize;
            if self.slot.compare_exchange(EMPTY, offer, SeqCst, SeqCst).is_ok() {
                if self.slot.compare_exchange(offer, EMPTY, SeqCst, SeqCst).is_ok() {
                    continue; // No partner came.
                }
                self.slot.store(EMPTY, SeqCst);
                return;
            }
        }
    }

    /// Pops the latest value.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(SeqCst);
            if top == NONE {
                return None;
            }
            let next = self.arena[top].next.load(SeqCst);
            if self.top.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
                return Some(self.arena[top].value.load(SeqCst));
            }
            let offer = self.slot.load(SeqCst);
            if offer < OFFER {
                continue;
            }
            let is_mine = if self.takes_by_store {
                self.slot.store(TAKEN, SeqCst);
                true
            } else {
                self.slot.compare_exchange(offer, TAKEN, SeqCst, SeqCst).is_ok()
            };
            if is_mine {
                return Some((offer - OFFER) as u32);
            }
        }
    }
}
