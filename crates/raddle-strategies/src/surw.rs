//! SURW: uniform over the interleavings of one object's accesses, the rest by random priorities.
//!
//! Paper: "Selectively Uniform Concurrency Testing", ASPLOS 2025.
//! Guarantee: if the target's accesses are as learnt and no thread waits for another one, every
//! interleaving of the accesses to the target has the same probability. Test: `the_target_is_uniform`.
//! Departures from the paper: the first run is BasicPOS and learns the counts; later runs raise them if
//! a thread does more than was known. A lock counts by its acquisitions. The intended thread is drawn
//! among the enabled ones, as one that waits cannot be next.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::profile::Profile;
use crate::tournament::Tournament;
use crate::urw::weighted;
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "surw",
    family: Family::Randomized,
    summary: "uniform over the orders of one object's accesses, another object each run",
    parameters: &[],
    source: "Selectively Uniform Concurrency Testing, ASPLOS 2025",
    guarantee: "uniform over the orders of the target's accesses, if counts are as learnt and no thread waits",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|_| Ok(Box::new(Surw::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Surw {
    rng: Rng,
    profile: Profile,
    /// Per thread number: the number of the thread that created it.
    parents: Vec<Option<usize>>,
    /// The number of this run's target, if there is a candidate.
    target: Option<usize>,
    /// Per thread number: its accesses to the target and those of all threads that it creates.
    weight: Vec<u64>,
    /// Per thread of this run: its remaining weight.
    left: Vec<u64>,
    /// Random priorities of the enabled threads that are not held.
    free: Tournament,
    held: Vec<ThreadId>,
    intended: Option<ThreadId>,
}

impl Surw {
    /// Creates SURW, which has no parameters.
    pub fn new() -> Surw {
        Surw {
            rng: Rng::for_run(0, 0),
            profile: Profile::default(),
            parents: Vec::new(),
            target: None,
            weight: Vec::new(),
            left: Vec::new(),
            free: Tournament::default(),
            held: Vec::new(),
            intended: None,
        }
    }

    /// Draws the target, with probability in proportion to its accesses, among the objects that at least half of the
    /// threads (and two) touch and one writes.
    fn draw_target(&mut self) {
        let enough = (self.profile.roster.len() / 2).max(2);
        let weight = |object: &crate::profile::ObjectProfile| {
            if object.written && object.threads() >= enough { object.total() } else { 0 }
        };
        let total: u64 = self.profile.objects.iter().map(weight).sum();
        self.target = None;
        if total == 0 {
            return;
        }
        let mut drawn = self.rng.below(total);
        for (number, object) in self.profile.objects.iter().enumerate() {
            let weight = weight(object);
            if drawn < weight {
                self.target = Some(number);
                break;
            }
            drawn -= weight;
        }
        let accesses =
            &self.profile.objects[self.target.expect("a number below the total names a target")].accesses;
        self.weight.clear();
        self.weight.resize(self.profile.roster.len(), 0);
        accesses.iter().for_each(|&(thread, count)| self.weight[thread as usize] = u64::from(count));
        // Parents are learnt before their children.
        for number in (0..self.weight.len()).rev() {
            if let Some(parent) = self.parents[number] {
                self.weight[parent] += self.weight[number];
            }
        }
    }

    /// Gives new threads their weight, and passes the intention on from a thread to one that it created.
    fn welcome(&mut self, point: &Point<'_>, first: usize) {
        for index in first..point.thread_count() {
            let thread = ThreadId(index as u32);
            let known = self.target.and(self.profile.roster.number(thread));
            let weight = known.map_or(0, |number| self.weight[number]);
            self.left.push(weight);
            if let Some(parent) = point.parent(thread) {
                let left = &mut self.left[parent.index()];
                if self.intended == Some(parent) && *left > 0 && self.rng.below(*left) < weight {
                    self.intended = Some(thread);
                }
                *left = left.saturating_sub(weight);
            }
        }
    }

    fn release(&mut self, point: &Point<'_>) {
        while let Some(thread) = self.held.pop() {
            if point.is_enabled(thread) {
                self.free.set(thread, self.rng.bits());
            }
        }
    }
}

impl Default for Surw {
    fn default() -> Surw {
        Surw::new()
    }
}

impl Strategy for Surw {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.profile.begin();
        self.left.clear();
        self.free.clear();
        self.held.clear();
        self.intended = None;
        self.draw_target();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let first = self.profile.update(point);
        self.welcome(point, first);
        for thread in point.changed() {
            self.held.retain(|&held| held != thread);
            if point.is_enabled(thread) {
                self.free.set(thread, self.rng.bits());
            } else {
                self.free.remove(thread);
            }
        }
        loop {
            let Some(thread) = self.free.winner() else {
                // Only held threads can run: the intention was wrong.
                self.intended = None;
                self.release(point);
                continue;
            };
            let on_target =
                self.target.is_some() && self.profile.contended(point.operation(thread)) == self.target;
            if !on_target {
                return Choice::Run(thread);
            }
            let left = &mut self.left[thread.index()];
            *left = (*left).max(1);
            let intended =
                *self.intended.get_or_insert_with(|| weighted(point.enabled(), &self.left, &mut self.rng));
            if thread == intended {
                self.left[thread.index()] -= 1;
                self.intended = None;
                self.release(point);
                return Choice::Run(thread);
            }
            self.free.remove(thread);
            self.held.push(thread);
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.profile.learn(run, false);
        let roster = &mut self.profile.roster;
        let numbers: Vec<usize> =
            (0..run.thread_count()).map(|id| roster.learn(run.thread_name(ThreadId(id as u32)))).collect();
        self.parents.resize(roster.len(), None);
        for (index, parent) in run.trace.parents.iter().enumerate() {
            self.parents[numbers[index]] = parent.map(|parent| numbers[parent.index()]);
        }
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::{Act, Script, affordable, is_thorough};
    use std::collections::BTreeMap;

    fn orders(mut program: Script, object: u32, runs: u64) -> BTreeMap<Vec<u32>, u64> {
        let mut surw = Surw::new();
        program.run(&mut surw, 0);
        let mut counts = BTreeMap::new();
        for seed in 1..=affordable(runs) {
            let (events, _) = program.run(&mut surw, seed);
            let touching = events.iter().filter(|e| e.operation.object().is_some_and(|o| o.0 == object));
            *counts.entry(touching.map(|event| event.thread.0).collect()).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn the_target_is_uniform() {
        // Only object 0 is a candidate; each of the 10 orders of its accesses is equally likely, however the steps on
        // the private objects lie.
        let program = Script::straight(3, &["W1 W1 W1 W0 W1 W0 W0", "W0 W2 W2 W2 W2 W2 W0"]);
        let counts = orders(program, 0, 40_000);
        if !is_thorough() {
            return;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|&count| count.abs_diff(4_000) < 4 * 60), "{counts:?}");
    }

    #[test]
    fn the_target_is_drawn_in_proportion_to_its_accesses() {
        // Object 0 has six accesses, object 1 has two.
        let mut program = Script::straight(2, &["W0 W0 W0 W1", "W0 W0 W0 W1"]);
        let mut surw = Surw::new();
        program.run(&mut surw, 0);
        let mut drawn = [0_u64; 2];
        for seed in 0..affordable(8_000) {
            let _ = surw.begin(Rng::for_run(seed, 1));
            drawn[surw.target.expect("both objects are candidates")] += 1;
        }
        assert!(!is_thorough() || drawn[0].abs_diff(6_000) < 4 * 39, "{drawn:?}");
    }

    #[test]
    fn the_most_accesses_count_not_the_latest() {
        let mut surw = Surw::new();
        Script::straight(1, &["W0 W0 W0", "W0"]).run(&mut surw, 0);
        Script::straight(1, &["W0", "W0 W0"]).run(&mut surw, 0);
        assert_eq!(surw.profile.objects[0].accesses, [(0, 3), (1, 2)]);
    }

    #[test]
    fn the_intention_passes_to_a_new_thread() {
        // Main creates two threads of two accesses each: all 6 orders are equally likely.
        let main = [Act::Spawn(1), Act::Step, Act::Step, Act::Spawn(2)];
        let accesses = [Act::Step, Act::W(0), Act::W(0)];
        let object = raddle_engine::Resource::Memory;
        let program = Script::new().object(object).thread(&main).spawned(&accesses).spawned(&accesses);
        let counts = orders(program, 0, 60_000);
        if !is_thorough() {
            return;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&count| count.abs_diff(10_000) < 4 * 92), "{counts:?}");
    }
}
