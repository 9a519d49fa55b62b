//! A hash table from addresses to numbers whose order is unobservable, and that allocates only to grow.

use raddle_model::mix;

const FREE: u64 = u64::MAX;

/// Numbers by address, or by any other key except the largest.
#[derive(Clone, Debug)]
pub(crate) struct Table<V = u32> {
    /// Invariant: a power of two entries, at most half of them used.
    entries: Vec<(u64, V)>,
    used: usize,
}

impl<V: Copy + Default> Default for Table<V> {
    fn default() -> Table<V> {
        // Small: each page that a server has written since its latest fork costs a fault in every run.
        Table { entries: vec![(FREE, V::default()); 16], used: 0 }
    }
}

impl<V: Copy + Default> Table<V> {
    #[inline]
    fn slot(&self, key: u64) -> usize {
        // Neighbors are adjacent: programs often traverse memory in order.
        const NEAR: u64 = 7;
        let mask = self.entries.len() - 1;
        let mut slot = (mix(key & !NEAR) & !NEAR | key & NEAR) as usize & mask;
        while self.entries[slot].0 != key && self.entries[slot].0 != FREE {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Returns the number of `key`, if it has one.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<V> {
        let (found, number) = self.entries[self.slot(key)];
        (found == key && key != FREE).then_some(number)
    }

    /// Sets the number of `key`.
    pub(crate) fn set(&mut self, key: u64, number: V) {
        let slot = self.slot(key);
        self.used += usize::from(self.entries[slot].0 == FREE);
        self.entries[slot] = (key, number);
        if self.used * 2 > self.entries.len() {
            let doubled = vec![(FREE, V::default()); self.entries.len() * 2];
            for (key, number) in std::mem::replace(&mut self.entries, doubled) {
                if key != FREE {
                    let slot = self.slot(key);
                    self.entries[slot] = (key, number);
                }
            }
        }
    }

    /// Returns all keys with their numbers, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, V)> + '_ {
        self.entries.iter().copied().filter(|&(key, _)| key != FREE)
    }
}
