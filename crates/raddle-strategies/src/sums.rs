//! Random draws among many threads, without a scan of all of them.

use raddle_engine::Rng;
use raddle_model::ThreadId;

/// Number of threads up to which a scan is at least as fast.
pub(crate) const FEW: usize = 16;

/// Number of threads in a block.
const WIDTH: usize = 32;

/// The weights of threads and the sums of blocks of them: changing a weight takes constant time, and a draw takes one step for
/// each block and each thread of a block.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sums {
    /// Per thread. Invariant: a whole number of blocks.
    weights: Vec<u64>,
    /// Per block: the sum of its weights.
    blocks: Vec<u64>,
    total: u64,
}

impl Sums {
    /// Sets all weights to 0.
    pub(crate) fn clear(&mut self) {
        self.weights.clear();
        self.blocks.clear();
        self.total = 0;
    }

    /// Returns true if no weight was set since the last [`Sums::clear`].
    pub(crate) fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Returns the weight of a thread.
    #[cfg(test)]
    pub(crate) fn weight(&self, thread: ThreadId) -> u64 {
        self.weights.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets the weight of a thread.
    pub(crate) fn set(&mut self, thread: ThreadId, weight: u64) {
        let (index, block) = (thread.index(), thread.index() / WIDTH);
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, 0);
            self.weights.resize((block + 1) * WIDTH, 0);
        }
        let previous = std::mem::replace(&mut self.weights[index], weight);
        self.blocks[block] = self.blocks[block] - previous + weight;
        self.total = self.total - previous + weight;
    }

    /// Draws a thread with probability proportional to its weight; `None` if all are 0.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<ThreadId> {
        if self.total == 0 {
            return None;
        }
        let mut drawn = rng.below(self.total);
        let mut part = |weights: &[u64]| {
            weights.iter().position(|&weight| {
                let is_it = drawn < weight;
                drawn -= if is_it { 0 } else { weight };
                is_it
            })
        };
        let block = part(&self.blocks)?;
        let thread = part(&self.weights[block * WIDTH..][..WIDTH])?;
        Some(ThreadId((block * WIDTH + thread) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_proportional_to_the_weights() {
        let mut sums = Sums::default();
        let mut rng = Rng::for_run(3, 0);
        for (thread, weight) in [(0, 9), (31, 1), (32, 2), (99, 4), (0, 3), (5, 8), (5, 0)] {
            sums.set(ThreadId(thread), weight);
        }
        assert_eq!(sums.total, 10);
        let mut counts = [0_u64; 100];
        for _ in 0..100_000 {
            counts[sums.draw(&mut rng).expect("a weight is not 0").index()] += 1;
        }
        for (thread, &count) in counts.iter().enumerate() {
            let expected = 10_000
                * [(0, 3), (31, 1), (32, 2), (99, 4)]
                    .iter()
                    .find(|(other, _)| *other == thread)
                    .map_or(0, |&(_, weight)| weight);
            assert!(count.abs_diff(expected) <= if expected == 0 { 0 } else { 4 * 155 }, "{thread}: {count}");
        }
        sums.clear();
        assert_eq!(sums.draw(&mut rng), None);
    }
}
