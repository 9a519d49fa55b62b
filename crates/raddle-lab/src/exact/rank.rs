//! The ranking of random priorities, as far as it still matters.
//!
//! Priorities are independent and uniform, so only their order counts. Those that are gone (their event was
//! executed or reset) still carry information about the remaining ones, so they stay in the ranking as
//! anonymous marks. The run so far is a function of the full ranking of the `m` priorities drawn, hence the
//! next one falls into each of the `m + 1` positions with the same probability, whatever happened.

use super::Probability;

/// The largest number of threads that can be ranked.
pub(super) const MOST: usize = 11;

/// Threads from the highest priority to the lowest, and the number of marks in between.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Ranking {
    alive: u16,
    threads: [u16; MOST],
    /// Entry `i` counts the marks above thread `i` and below the one before; the last one those below all
    /// threads.
    marks: [u16; MOST + 1],
}

impl Ranking {
    /// The ranking without threads and marks.
    pub(super) const EMPTY: Ranking = Ranking { alive: 0, threads: [0; MOST], marks: [0; MOST + 1] };

    /// Returns the threads from the highest priority to the lowest.
    pub(super) fn threads(&self) -> &[u16] {
        &self.threads[..usize::from(self.alive)]
    }

    /// Turns the priorities of threads for which `gone` holds into marks. Once no thread is left the marks
    /// carry no information and are dropped.
    #[must_use]
    pub(super) fn without(&self, mut gone: impl FnMut(u16) -> bool) -> Ranking {
        let mut kept = Ranking::EMPTY;
        let mut at = 0;
        kept.marks[0] = self.marks[0];
        for (index, &thread) in self.threads().iter().enumerate() {
            if gone(thread) {
                kept.marks[at] += 1 + self.marks[index + 1];
            } else {
                kept.threads[at] = thread;
                at += 1;
                kept.marks[at] = self.marks[index + 1];
            }
        }
        kept.alive = at as u16;
        if at == 0 { Ranking::EMPTY } else { kept }
    }

    /// Draws priorities for `threads` and calls `found` with every possible ranking, with its probability
    /// times `share`.
    pub(super) fn draw<P: Probability>(&self, threads: &[u16], share: &P, found: &mut dyn FnMut(Ranking, P)) {
        let Some((&thread, others)) = threads.split_first() else {
            found(*self, share.clone());
            return;
        };
        let alive = usize::from(self.alive);
        let drawn = u64::from(self.alive) + self.marks[..=alive].iter().map(|&m| u64::from(m)).sum::<u64>();
        let share = share.times(1, drawn + 1);
        for gap in 0..=alive {
            let mut next = *self;
            next.alive += 1;
            next.threads.copy_within(gap..alive, gap + 1);
            next.threads[gap] = thread;
            next.marks.copy_within(gap..=alive, gap + 1);
            for above in 0..=self.marks[gap] {
                next.marks[gap] = above;
                next.marks[gap + 1] = self.marks[gap] - above;
                next.draw(others, &share, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use std::collections::BTreeMap;

    fn outcomes(from: Ranking, threads: &[u16]) -> BTreeMap<Vec<u16>, BigRational> {
        let mut all: BTreeMap<Vec<u16>, BigRational> = BTreeMap::new();
        from.draw(threads, &BigRational::ratio(1, 1), &mut |ranking, share: BigRational| {
            let sum = all.entry(ranking.threads().to_vec()).or_insert_with(|| BigRational::ratio(0, 1));
            sum.add(&share);
        });
        all
    }

    #[test]
    fn first_draws_are_permutations() {
        let all = outcomes(Ranking::EMPTY, &[3, 5, 7]);
        assert_eq!(all.len(), 6);
        assert!(all.values().all(|share| *share == BigRational::ratio(1, 6)), "{all:?}");
    }

    #[test]
    fn the_loser_of_a_comparison_is_low() {
        // Thread 1 lost against thread 0; a new priority is above it with probability 2/3, not 1/2.
        let mut lost = None;
        Ranking::EMPTY.draw(&[0, 1], &1.0, &mut |ranking, _| {
            if ranking.threads() == [0, 1] {
                lost = Some(ranking.without(|thread| thread == 0));
            }
        });
        let all = outcomes(lost.unwrap(), &[2]);
        assert_eq!(all[&vec![2, 1]], BigRational::ratio(2, 3));
        assert_eq!(all[&vec![1, 2]], BigRational::ratio(1, 3));
    }

    #[test]
    fn marks_without_threads_are_dropped() {
        Ranking::EMPTY.draw(&[0, 1], &1.0, &mut |ranking, _| {
            assert_eq!(ranking.without(|_| true), Ranking::EMPTY);
        });
    }
}
