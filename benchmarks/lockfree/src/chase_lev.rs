//! Chase and Lev's work-stealing deque (SPAA 2005), in a ring that is large enough.

use raddle::sync::atomic::{AtomicIsize, AtomicU32, Ordering::SeqCst};

/// A deque with one owner.
pub struct Deque {
    takes_last_without_exchange: bool,
    top: AtomicIsize,
    bottom: AtomicIsize,
    slots: Vec<AtomicU32>,
}

impl Deque {
    /// Creates an empty deque. `takes_last_without_exchange`: the owner does not compete with thieves for the last value.
    pub fn new(takes_last_without_exchange: bool) -> Deque {
        let slots = (0..16).map(|_| AtomicU32::new(0)).collect();
        Deque { takes_last_without_exchange, top: AtomicIsize::new(0), bottom: AtomicIsize::new(0), slots }
    }

    /// Adds a value. Only the owner does.
    pub fn push(&self, value: u32) {
        let bottom = self.bottom.load(SeqCst);
        self.slots[bottom as usize].store(value, SeqCst);
        self.bottom.store(bottom + 1, SeqCst);
    }

    /// Takes the latest value. Only the owner does.
    pub fn take(&self) -> Option<u32> {
        let bottom = self.bottom.load(SeqCst) - 1;
        self.bottom.store(bottom, SeqCst);
        let top = self.top.load(SeqCst);
        if top > bottom {
            self.bottom.store(top, SeqCst);
            return None;
        }
        let value = self.slots[bottom as usize].load(SeqCst);
        if top < bottom {
            return Some(value);
        }
        let is_mine = if self.takes_last_without_exchange {
            self.top.store(top + 1, SeqCst);
            true
        } else {
            self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok()
        };
        self.bottom.store(top + 1, SeqCst);
        is_mine.then_some(value)
    }

    /// Takes the oldest value.
    pub fn steal(&self) -> Option<u32> {
        loop {
            let top = self.top.load(SeqCst);
            if top >= self.bottom.load(SeqCst) {
                return None;
            }
            let value = self.slots[top as usize].load(SeqCst);
            if self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok() {
                return Some(value);
            }
        }
    }
}
