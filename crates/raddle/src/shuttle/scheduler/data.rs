//! Random numbers of schedulers.

use raddle_engine::Rng;

/// A source of random numbers that restarts for each run.
pub trait DataSource {
    /// Creates a source whose numbers are derived from `seed`.
    fn initialize(seed: u64) -> Self;

    /// Restarts, and returns the seed of the following numbers.
    fn reinitialize(&mut self) -> u64;

    /// Returns the next number.
    fn next_u64(&mut self) -> u64;
}

/// A source with different numbers in each run.
#[derive(Debug)]
pub struct RandomDataSource {
    seed: u64,
    run: u64,
    numbers: Rng,
}

impl RandomDataSource {
    /// Returns a number below `bound`, which must be positive.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.numbers.below(bound as u64) as usize
    }
}

impl DataSource for RandomDataSource {
    fn initialize(seed: u64) -> RandomDataSource {
        RandomDataSource { seed, run: 0, numbers: Rng::for_run(seed, 0) }
    }

    fn reinitialize(&mut self) -> u64 {
        let seed = Rng::for_run(self.seed, self.run).bits();
        self.run += 1;
        self.numbers = Rng::for_run(seed, 0);
        seed
    }

    fn next_u64(&mut self) -> u64 {
        self.numbers.bits()
    }
}
