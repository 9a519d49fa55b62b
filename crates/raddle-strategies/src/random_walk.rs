//! Random walk: at every step any enabled thread, with equal probability, the current one included.
//!
//! Paper: the baseline of all others; Yuan's thesis, section 2.2.1, and "original randomized scheduling"
//! in the randomized-stride paper, section II-A.
//! Guarantee: in a program with at most `n` enabled threads and `k` steps, any schedule has probability
//! at least `1 / n^k`. Test: `every_schedule_meets_the_bound`.
//! Departures from the paper: none.

use crate::catalogue::{Build, Capabilities, Entry, Exact, Family};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "random-walk",
    family: Family::Randomized,
    summary: "any enabled thread at every step",
    parameters: &[],
    source: "baseline of all papers",
    guarantee: "any schedule of k steps and n threads: 1/n^k",
    capabilities: Capabilities { exact: Some(|_| Ok(Exact::RandomWalk)), ..Capabilities::NONE },
    build: Build::Alone(|_| Ok(Box::new(RandomWalk::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    rng: Rng,
    ahead: Ahead,
}

/// Choices drawn ahead, while there are `count` enabled threads: number `index` up to step `until`, then
/// number `then`. If the count changes they are discarded, which depends on earlier choices only and so does
/// not affect the uniformity of the later ones.
#[derive(Clone, Copy, Default, Debug)]
struct Ahead {
    count: usize,
    index: usize,
    until: u64,
    then: usize,
}

/// The largest number of choices drawn ahead.
const FAR: u32 = 64;

impl RandomWalk {
    /// Creates a random walk.
    pub fn new() -> RandomWalk {
        RandomWalk { rng: Rng::for_run(0, 0), ahead: Ahead::default() }
    }
}

impl RandomWalk {
    /// Draws the number of consecutive times that number `index` of `count` is chosen next, and the choice
    /// after that.
    #[inline]
    fn draw_ahead(&mut self, count: usize, index: usize) -> (u32, usize) {
        let mut more = 0;
        let mut then = self.rng.below(count as u64) as usize;
        while then == index && more < FAR {
            more += 1;
            then = self.rng.below(count as u64) as usize;
        }
        (more, then)
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
        self.ahead = Ahead::default();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let enabled = point.enabled();
        let count = enabled.len();
        if count == 1 {
            self.ahead.count = 1;
            return Choice::RunOn(enabled[0], FAR);
        }
        let Ahead { count: known, index, until, then } = self.ahead;
        let index = if known == count && point.step <= until {
            return Choice::RunOn(enabled[index], (until - point.step) as u32);
        } else if known == count && point.step == until + 1 {
            then
        } else {
            self.rng.below(count as u64) as usize
        };
        let (more, then) = if count == 2 {
            // One bit per choice: zeros for the same thread, up to the first one.
            (self.rng.bits().trailing_zeros().min(FAR), 1 - index)
        } else {
            self.draw_ahead(count, index)
        };
        self.ahead = Ahead { count, index, until: point.step + u64::from(more), then };
        Choice::RunOn(enabled[index], more)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
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

    #[test]
    fn a_thread_takes_any_number_of_steps_in_a_row() {
        // Two threads and three of them, which draw ahead in different ways.
        let steps = "W0 W0 W0 W0 W0";
        for (threads, one) in [(vec![steps; 2], 1.0 / 2.0), (vec![steps; 3], 1.0 / 3.0)] {
            let mut program = Script::straight(1, &threads);
            let mut walk = RandomWalk::new();
            for row in 1..=5 {
                let bound = f64::powi(one, row);
                assert_hit_rate(40_000, bound, |seed| {
                    let (events, _) = program.run(&mut walk, seed);
                    events[..row as usize].iter().all(|event| event.thread.0 == 0)
                });
            }
        }
    }
}
