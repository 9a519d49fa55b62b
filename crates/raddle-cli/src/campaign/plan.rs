//! The order of turns.

use raddle_engine::Census;

/// The smallest share of new partial orders that counts: a turn never costs more than the inverse.
const LEAST: f64 = 1.0 / 16.0;

/// The largest number of partial orders of a target that are kept; a sample, if there are more.
pub(super) const MOST_ORDERS: usize = 1 << 14;

/// The progress of a target.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// The cost of its turns in this night.
    cost: f64,
    /// The partial orders of all turns.
    known: Census,
    /// True if it gets no more turns.
    pub(super) is_done: bool,
}

/// The partial orders that a turn had first.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Fresh {
    /// Their number; an estimate if they are sampled.
    pub(super) number: u64,
    /// Those that are kept begin with this many zero bits.
    pub(super) zeros: u32,
    /// Those that are kept.
    pub(super) orders: Vec<u64>,
}

impl Progress {
    /// Creates the progress of a target without turns.
    pub(super) fn new() -> Progress {
        Progress { cost: 0.0, known: Census::bounded(MOST_ORDERS), is_done: false }
    }

    /// Returns the number of different partial orders.
    pub(super) fn partial_orders(&self) -> u64 {
        self.known.distinct() as u64
    }

    /// Adds the new partial orders of an earlier turn.
    pub(super) fn recall(&mut self, zeros: u64, orders: &[u64]) {
        self.known.sample(u32::try_from(zeros).unwrap_or(u32::MAX).min(63));
        orders.iter().for_each(|&order| _ = self.known.count(order));
    }

    /// Adds the partial orders of a turn, and returns the new ones.
    pub(super) fn learn(&mut self, seen: &Census) -> Fresh {
        self.known.sample(seen.zeros());
        let mut orders: Vec<u64> = seen.iter().map(|(order, _)| order).collect();
        orders.retain(|&order| self.known.samples(order) && self.known.of(order) == 0);
        orders.sort_unstable();
        orders.iter().for_each(|&order| _ = self.known.count(order));
        let zeros = self.known.zeros();
        orders.retain(|&order| self.known.samples(order));
        Fresh { number: (orders.len() as u64) << zeros, zeros, orders }
    }

    /// Charges for a turn of this night.
    pub(super) fn charge(&mut self, fresh: u64, runs: u64) {
        self.cost += 1.0 / novelty(fresh, runs).max(LEAST);
    }
}

/// Returns the share of the runs of a turn that had a new partial order.
pub(super) fn novelty(fresh: u64, runs: u64) -> f64 {
    (fresh as f64 / runs.max(1) as f64).min(1.0)
}

/// Returns the target whose turn it is, if one is left.
pub(super) fn next(targets: &[Progress]) -> Option<usize> {
    let left = targets.iter().enumerate().filter(|(_, target)| !target.is_done);
    // Of several, the first one.
    left.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the turns of targets of which each turn has this share of new partial orders.
    fn turns(shares: &[u64], turns: usize) -> Vec<usize> {
        let mut targets = vec![Progress::new(); shares.len()];
        (0..turns)
            .map(|_| {
                let index = next(&targets).expect("all have turns left");
                targets[index].charge(shares[index], 100);
                index
            })
            .collect()
    }

    #[test]
    fn every_target_comes_first_once_and_none_starves() {
        let made = turns(&[0, 100, 50, 0], 1_000);
        assert_eq!(made[..4], [0, 1, 2, 3]);
        let count = |index: usize| made.iter().filter(|&&turn| turn == index).count();
        // The shares are as 1/16, 1, 1/2, 1/16.
        let ideal = [0.0625, 1.0, 0.5, 0.0625].map(|share| share / 1.625 * 1_000.0);
        for (index, ideal) in ideal.into_iter().enumerate() {
            assert!((count(index) as f64 - ideal).abs() <= 2.0, "{index}: {} {ideal}", count(index));
        }
        for poor in [0, 3] {
            let own: Vec<usize> = (0..made.len()).filter(|&turn| made[turn] == poor).collect();
            for pair in own.windows(2) {
                for other in 0..4 {
                    let between = made[pair[0] + 1..pair[1]].iter().filter(|&&turn| turn == other).count();
                    assert!(between <= 16 && (other == poor || between > 0), "{other} has {between} turns");
                }
            }
        }
    }

    #[test]
    fn a_target_that_is_done_gets_no_turn() {
        let mut targets = vec![Progress::new(); 2];
        targets[0].is_done = true;
        assert_eq!(next(&targets), Some(1));
        targets[1].is_done = true;
        assert_eq!(next(&targets), None);
    }

    #[test]
    fn what_is_recalled_is_not_new() {
        let census = |orders: std::ops::Range<u64>| {
            let mut census = Census::default();
            orders.for_each(|number| _ = census.count(raddle_model::mix(number)));
            census
        };
        for most in [100, 40_000] {
            let mut first = Progress::new();
            let one = first.learn(&census(0..most));
            let two = first.learn(&census(most / 2..2 * most));
            let mut again = Progress::new();
            for fresh in [&two, &one, &two] {
                again.recall(u64::from(fresh.zeros), &fresh.orders);
            }
            assert_eq!(again.partial_orders(), first.partial_orders());
            assert_eq!(again.learn(&census(0..2 * most)).number, 0);
            let share = first.partial_orders() as f64 / (2 * most) as f64;
            assert!((share - 1.0).abs() < 0.1, "{share}");
        }
    }
}
