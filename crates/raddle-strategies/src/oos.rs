//! OOS, object-order sampling: a random order of the accesses to every racing object, all in one run.
//!
//! Ours; SURW steers one object a run, this steers all of them.
//! An object races if two of its accesses, one of them a write, are not ordered by synchronisation in some run seen; a
//! lock counts by its acquisitions. Each run draws for every racing object, independently, a uniformly random
//! interleaving of its accesses. A thread whose next operation touches such an object may go only if it is next in that
//! object's order. If every enabled thread is held (draws that contradict each other, or accesses that do not come), one of
//! them is taken at random and moved to the front of its object's order. Accesses beyond those learnt are free once
//! the object's order is over, and held like others until then.
//!
//! Guarantee: if there is one racing object, its accesses are as learnt and no thread waits for another one, every
//! interleaving of its accesses has the same probability. Test: `one_object_is_uniform`. Nothing is promised where draws for
//! several objects contradict each other; every partial order stays reachable. Test: `contradictions_are_resolved`.

use crate::profile::Profile;
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// Nothing is learnt from longer runs: looking for races in a run that went on to the step limit takes minutes.
const LONGEST: usize = 50_000;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Oos {
    /// How many runs are learnt from; racing objects are looked for in these.
    learning_runs: u64,
    learnt_runs: u64,
    rng: Rng,
    profile: Profile,
    /// Per number of an object: the numbers of the threads in the order in which they have to touch it.
    orders: Vec<Vec<u32>>,
    /// Per number of an object: how much of its order has happened.
    done: Vec<usize>,
    /// Scratch: the threads that are not held.
    free: Vec<ThreadId>,
}

impl Oos {
    /// OOS that learns from the first `learning_runs` runs.
    pub fn new(learning_runs: u64) -> Oos {
        Oos {
            learning_runs,
            learnt_runs: 0,
            rng: Rng::for_run(0, 0),
            profile: Profile::default(),
            orders: Vec::new(),
            done: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Who is next in the order of the object that `thread` is about to touch, if that order is not over.
    fn turn(&self, point: &Point<'_>, thread: ThreadId) -> Option<(usize, Option<u32>)> {
        let object = self.profile.contended(point.operation(thread))?;
        let next = *self.orders[object].get(self.done[object])?;
        Some((object, Some(next)))
    }
}

impl Strategy for Oos {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.profile.begin();
        let objects = self.profile.objects.len();
        self.orders.resize(objects, Vec::new());
        self.done.clear();
        self.done.resize(objects, 0);
        for (order, object) in self.orders.iter_mut().zip(&self.profile.objects) {
            order.clear();
            if !object.racing {
                continue;
            }
            for (thread, &count) in object.accesses.iter().enumerate() {
                order.extend(std::iter::repeat_n(thread as u32, count as usize));
            }
            for index in (1..order.len()).rev() {
                order.swap(index, self.rng.below(index as u64 + 1) as usize);
            }
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.profile.update(point);
        let mut free = std::mem::take(&mut self.free);
        free.clear();
        free.extend(point.enabled().iter().copied().filter(|&thread| match self.turn(point, thread) {
            Some((_, next)) => self.profile.roster.number(thread).map(|number| number as u32) == next,
            None => true,
        }));
        let held = free.is_empty();
        let among: &[ThreadId] = if held { point.enabled() } else { &free };
        let thread = among[self.rng.below(among.len() as u64) as usize];
        self.free = free;
        if let Some((object, _)) = self.turn(point, thread) {
            let number = self.profile.roster.number(thread).map(|number| number as u32);
            let rest = &mut self.orders[object][self.done[object]..];
            match rest.iter().position(|&entry| Some(entry) == number) {
                Some(position) => {
                    rest[..=position].rotate_right(1);
                    self.done[object] += 1;
                }
                // An access more than was learnt: the order goes on after it.
                None => debug_assert!(held, "a thread that is next is in the order"),
            }
        }
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        if self.learnt_runs < self.learning_runs {
            self.learnt_runs += 1;
            if run.trace.events.len() <= LONGEST {
                self.profile.learn(run, true);
            }
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
    use raddle_model::Kind;
    use raddle_testkit::{Act, Script, assert_hit_rate};
    use std::collections::BTreeMap;

    #[test]
    fn one_object_is_uniform() {
        let mut program = Script::straight(3, &["W1 W1 W1 W0 W1 W0 W0", "W0 W2 W2 W2 W2 W2 W0"]);
        let mut oos = Oos::new(5);
        (0..5).for_each(|seed| drop(program.run(&mut oos, seed)));
        let mut counts: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for seed in 0..40_000 {
            let (events, _) = program.run(&mut oos, seed);
            let touching = events.iter().filter(|e| e.operation.object().unwrap().0 == 0);
            *counts.entry(touching.map(|event| event.thread.0).collect()).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|&count| count.abs_diff(4_000) < 4 * 60), "{counts:?}");
    }

    #[test]
    fn objects_are_steered_independently() {
        // The order on object 0 and the order on object 1, each wanted with probability 1/2.
        let mut program = Script::straight(2, &["W0 W1", "W0 W1"]);
        let mut oos = Oos::new(5);
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert_hit_rate(20_000, 0.25, |seed| {
                let (events, _) = program.run(&mut oos, seed + 5);
                let on = |object| {
                    events.iter().find(|e| e.operation.object().unwrap().0 == object).unwrap().thread.0
                };
                on(0) == first && on(1) == second
            });
        }
    }

    #[test]
    fn contradictions_are_resolved() {
        // Draws that ask for a cycle: 0's write to object 1 before 1's, and 1's write to object 0 before 0's.
        let mut program = Script::straight(2, &["W0 W1", "W1 W0"]);
        let mut oos = Oos::new(5);
        for wanted in [[0, 0, 1, 1], [1, 1, 0, 0]] {
            assert_hit_rate(20_000, 0.2, |seed| {
                program.run(&mut oos, seed).0.iter().map(|event| event.thread.0).eq(wanted)
            });
        }
    }

    #[test]
    fn data_under_a_lock_is_left_alone() {
        let section = [Act::On(Kind::Lock, 0), Act::W(1), Act::W(1), Act::On(Kind::Unlock, 0)];
        let memory = raddle_engine::Resource::Memory;
        let mut program = Script::new().mutex().object(memory).thread(&section).thread(&section);
        let mut oos = Oos::new(10);
        (0..10).for_each(|seed| drop(program.run(&mut oos, seed)));
        let racing: Vec<bool> = oos.profile.objects.iter().map(|object| object.racing).collect();
        assert_eq!(racing, [true, false], "the lock races, what it protects does not");
    }
}
