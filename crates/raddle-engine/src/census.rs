//! How often each partial order was seen.

/// A count per fingerprint. Fingerprints are well mixed already, so the table uses them as they are; its iteration
/// order depends only on what was counted, and nothing that is reported depends on that order.
#[derive(Clone, Debug)]
pub struct Census {
    /// Invariant: a power of two entries, at most half of them used; an entry with count 0 is free.
    table: Vec<(u64, u64)>,
    used: usize,
}

impl Default for Census {
    fn default() -> Census {
        Census { table: vec![(0, 0); 64], used: 0 }
    }
}

impl Census {
    /// Counts a fingerprint; tells whether it is new.
    #[inline]
    pub fn count(&mut self, fingerprint: u64) -> bool {
        self.add(fingerprint, 1)
    }

    /// Counts a fingerprint `times` times; tells whether it is new.
    #[inline]
    pub fn add(&mut self, fingerprint: u64, times: u64) -> bool {
        let slot = self.slot(fingerprint);
        let new = self.table[slot].1 == 0;
        self.table[slot] = (fingerprint, self.table[slot].1 + times);
        if new && times > 0 {
            self.used += 1;
            if self.used * 2 > self.table.len() {
                self.grow();
            }
        }
        new
    }

    /// How often a fingerprint was counted.
    pub fn of(&self, fingerprint: u64) -> u64 {
        self.table[self.slot(fingerprint)].1
    }

    /// How many different fingerprints were counted.
    pub fn distinct(&self) -> usize {
        self.used
    }

    /// The smallest count of any fingerprint that was counted at all.
    pub fn least(&self) -> Option<u64> {
        self.iter().map(|(_, count)| count).min()
    }

    /// The largest count.
    pub fn most(&self) -> Option<u64> {
        self.iter().map(|(_, count)| count).max()
    }

    /// Every fingerprint with its count, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.table.iter().copied().filter(|&(_, count)| count > 0)
    }

    /// Adds all counts of another census.
    pub fn merge(&mut self, other: &Census) {
        for (fingerprint, count) in other.iter() {
            self.add(fingerprint, count);
        }
    }

    #[inline]
    fn slot(&self, fingerprint: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = fingerprint as usize & mask;
        while self.table[slot].1 != 0 && self.table[slot].0 != fingerprint {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let doubled = vec![(0, 0); self.table.len() * 2];
        let old = std::mem::replace(&mut self.table, doubled);
        for (fingerprint, count) in old.into_iter().filter(|&(_, count)| count > 0) {
            let slot = self.slot(fingerprint);
            self.table[slot] = (fingerprint, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::affordable_rounds;
    use std::collections::BTreeMap;

    #[test]
    fn counts_like_a_map() {
        let mut rng = crate::Rng::for_run(5, 0);
        let (mut census, mut map) = (Census::default(), BTreeMap::new());
        for _ in 0..affordable_rounds(20_000) {
            let key = raddle_model::mix(rng.below(3_000));
            let count = map.entry(key).or_insert(0_u64);
            *count += 1;
            assert_eq!(census.count(key), *count == 1);
        }
        assert_eq!(census.distinct(), map.len());
        assert_eq!(census.least(), map.values().min().copied());
        assert_eq!(census.iter().collect::<BTreeMap<_, _>>(), map);
    }
}
