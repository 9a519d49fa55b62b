//! The first run with each partial order.

use std::collections::BTreeSet;

/// The number of the first run with each partial order.
#[derive(Clone, Debug, Default)]
pub struct Firsts {
    /// Numbers and fingerprints of runs. Invariant: the first run with each partial order is among them.
    runs: Vec<(u64, u64)>,
    /// The greatest number so far: the runs of several jobs may come in any order.
    latest: u64,
    /// The length at which runs that are not the first with their partial order are removed.
    compact_at: usize,
}

impl Firsts {
    /// Notes a run, whose partial order no run had before, or one did.
    #[inline]
    pub(crate) fn note(&mut self, number: u64, fingerprint: u64, is_new: bool) {
        // A run that has come late may be the first with its partial order.
        if is_new || number < self.latest {
            self.runs.push((number, fingerprint));
            if !is_new {
                self.compact();
            }
        }
        self.latest = self.latest.max(number);
    }

    fn compact(&mut self) {
        const FEW: usize = 1_024;
        if self.runs.len() >= self.compact_at.max(FEW) {
            self.runs.sort_unstable_by_key(|&(number, fingerprint)| (fingerprint, number));
            self.runs.dedup_by_key(|&mut (_, fingerprint)| fingerprint);
            self.compact_at = 2 * self.runs.len();
        }
    }

    /// Returns the numbers and fingerprints of runs among which is the first one with each partial order.
    pub(crate) fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs = self.runs.clone();
        runs.sort_unstable_by_key(|&(number, fingerprint)| (fingerprint, number));
        runs.dedup_by_key(|&mut (_, fingerprint)| fingerprint);
        runs
    }

    /// Returns those of the runs that [`Firsts::runs`] has returned.
    pub(crate) fn of(runs: Vec<(u64, u64)>) -> Firsts {
        let latest = runs.iter().map(|&(number, _)| number).max().unwrap_or(0);
        Firsts { runs, latest, compact_at: 0 }
    }

    /// Adds those of other runs of the same search.
    pub(crate) fn merge(&mut self, other: Firsts) {
        self.runs.extend(other.runs);
        self.latest = self.latest.max(other.latest);
    }

    /// Returns the number of runs among the last tenth of `runs` runs that are the first with their partial order, and
    /// the number of runs in that tenth; `None` if unknown or if there are too few runs.
    pub(crate) fn in_the_last_tenth(&self, runs: u64) -> Option<(u64, u64)> {
        // A search that is interrupted has later runs than some that it did not finish.
        let all = (self.runs.iter().map(|(number, _)| number + 1).max()?).max(runs);
        let last = all / 10;
        if last == 0 {
            return None;
        }
        let mut sorted = self.runs.clone();
        sorted.sort_unstable();
        let mut seen = BTreeSet::new();
        let new = sorted.iter().filter(|(_, fingerprint)| seen.insert(*fingerprint));
        Some((new.filter(|(number, _)| *number >= all - last).count() as u64, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several jobs count together, and their runs may come in any order.
    #[test]
    fn the_last_tenth_does_not_depend_on_the_order_of_counting() {
        let counted = |numbers: &mut dyn Iterator<Item = u64>| {
            let (mut firsts, mut seen) = (Firsts::default(), BTreeSet::new());
            for number in numbers {
                let fingerprint = (number % 1_500).min(2);
                firsts.note(number, fingerprint, seen.insert(fingerprint));
            }
            firsts
        };
        let (forward, backward) = (counted(&mut (0..5_000)), counted(&mut (0..5_000).rev()));
        assert_eq!(forward.in_the_last_tenth(5_000), Some((0, 500)));
        assert_eq!(backward.in_the_last_tenth(5_000), Some((0, 500)));
        assert!(backward.runs.len() < 3_000, "{}", backward.runs.len());
    }

    /// A search that is interrupted did not finish some runs before its latest ones.
    #[test]
    fn the_last_tenth_has_at_most_as_many_new_orders_as_runs() {
        let mut firsts = Firsts::default();
        (0..50).chain(180..200).for_each(|number| firsts.note(number, number, true));
        assert_eq!(firsts.in_the_last_tenth(70), Some((20, 20)));
    }
}
