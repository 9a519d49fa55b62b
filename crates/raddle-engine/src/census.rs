//! Number of times each partial order was seen.

/// A count per fingerprint. Fingerprints are well mixed already, so the table uses them as they are; its
/// iteration order depends only on the counted fingerprints, and no report depends on that order.
///
/// A bounded census counts all fingerprints up to its limit and after that a sample: those that begin with
/// some zero bits, one bit more each time the sample reaches the limit (adaptive sampling, Flajolet,
/// Computing 43, 1990). The sample does not depend on the order in which fingerprints are counted.
#[derive(Clone, Debug)]
pub struct Census {
    /// Invariant: a power of two entries, at most half of them used; an entry with count 0 is free.
    table: Vec<(u64, u64)>,
    used: usize,
    /// Invariant: no less than `used`.
    limit: usize,
    /// Invariant: all counted fingerprints begin with this many zero bits.
    zeros: u32,
}

impl Default for Census {
    fn default() -> Census {
        Census { table: vec![(0, 0); 64], used: 0, limit: usize::MAX, zeros: 0 }
    }
}

impl Census {
    /// Creates a census that counts at most `limit` fingerprints, which is at least 1, and a sample if there
    /// are more.
    #[must_use]
    pub fn bounded(limit: usize) -> Census {
        Census { limit, ..Census::default() }
    }

    /// Counts only fingerprints that begin with this many zero bits from now on, if it counts others.
    pub fn sample(&mut self, zeros: u32) {
        if zeros > self.zeros {
            self.thin_out(zeros);
        }
    }

    /// Returns the number of zero bits with which all counted fingerprints begin.
    pub fn zeros(&self) -> u32 {
        self.zeros
    }

    /// Returns an empty census with the same limit.
    #[must_use]
    pub fn emptied(&self) -> Census {
        Census::bounded(self.limit)
    }

    /// Returns true if all fingerprints are counted, not a sample.
    pub fn is_exact(&self) -> bool {
        self.zeros == 0
    }

    /// Returns true if `fingerprint` is counted: always, unless the census has become a sample.
    #[inline]
    pub fn samples(&self, fingerprint: u64) -> bool {
        fingerprint.leading_zeros() >= self.zeros
    }

    /// Counts a fingerprint. Returns true if it is new.
    #[inline]
    pub fn count(&mut self, fingerprint: u64) -> bool {
        self.add(fingerprint, 1)
    }

    /// Counts a fingerprint `times` times. Returns true if it is new. A fingerprint outside the sample counts
    /// as known.
    #[inline]
    pub fn add(&mut self, fingerprint: u64, times: u64) -> bool {
        if !self.samples(fingerprint) {
            return false;
        }
        let slot = self.slot(fingerprint);
        let new = self.table[slot].1 == 0;
        self.table[slot] = (fingerprint, self.table[slot].1 + times);
        if new && times > 0 {
            self.used += 1;
            if self.used > self.limit {
                self.thin_out(self.zeros + 1);
            } else if self.used * 2 > self.table.len() {
                self.fill(self.table.len() * 2);
            }
        }
        new
    }

    /// Returns the number of times a fingerprint was counted.
    pub fn of(&self, fingerprint: u64) -> u64 {
        self.table[self.slot(fingerprint)].1
    }

    /// Returns the number of different fingerprints counted, or an estimate from a sample. The relative
    /// standard deviation of the estimate is below `sqrt(2 / limit)` if the sample has at least half of its
    /// limit, as it has on average after it was halved.
    pub fn distinct(&self) -> usize {
        self.used << self.zeros
    }

    /// Returns the smallest count of any counted fingerprint.
    pub fn least(&self) -> Option<u64> {
        self.iter().map(|(_, count)| count).min()
    }

    /// Returns the largest count.
    pub fn most(&self) -> Option<u64> {
        self.iter().map(|(_, count)| count).max()
    }

    /// Iterates over the fingerprints with their counts, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.table.iter().copied().filter(|&(_, count)| count > 0)
    }

    /// Adds all counts of another census.
    pub fn merge(&mut self, other: &Census) {
        self.limit = self.limit.min(other.limit);
        self.sample(other.zeros);
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

    /// Keeps the fingerprints that begin with `zeros` zero bits, or more if that is not enough.
    #[cold]
    fn thin_out(&mut self, zeros: u32) {
        self.zeros = zeros;
        while self.iter().filter(|&(fingerprint, _)| self.samples(fingerprint)).count() > self.limit {
            self.zeros += 1;
        }
        self.fill(self.table.len());
    }

    /// Rebuilds the table with `length` entries.
    fn fill(&mut self, length: usize) {
        let old = std::mem::replace(&mut self.table, vec![(0, 0); length]);
        self.used = 0;
        for (fingerprint, count) in old.into_iter().filter(|&(_, count)| count > 0) {
            if self.samples(fingerprint) {
                let slot = self.slot(fingerprint);
                self.table[slot] = (fingerprint, count);
                self.used += 1;
            }
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

    /// Creates a census with a limit and counts `different` different fingerprints.
    fn bounded(limit: usize, different: u64) -> Census {
        let mut census = Census::bounded(limit);
        (1..=different).for_each(|number| _ = census.count(raddle_model::mix(number)));
        census
    }

    #[test]
    fn a_bounded_census_is_exact_up_to_its_limit_and_does_not_grow_after_it() {
        let exact = bounded(1_000, 1_000);
        assert!(exact.is_exact());
        assert_eq!((exact.distinct(), exact.table.len()), (1_000, 2_048));
        for different in [1_001, 10_000, affordable_rounds(300_000)] {
            let census = bounded(1_000, different);
            assert!(!census.is_exact() && census.table.len() == 2_048, "{different}: {}", census.table.len());
            // The relative standard deviation is below 4.5 %.
            let estimate = census.distinct() as f64 / different as f64;
            assert!((estimate - 1.0).abs() < 4.0 * 0.045, "{different}: {}", census.distinct());
        }
    }

    #[test]
    fn a_sample_does_not_depend_on_order_or_parts() {
        let all = bounded(100, 3_000);
        let mut parts = Census::bounded(100);
        for part in [2_000..=3_000, 1..=999, 1_000..=1_999_u64] {
            let mut census = Census::bounded(100);
            part.for_each(|number| _ = census.count(raddle_model::mix(number)));
            parts.merge(&census);
        }
        let sorted = |census: &Census| census.iter().collect::<BTreeMap<_, _>>();
        assert_eq!((sorted(&all), all.distinct()), (sorted(&parts), parts.distinct()));
        assert!(!parts.samples(u64::MAX) && !parts.clone().count(u64::MAX), "it is not in the sample");
    }
}
