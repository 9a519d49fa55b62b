//! PCTLarge: PCT whose priorities are weights, so that a thread of low priority runs seldom instead of last.
//!
//! Paper: Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for Multithreaded Programs",
//! OOPSLA 2012, section 6.2, where it is a baseline: PCT with the nice values of Linux as priorities.
//! Guarantee: every schedule is possible. Test: `weights_decide_how_often_a_thread_runs`.
//! Departures from the paper: a step has no duration, so instead of a longer time slice a thread of
//! higher priority is drawn more often: by a quarter for each level, as with nice values. `k` is the
//! longest run seen unless it is given.

use crate::catalogue::{Build, Capabilities, Entry, Family, STEPS, parameter};
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "pct-large",
    family: Family::Randomized,
    summary: "PCT whose priorities are weights: a thread of low priority runs seldom, not last",
    parameters: &[parameter("depth", "3", "d, as for pct"), STEPS],
    source: "Yu and Narayanasamy, OOPSLA 2012 (PCTLarge)",
    guarantee: "every schedule is possible; no bound",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|values| Ok(Box::new(PctLarge::new(values.depth()?, values.optional("steps")?)))),
};

/// Number of priority levels above the one to which threads are lowered.
const LEVELS: u64 = 39;

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct PctLarge {
    depth: u32,
    steps: Option<u64>,
    rng: Rng,
    /// Invariant: one entry per thread seen in this run.
    weight: Vec<u64>,
    change_at: Vec<u64>,
    longest: u64,
}

impl PctLarge {
    /// Creates a strategy with `depth - 1` change points within `steps` steps, or within the length of the
    /// longest run.
    pub fn new(depth: u32, steps: Option<u64>) -> PctLarge {
        let (weight, change_at) = (Vec::new(), Vec::new());
        PctLarge { depth, steps, rng: Rng::for_run(0, 0), weight, change_at, longest: 0 }
    }

    fn draw(&mut self, enabled: &[ThreadId]) -> ThreadId {
        let total = enabled.iter().map(|thread| self.weight[thread.index()]).sum();
        let mut drawn = self.rng.below(total);
        for &thread in enabled {
            let weight = self.weight[thread.index()];
            if drawn < weight {
                return thread;
            }
            drawn -= weight;
        }
        unreachable!("a number below the total names a thread")
    }
}

/// Returns the weight of a level.
fn weight(level: u64) -> u64 {
    (0..level).fold(1_024, |weight, _| weight * 5 / 4)
}

impl Strategy for PctLarge {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.weight.clear();
        self.change_at.clear();
        let steps = self.steps.unwrap_or(self.longest);
        if steps > 0 {
            for _ in 1..self.depth {
                self.change_at.push(self.rng.below(steps));
            }
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        while self.weight.len() < point.thread_count() {
            self.weight.push(weight(1 + self.rng.below(LEVELS)));
        }
        let mut thread = self.draw(point.enabled());
        if self.change_at.contains(&point.step) {
            self.weight[thread.index()] = weight(0);
            thread = self.draw(point.enabled());
        }
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.longest = self.longest.max(run.trace.events.len() as u64);
    }

    fn learns(&self) -> bool {
        self.steps.is_none()
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::{Script, hits, is_thorough};

    #[test]
    fn weights_decide_how_often_a_thread_runs() {
        // Strict priorities let one thread run to its end; equal ones hardly ever.
        let steps = ["W0"; 20].join(" ");
        let mut program = Script::straight(1, &[&steps, &steps]);
        let mut strategy = PctLarge::new(1, Some(40));
        let mut alone = |strategy: &mut PctLarge, seed| {
            let (events, _) = program.run(strategy, seed);
            events[..20].iter().all(|event| event.thread == events[0].thread)
        };
        let count = hits(4_000, |seed| alone(&mut strategy, seed));
        assert!(!is_thorough() || (1_200..2_800).contains(&count), "{count}");
    }

    #[test]
    fn a_change_point_lowers_a_thread() {
        // With a change point in the first step the first thread to run has the least weight of all from then
        // on.
        let steps = ["W0"; 20].join(" ");
        let mut program = Script::straight(1, &[&steps, &steps]);
        let mut lowered = PctLarge::new(2, Some(1));
        let mut plain = PctLarge::new(1, Some(1));
        let mut switched = |strategy: &mut PctLarge, seed| {
            let (events, _) = program.run(strategy, seed);
            events[..10].iter().filter(|event| event.thread.0 == 0).count() == 5
        };
        let (with, without) = (
            hits(4_000, |seed| switched(&mut lowered, seed)),
            hits(4_000, |seed| switched(&mut plain, seed)),
        );
        assert!(!is_thorough() || with < without, "{with} of {without}");
    }
}
