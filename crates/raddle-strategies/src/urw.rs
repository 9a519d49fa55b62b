//! URW: a random walk weighted by the remaining work of each thread, so that all interleavings are equally
//! likely.
//!
//! Paper: the uniform random walk of "Selectively Uniform Concurrency Testing", ASPLOS 2025.
//! Guarantee: if every thread executes as many events as learnt and no thread blocks, every interleaving
//! has the same probability. Test: `all_interleavings_are_equally_likely`.
//! Departures from the paper: the first run is a random walk and learns the counts; later runs raise
//! them if a thread does more than was known.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::roster::Roster;
use crate::sums::{FEW, Sums};
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "urw",
    family: Family::Randomized,
    summary: "a random walk weighted by the remaining work of each thread",
    parameters: &[],
    source: "Selectively Uniform Concurrency Testing, ASPLOS 2025",
    guarantee: "uniform over interleavings, if counts are as learnt and no thread blocks",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|_| Ok(Box::new(Urw::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Urw {
    rng: Rng,
    roster: Roster,
    /// Per number of the roster: the events of the thread and of all that it creates.
    weight: Vec<u64>,
    /// Per thread of this run: its remaining weight, at least 1.
    left: Vec<u64>,
    /// Once there were more than [`FEW`] threads: the remaining weights of those that are enabled.
    sums: Sums,
}

impl Urw {
    /// Creates URW, which has no parameters.
    pub fn new() -> Urw {
        Urw {
            rng: Rng::for_run(0, 0),
            roster: Roster::default(),
            weight: Vec::new(),
            left: Vec::new(),
            sums: Sums::default(),
        }
    }
}

impl Default for Urw {
    fn default() -> Urw {
        Urw::new()
    }
}

impl Urw {
    /// Draws a thread if there are more than [`FEW`].
    #[inline(never)] // Keeps the path of programs with few threads short.
    fn among_many(&mut self, point: &Point<'_>) -> ThreadId {
        if self.sums.is_empty() {
            point.enabled().iter().for_each(|&thread| self.sums.set(thread, self.left[thread.index()]));
        } else {
            for thread in point.changed() {
                let weight = if point.is_enabled(thread) { self.left[thread.index()] } else { 0 };
                self.sums.set(thread, weight);
            }
        }
        #[cfg(test)]
        tests::assert_up_to_date(self, point);
        self.sums.draw(&mut self.rng).expect("an enabled thread has a weight of at least 1")
    }
}

impl Strategy for Urw {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.roster.begin();
        self.left.clear();
        self.sums.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        for index in self.roster.update(point)..point.thread_count() {
            let thread = ThreadId(index as u32);
            let weight = self.roster.number(thread).map_or(1, |number| self.weight[number]).max(1);
            self.left.push(weight);
            if let Some(parent) = point.parent(thread) {
                // It has just taken a step, so that `among_many` sees it among the changed threads.
                let left = &mut self.left[parent.index()];
                *left = left.saturating_sub(weight).max(1);
            }
        }
        let thread = if point.thread_count() <= FEW {
            weighted(point.enabled(), &self.left, &mut self.rng)
        } else {
            self.among_many(point)
        };
        let left = &mut self.left[thread.index()];
        *left = (*left - 1).max(1);
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let mut weight = vec![0_u64; run.thread_count()];
        for event in &run.trace.events {
            weight[event.thread.index()] += 1;
        }
        // Children have larger ids than their parents.
        for index in (0..weight.len()).rev() {
            if let Some(parent) = run.trace.parents[index] {
                weight[parent.index()] += weight[index];
            }
        }
        for (index, &count) in weight.iter().enumerate() {
            let number = self.roster.learn(run.thread_name(ThreadId(index as u32)));
            self.weight.resize(self.roster.len(), 0);
            self.weight[number] = self.weight[number].max(count);
        }
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Draws one of `threads`, with probability proportional to its entry in `weights`; uniform if all are zero.
pub(crate) fn weighted(threads: &[ThreadId], weights: &[u64], rng: &mut Rng) -> ThreadId {
    let total: u64 = threads.iter().map(|thread| weights[thread.index()]).sum();
    if total == 0 {
        return threads[rng.below(threads.len() as u64) as usize];
    }
    let mut drawn = rng.below(total);
    for &thread in threads {
        let weight = weights[thread.index()];
        if drawn < weight {
            return thread;
        }
        drawn -= weight;
    }
    unreachable!("a number below the total falls into one of its parts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::{Act, Script, affordable, is_thorough};
    use std::collections::BTreeMap;

    fn spread(mut program: Script, runs: u64) -> BTreeMap<Vec<u32>, u64> {
        let mut urw = Urw::new();
        program.run(&mut urw, 0);
        let mut counts = BTreeMap::new();
        for seed in 1..=affordable(runs) {
            let (events, _) = program.run(&mut urw, seed);
            *counts.entry(events.iter().map(|event| event.thread.0).collect()).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn all_interleavings_are_equally_likely() {
        // 5! / (3! 2!) = 10 interleavings; a random walk would give 1/16 to one and 1/4 to another.
        let counts = spread(Script::straight(1, &["W0 W0 W0", "W0 W0"]), 40_000);
        if !is_thorough() {
            return;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|&count| count.abs_diff(4_000) < 4 * 60), "{counts:?}");
    }

    #[test]
    fn children_count_for_their_parent() {
        // Main spawns two children of two steps and has a step of its own in between.
        let main = [Act::Spawn(1), Act::Step, Act::Spawn(2)];
        let program = Script::new().thread(&main).spawned(&[Act::Step; 2]).spawned(&[Act::Step; 2]);
        let counts = spread(program, 400_000);
        if !is_thorough() {
            return;
        }
        // After the first spawn: thread 1's two steps among main's step, the second spawn and thread 2's two steps, of
        // which the four of main and thread 2 are in a fixed order: 6! / (2! 4!) = 15 interleavings of these; thread 2's
        // steps come after all of main's.
        assert_eq!(counts.len(), 15);
        let mean = 400_000 / 15;
        assert!(counts.values().all(|&count| count.abs_diff(mean) < 4 * 158), "{counts:?}");
    }

    /// Checks the sums of many threads against the weights of all of them.
    pub(super) fn assert_up_to_date(urw: &Urw, point: &Point<'_>) {
        for (thread, &left) in (0..).map(ThreadId).zip(&urw.left) {
            let expected = if point.is_enabled(thread) { left } else { 0 };
            assert_eq!(urw.sums.weight(thread), expected, "{thread:?} at {}", point.step);
        }
    }

    #[test]
    fn many_threads_are_weighted_like_few() {
        // 20 of the 40 events are those of thread 0. Every step is checked by `assert_up_to_date`.
        let mut texts = vec!["W0"; 20];
        let long = ["W0"; 20].join(" ");
        texts.insert(0, &long);
        let mut program = Script::straight(1, &texts);
        let mut urw = Urw::new();
        program.run(&mut urw, 0);
        raddle_testkit::assert_hit_rate(20_000, 0.5, |seed| {
            program.run(&mut urw, seed + 1).0[0].thread == ThreadId(0)
        });
    }

    #[test]
    fn many_children_count_for_their_parent() {
        let main: Vec<Act> = (1..=20).flat_map(|child| [Act::Spawn(child), Act::Step]).collect();
        let mut program = Script::new().thread(&main);
        for child in 1..=20 {
            program = program.spawned(&vec![Act::Step; child as usize]);
        }
        let mut urw = Urw::new();
        (0..50).for_each(|seed| drop(program.run(&mut urw, seed)));
        assert!(!urw.sums.is_empty(), "there are many threads");
    }
}
