//! Numbers for pairs of numbers.

use raddle_model::mix;

/// An unused slot.
const FREE: u32 = u32::MAX;

/// Numbers pairs in the order in which they were first looked up.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Open addressing. Invariant: a power of two entries, at most half of them used.
    slots: Vec<(u64, u32)>,
    len: u32,
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs { slots: vec![(0, FREE); 16], len: 0 }
    }
}

impl Pairs {
    /// Returns the number of a pair: a new one, equal to [`Pairs::len`] before, if it is looked up for the first time.
    #[inline]
    pub fn number(&mut self, first: u32, second: u32) -> usize {
        let key = u64::from(first) << 32 | u64::from(second);
        let slot = self.slot(key);
        if self.slots[slot].1 == FREE {
            self.slots[slot] = (key, self.len);
            self.len += 1;
            if self.len as usize * 2 > self.slots.len() {
                self.grow();
            }
            return self.len as usize - 1;
        }
        self.slots[slot].1 as usize
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if no pair was looked up.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = mix(key) as usize & mask;
        while self.slots[slot].1 != FREE && self.slots[slot].0 != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![(0, FREE); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for entry in old.into_iter().filter(|&(_, number)| number != FREE) {
            let slot = self.slot(entry.0);
            self.slots[slot] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn numbers_pairs_like_a_map() {
        let mut rng = crate::Rng::for_run(3, 0);
        let (mut pairs, mut map) = (Pairs::default(), BTreeMap::new());
        for _ in 0..3_000 {
            let pair = (rng.below(40) as u32, rng.below(40) as u32);
            let next = map.len();
            assert_eq!(pairs.number(pair.0, pair.1), *map.entry(pair).or_insert(next));
            assert_eq!(pairs.len(), map.len());
        }
        assert!(!pairs.is_empty() && pairs.number(9, u32::MAX) == map.len());
    }
}
