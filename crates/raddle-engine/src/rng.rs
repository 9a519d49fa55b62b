//! The one source of randomness.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers that is the same on every machine and in every version: xoshiro256++ (Blackman
/// and Vigna), seeded with SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng {
    generator: Xoshiro256PlusPlus,
    /// The seed and number of the stream.
    seed: u64,
}

impl Rng {
    /// Creates the stream of run number `run` under `seed`.
    #[inline]
    pub fn for_run(seed: u64, run: u64) -> Rng {
        let seed = raddle_model::mix(seed).wrapping_add(run);
        // What `seed_from_u64` does, byte by byte: the first four numbers of SplitMix64.
        let number = |index: u64| raddle_model::mix(seed.wrapping_add(SPLIT_MIX.wrapping_mul(index)));
        let mut state = [0; 32];
        for (bytes, index) in state.as_chunks_mut::<8>().0.iter_mut().zip(1..) {
            *bytes = number(index).to_le_bytes();
        }
        Rng { generator: Xoshiro256PlusPlus::from_seed(state), seed }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Returns a number in `0..bound`, which must be positive. Its bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "there is no number below zero");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in `0..arity` for a choice of weak memory, in which 0 is the newest write. In half of all runs it is
    /// always 0, so that a run without old values stays likely however many choices it has; in the others it is 0 with probability 1/2 and
    /// any other number with equal probability.
    pub fn message(&mut self, arity: u32) -> u32 {
        let is_newest = self.takes_newest() || self.below(2) == 0;
        if is_newest { 0 } else { 1 + self.below(u64::from(arity - 1)) as u32 }
    }

    /// Returns true if [`message`](Rng::message) is always 0 in this run: then it is as under sequential consistency.
    pub fn takes_newest(&self) -> bool {
        raddle_model::mix(self.seed ^ MESSAGES) & 1 == 0
    }

    /// Returns a number in `0.0..1.0`, with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// The increment of SplitMix64.
const SPLIT_MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Tells the kind of a run apart from its numbers.
const MESSAGES: u64 = 0x6d65_7373_6167_6573;

#[cfg(test)]
mod tests {
    use super::*;

    use raddle_testkit::{affordable_rounds, is_thorough};

    #[test]
    fn the_stream_is_that_of_the_published_seeding() {
        for (seed, run) in [(0, 0), (1, 0), (9, 12_345), (u64::MAX, u64::MAX)] {
            let published = Xoshiro256PlusPlus::seed_from_u64(raddle_model::mix(seed).wrapping_add(run));
            assert_eq!(Rng::for_run(seed, run).generator, published);
        }
    }

    #[test]
    fn a_seed_always_means_the_same_numbers() {
        let mut rng = Rng::for_run(7, 3);
        let drawn: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(drawn, PINNED, "a changed generator changes the meaning of every seed");
        assert_ne!(Rng::for_run(7, 4).bits(), PINNED[0]);
    }

    const PINNED: [u64; 3] = [2931228088029991968, 13913667420391786146, 17866521633443663947];

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::for_run(1, 0);
        let mut counts = [0_u32; 5];
        for _ in 0..affordable_rounds(50_000) {
            counts[rng.below(5) as usize] += 1;
        }
        // Each count is binomial with mean 10,000 and sigma 89.
        assert!(!is_thorough() || counts.iter().all(|&count| count.abs_diff(10_000) < 4 * 89), "{counts:?}");
    }

    #[test]
    fn half_of_the_runs_read_the_newest_message_only() {
        let runs = affordable_rounds(4_000);
        let (mut newest_only, mut counts) = (0_u32, [0_u32; 4]);
        for run in 0..runs {
            let mut rng = Rng::for_run(3, run);
            let drawn: Vec<u32> = (0..40).map(|_| rng.message(4)).collect();
            if drawn.iter().all(|&message| message == 0) {
                newest_only += 1;
            } else {
                drawn.iter().for_each(|&message| counts[message as usize] += 1);
            }
        }
        // Sigma is 32 for the first and below 280 for the others.
        if is_thorough() {
            assert!(newest_only.abs_diff(2_000) < 4 * 32, "{newest_only}");
            let total: u32 = counts.iter().sum();
            assert!(counts[0].abs_diff(total / 2) < 4 * 280, "{counts:?}");
            assert!(counts[1..].iter().all(|count| count.abs_diff(total / 6) < 4 * 280), "{counts:?}");
        }
    }
}
