//! Random walk: at every step any enabled thread, with equal probability, the current one included.
//!
//! Paper: the baseline of all others; Yuan's thesis, section 2.2.1, and "original randomized scheduling" in the
//! randomized-stride paper, section II-A.
//! Guarantee: in a program with at most `n` enabled threads and `k` steps, any schedule has probability at least
//! `1 / n^k`. Test: `every_schedule_meets_the_bound`.
//! Departures from the paper: none.

use raddle_engine::{Choice, Plan, Point, Rng, Strategy};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    rng: Rng,
}

impl RandomWalk {
    /// A random walk.
    pub fn new() -> RandomWalk {
        RandomWalk { rng: Rng::for_run(0, 0) }
    }
}

impl Default for RandomWalk {
    fn default() -> RandomWalk {
        RandomWalk::new()
    }
}

impl Strategy for RandomWalk {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let enabled = point.enabled();
        let index = if enabled.len() == 1 { 0 } else { self.rng.below(enabled.len() as u64) };
        Choice::Run(enabled[index as usize])
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::{Script, assert_hit_rate};

    #[test]
    fn every_schedule_meets_the_bound() {
        let mut program = Script::straight(2, &["W0 W0", "W1 W1"]);
        let mut walk = RandomWalk::new();
        for wanted in [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0]] {
            assert_hit_rate(20_000, 1.0 / 16.0, |seed| {
                let (events, _) = program.run(&mut walk, seed);
                events.iter().map(|event| event.thread.0).eq(wanted)
            });
        }
    }
}
