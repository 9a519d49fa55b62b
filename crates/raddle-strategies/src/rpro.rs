//! RPro: PCT whose change points lie near each other.
//!
//! Paper: Cai and Yang, "Radius Aware Probabilistic Testing of Deadlocks with Guarantees", ASE 2016, as it is
//! used as a baseline by the randomized-stride paper, section V-B. Guarantee: a bug of depth `d >= 2` whose
//! change points all lie within `r` steps of the first one drawn is hit with probability at least `1 / (n * k
//! * (2r+1)^(d-2))` in a program with at most `n` threads and `k` steps. Test: `meets_the_bound_at_depth_3`.
//! Departures from the paper: that paper is not among our sources. "Within `r` steps" is taken on both sides
//! of the first point, as the first one drawn need not be the earliest; `k` is learnt as for PCT.

use crate::catalogue::{Build, Capabilities, Entry, Family, STEPS, parameter};
use crate::pct::Ranks;
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "rpro",
    family: Family::Randomized,
    summary: "PCT whose change points lie within a radius of the first",
    parameters: &[parameter("depth", "3", "d, as for pct"), parameter("radius", "10", "r, in steps"), STEPS],
    source: "Cai and Yang, ASE 2016",
    guarantee: "a bug of depth d >= 2 and radius r: 1/(n k (2r+1)^(d-2))",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|values| {
        let (depth, radius) = (values.depth()?, values.number("radius", 10)?);
        Ok(Box::new(RPro::new(depth, u64::from(radius), values.optional("steps")?)))
    }),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct RPro {
    depth: u32,
    radius: u64,
    steps: Option<u64>,
    rng: Rng,
    ranks: Ranks,
    /// Invariant: `depth - 1` steps in the order drawn; the i-th (from 1) lowers a thread to `depth - i`.
    change_at: Vec<u64>,
    longest: u64,
}

impl RPro {
    /// Creates RPro with this depth and radius; the number of steps is learnt if it is not given.
    pub fn new(depth: u32, radius: u64, steps: Option<u64>) -> RPro {
        let rng = Rng::for_run(0, 0);
        RPro { depth, radius, steps, rng, ranks: Ranks::default(), change_at: Vec::new(), longest: 0 }
    }
}

impl Strategy for RPro {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.ranks.clear();
        self.change_at.clear();
        let steps = self.steps.unwrap_or(self.longest);
        if steps > 0 && self.depth > 1 {
            let first = 1 + self.rng.below(steps);
            self.change_at.push(first);
            for _ in 2..self.depth {
                // A point before the first step or after the last one changes nothing.
                self.change_at
                    .push((first + self.rng.below(2 * self.radius + 1)).saturating_sub(self.radius));
            }
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.ranks.update(point, &mut self.rng);
        let thread = self.ranks.highest();
        for (index, &step) in self.change_at.iter().enumerate() {
            if step == point.step + 1 {
                self.ranks.lower(thread, (self.change_at.len() - index) as u32);
            }
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
    use raddle_testkit::{Script, affordable, assert_hit_rate, assert_never, is_thorough};

    #[test]
    fn meets_the_bound_at_depth_3() {
        // n = 3, k = 24; the change points of the wanted schedules are one step apart.
        let quiet = "W0 W0 W0 W0 W0 W0";
        let mut program =
            Script::straight(1, &[&[quiet, quiet, "W0 W0"].join(" "), "W0 W0 W0 W0 W0", "W0 W0 W0 W0 W0"]);
        let mut rpro = RPro::new(3, 2, Some(24));
        for (first, second) in [(1, 2), (2, 1)] {
            // Threads 1 and 2 are stopped after their first steps, thread 0 runs, then they continue in
            // either order.
            let mut rest = vec![0; 14];
            rest.extend([first; 4]);
            rest.extend([second; 4]);
            assert_hit_rate(60_000, 1.0 / (3.0 * 24.0 * 5.0), |seed| {
                let (events, _) = program.run(&mut rpro, seed);
                let schedule: Vec<u32> = events.iter().map(|event| event.thread.0).collect();
                schedule[0] + schedule[1] == 3 && schedule[2..] == rest
            });
        }
    }

    #[test]
    fn change_points_lie_on_both_sides_of_the_first() {
        let mut rpro = RPro::new(3, 3, Some(100));
        let mut at = [0_u64; 7];
        for seed in 0..affordable(14_000) {
            rpro.begin(Rng::for_run(seed, 0));
            let [first, second] = rpro.change_at[..] else { unreachable!("a depth of 3 has two points") };
            if first > 3 {
                at[(second + 3 - first) as usize] += 1;
            }
        }
        // 97 of 100 first points have room for all seven distances.
        assert!(!is_thorough() || at.iter().all(|&count| count.abs_diff(1_940) < 4 * 43), "{at:?}");
    }

    #[test]
    fn change_points_stay_within_the_radius() {
        let mut rpro = RPro::new(5, 3, Some(100));
        assert_never(2_000, |seed| {
            rpro.begin(Rng::for_run(seed, 0));
            rpro.change_at.iter().any(|&step| step.abs_diff(rpro.change_at[0]) > 3)
        });
    }
}
