//! OOS, object-order sampling: a random order of the accesses to every racing object, all in one run.
//!
//! Our own; SURW steers one object a run, this steers all of them. An object races if two of its accesses,
//! one of them a write, are not ordered by synchronisation in some run seen; a lock counts by its
//! acquisitions. Each run draws for every racing object, independently, a uniformly random interleaving of
//! its accesses. A thread whose next operation touches such an object may run only if it is next in that
//! object's order. If every enabled thread is held (draws that contradict each other, or accesses that do not
//! occur), one of them is chosen at random, one that accesses memory if there is one, and moved to the front
//! of its object's order. Accesses beyond those learnt are free once the object's order is complete, and held
//! like others until then.
//!
//! Among a hundred identical threads, a different one hardly ever has the first or the last access. So in
//! half of the runs threads with the same role count as one: the order is drawn for one of each role, and all
//! threads of a role take its positions, in any order among themselves; except for objects on which only
//! threads of one role race. Threads have the same role if they were seen to begin at the same locations.
//! Identifying events by their location, so that equal threads count as one, is an idea of RFF (Wolff et al.,
//! "Greybox Fuzzing for Concurrency Testing", ASPLOS 2024), whose constraints on reads-from pairs hold for
//! all events of a location.
//!
//! Guarantee: if there is one racing object, its accesses are as learnt and no thread waits for another one,
//! every interleaving of its accesses has the same probability in every run, or in every other one if threads
//! of different roles race and some have the same role. Tests: `one_object_is_uniform`,
//! `equal_threads_count_as_one_in_half_of_the_runs`. There is no guarantee if draws for several objects
//! contradict each other; every partial order stays reachable. Test: `contradictions_are_resolved`.

mod order;

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::profile::Profile;
use crate::racing::contended;
use crate::sums::{FEW, Sums};
use order::{Order, shuffle};
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{ObjectId, ThreadId};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "oos",
    family: Family::Randomized,
    summary: "a random order of the accesses to every racing object, all in one run",
    parameters: &[parameter("learn", "50", "number of runs to learn from")],
    source: "Raddle",
    guarantee: "uniform over the orders of one racing object; none for several",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|values| Ok(Box::new(Oos::new(values.positive("learn", 50)?)))),
};

/// The length of the longest run that is learnt from. A run that reached the step limit says little about others, and an order
/// of millions of accesses takes as long to draw as the run.
const LONGEST: usize = 50_000;

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Oos {
    /// Number of runs to learn from; they are searched for racing objects.
    learning_runs: u64,
    learnt_runs: u64,
    rng: Rng,
    profile: Profile,
    /// True if threads with the same role count as one in this run.
    by_role: bool,
    /// Per object number: the numbers of the threads, or their roles, in the order in which they have to
    /// touch it.
    orders: Vec<Order>,
    /// Scratch: the threads that are not held, or may no longer be.
    free: Vec<ThreadId>,
    /// With more than [`FEW`] threads: 1 for each enabled thread that is not held.
    free_of_many: Sums,
    /// With more than [`FEW`] threads: 1 for each enabled thread about to access memory, held or not.
    memory_of_many: Sums,
    /// With more than [`FEW`] threads: the object touched last.
    touched: Option<ObjectId>,
    /// Scratch: the groups of an object in the order drawn.
    drawn: Vec<u32>,
    /// Scratch: per group, the number of times it was drawn.
    times: Vec<u32>,
}

impl Oos {
    /// Creates OOS that learns from the first `learning_runs` runs.
    pub fn new(learning_runs: u64) -> Oos {
        Oos {
            learning_runs,
            learnt_runs: 0,
            rng: Rng::for_run(0, 0),
            profile: Profile::default(),
            by_role: false,
            orders: Vec::new(),
            free: Vec::new(),
            free_of_many: Sums::default(),
            memory_of_many: Sums::default(),
            touched: None,
            drawn: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Returns the object that `thread` is about to touch and the next entry of its order, if that order is
    /// not complete.
    fn turn(&self, point: &Point<'_>, thread: ThreadId) -> Option<(usize, u32)> {
        let object = self.profile.contended(point.operation(thread))?;
        Some((object, self.orders[object].next()?))
    }

    /// Returns true if `thread` is held.
    fn is_held(&self, point: &Point<'_>, thread: ThreadId) -> bool {
        self.turn(point, thread).is_some_and(|(object, next)| self.entry(object, thread) != Some(next))
    }

    /// Returns the entry of `thread` in the order of `object`: its number or its role.
    fn entry(&self, object: usize, thread: ThreadId) -> Option<u32> {
        let number = self.profile.roster.number(thread)?;
        let grouped = self.by_role && !self.profile.objects[object].groups.is_empty();
        if grouped { self.profile.role(number) } else { Some(number as u32) }
    }

    /// Draws an order of the groups of `object` as if each were one thread. All threads of a group take its
    /// positions.
    fn draw_by_role(&mut self, object: usize) {
        let Oos { profile, orders, drawn, times, rng, .. } = self;
        let groups = &profile.objects[object].groups;
        drawn.clear();
        for (index, group) in groups.iter().enumerate() {
            drawn.extend(std::iter::repeat_n(index as u32, group.most as usize));
        }
        shuffle(drawn, rng);
        times.clear();
        times.resize(groups.len(), 0);
        for &index in &*drawn {
            let group = groups[index as usize];
            let time = &mut times[index as usize];
            let so_far = |time: u32| u64::from(group.total) * u64::from(time) / u64::from(group.most);
            let share = so_far(*time + 1) - so_far(*time);
            *time += 1;
            orders[object].extend(group.role, share as usize);
        }
    }
}

impl Oos {
    /// Draws a thread that is not held; if there is none, one that accesses memory, because the order of locks determines that of
    /// most accesses under them; else any.
    fn among_few(&mut self, point: &Point<'_>) -> ThreadId {
        let mut free = std::mem::take(&mut self.free);
        free.clear();
        free.extend(point.enabled().iter().copied().filter(|&thread| !self.is_held(point, thread)));
        if free.is_empty() {
            let is_memory = |thread: &ThreadId| point.operation(*thread).kind.is_memory();
            free.extend(point.enabled().iter().copied().filter(is_memory));
        }
        let among: &[ThreadId] = if free.is_empty() { point.enabled() } else { &free };
        let thread = among[self.rng.below(among.len() as u64) as usize];
        self.free = free;
        thread
    }

    /// Does [`Oos::among_few`] for many threads, looking only at those for which something has changed.
    #[inline(never)] // Keeps the path of programs with few threads short.
    fn among_many(&mut self, point: &Point<'_>) -> ThreadId {
        if self.free_of_many.is_empty() {
            point.enabled().iter().for_each(|&thread| self.look_at(point, thread));
        } else {
            point.changed().for_each(|thread| self.look_at(point, thread));
            if let Some(object) = self.touched {
                let mut free = std::mem::take(&mut self.free);
                free.clear();
                self.profile.for_sharers(object, |object| free.extend(point.pending_on(object)));
                free.drain(..).for_each(|thread| self.look_at(point, thread));
                self.free = free;
            }
        }
        #[cfg(test)]
        tests::assert_up_to_date(self, point);
        let drawn = self.free_of_many.draw(&mut self.rng);
        let drawn = drawn.or_else(|| self.memory_of_many.draw(&mut self.rng));
        let thread = drawn.unwrap_or_else(|| {
            let enabled = point.enabled();
            enabled[self.rng.below(enabled.len() as u64) as usize]
        });
        self.touched = contended(point.operation(thread));
        thread
    }

    /// Records whether a thread is enabled, held, or about to access memory.
    fn look_at(&mut self, point: &Point<'_>, thread: ThreadId) {
        let enabled = point.is_enabled(thread);
        let memory = enabled && point.operation(thread).kind.is_memory();
        let free = enabled && !self.is_held(point, thread);
        self.free_of_many.set(thread, u64::from(free));
        self.memory_of_many.set(thread, u64::from(memory));
    }
}

impl Strategy for Oos {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.profile.begin();
        let objects = self.profile.objects.len();
        self.orders.resize(objects, Order::default());
        self.free_of_many.clear();
        self.memory_of_many.clear();
        self.touched = None;
        let grouped =
            self.profile.objects.iter().any(|object| object.is_racing() && !object.groups.is_empty());
        self.by_role = grouped && self.rng.below(2) == 0;
        for number in 0..objects {
            let object = &self.profile.objects[number];
            let order = &mut self.orders[number];
            order.clear();
            if !object.is_racing() {
                continue;
            }
            if self.by_role && !object.groups.is_empty() {
                self.draw_by_role(number);
                continue;
            }
            for &(thread, count) in &object.accesses {
                order.extend(thread, count as usize);
            }
            order.shuffle(&mut self.rng);
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.profile.update(point);
        let thread = if point.thread_count() <= FEW { self.among_few(point) } else { self.among_many(point) };
        if let Some((object, _)) = self.turn(point, thread)
            && let Some(own) = self.entry(object, thread)
        {
            // If it is not in the order, this is one access more than was learnt: the order continues after it.
            self.orders[object].take(own);
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
    use raddle_testkit::{Act, Script, affordable, assert_hit_rate, is_thorough};
    use std::collections::BTreeMap;

    /// Checks what is known of many threads against a scan of all of them.
    pub(super) fn assert_up_to_date(oos: &Oos, point: &Point<'_>) {
        let mut scanned = oos.clone();
        scanned.free_of_many.clear();
        scanned.memory_of_many.clear();
        for thread in (0..point.thread_count() as u32).map(ThreadId) {
            scanned.look_at(point, thread);
            let weights =
                |oos: &Oos| [&oos.free_of_many, &oos.memory_of_many].map(|sums| sums.weight(thread));
            assert_eq!(weights(oos), weights(&scanned), "{thread:?} at {}", point.step);
        }
    }

    #[test]
    fn many_threads_are_tracked() {
        // Checked at every step by `assert_up_to_date`.
        let mut rng = Rng::for_run(17, 0);
        let mut oos = Oos::new(5);
        let mut program = raddle_testkit::locked(&mut rng, 30);
        (0..20).for_each(|seed| drop(program.run(&mut oos, seed)));
        assert!(oos.profile.objects.iter().any(|object| object.is_racing()));
        assert!(!oos.free_of_many.is_empty(), "there are many threads");
    }

    #[test]
    fn one_object_is_uniform() {
        let mut program = Script::straight(3, &["W1 W1 W1 W0 W1 W0 W0", "W0 W2 W2 W2 W2 W2 W0"]);
        let mut oos = Oos::new(5);
        (0..5).for_each(|seed| drop(program.run(&mut oos, seed)));
        let mut counts: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for seed in 0..affordable(40_000) {
            let (events, _) = program.run(&mut oos, seed);
            let touching = events.iter().filter(|e| e.operation.object().unwrap().0 == 0);
            *counts.entry(touching.map(|event| event.thread.0).collect()).or_insert(0) += 1;
        }
        if !is_thorough() {
            return;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|&count| count.abs_diff(4_000) < 4 * 60), "{counts:?}");
    }

    #[test]
    fn equal_threads_count_as_one_in_half_of_the_runs() {
        // Six threads write; where among them is the read of the seventh? First and last have probability 1/7
        // by thread and 1/2 by role, the rest 5/7 and 0.
        let mut program = Script::new().object(raddle_engine::Resource::Memory);
        for _ in 0..6 {
            program = program.thread(&[Act::W(0)]);
        }
        program = program.thread(&[Act::Step, Act::R(0)]);
        let mut oos = Oos::new(5);
        (0..5).for_each(|seed| drop(program.run(&mut oos, seed)));
        let mut place = |seed| {
            let events = program.run(&mut oos, seed).0;
            let touching = events.iter().filter(|event| event.operation.object().is_some());
            touching.map(|event| event.thread.0).position(|thread| thread == 6).unwrap()
        };
        let ends = 1.0 / 14.0 + 1.0 / 4.0;
        assert_hit_rate(20_000, ends, |seed| place(seed) == 0);
        assert_hit_rate(20_000, ends, |seed| place(seed) == 6);
        assert_hit_rate(20_000, 5.0 / 14.0, |seed| (1..6).contains(&place(seed)));
    }

    #[test]
    fn equal_threads_that_race_only_with_each_other_do_not_count_as_one() {
        // Two threads read and write; main reads when they have ended. Four of the six orders lose an update;
        // fewer are lost because main's read is part of the draw and cannot come early. If the threads
        // counted as one, it would be half.
        let main = [Act::Spawn(1), Act::Spawn(2), Act::Join(1), Act::Join(2), Act::R(0)];
        let mut program = Script::new().object(raddle_engine::Resource::Memory).thread(&main);
        program = program.spawned(&[Act::R(0), Act::W(0)]).spawned(&[Act::R(0), Act::W(0)]);
        let mut oos = Oos::new(5);
        (0..5).for_each(|seed| drop(program.run(&mut oos, seed)));
        assert_hit_rate(20_000, 0.57, |seed| {
            let events = program.run(&mut oos, seed).0;
            let of_child = |event: &&raddle_model::Event| event.thread.0 > 0;
            let order: Vec<u32> = events.iter().filter(of_child).map(|event| event.thread.0).collect();
            order[0] != order[1]
        });
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
        // Draws that require a cycle: 0's write to object 1 before 1's, and 1's write to object 0 before 0's.
        let mut program = Script::straight(2, &["W0 W1", "W1 W0"]);
        let mut oos = Oos::new(5);
        for wanted in [[0, 0, 1, 1], [1, 1, 0, 0]] {
            assert_hit_rate(20_000, 0.2, |seed| {
                program.run(&mut oos, seed).0.iter().map(|event| event.thread.0).eq(wanted)
            });
        }
    }

    #[test]
    fn memory_orders_yield_to_lock_orders() {
        // Thread 0 first on one lock and thread 1 first on the other. A third of the orders drawn for the memory want thread 1's read
        // after both writes, and so thread 0 first on both locks.
        let (lock, unlock) = (|object| Act::On(Kind::Lock, object), |object| Act::On(Kind::Unlock, object));
        let writer = [lock(0), Act::W(2), unlock(0), lock(1), Act::W(2), unlock(1)];
        let reader = [lock(0), Act::R(2), unlock(0), lock(1), unlock(1)];
        let memory = raddle_engine::Resource::Memory;
        let mut program = Script::new().mutex().mutex().object(memory).thread(&writer).thread(&reader);
        let mut oos = Oos::new(20);
        (0..20).for_each(|seed| drop(program.run(&mut oos, seed)));
        assert!(oos.profile.objects.iter().all(|object| object.is_racing()));
        assert_hit_rate(20_000, 0.25, |seed| {
            let events = program.run(&mut oos, seed).0;
            let first = |lock| events.iter().find(|event| event.operation.object().unwrap().0 == lock);
            let first = |lock| first(lock).unwrap().thread.0;
            (first(0), first(1)) == (0, 1)
        });
    }

    #[test]
    fn data_under_a_lock_is_left_alone() {
        let section = [Act::On(Kind::Lock, 0), Act::W(1), Act::W(1), Act::On(Kind::Unlock, 0)];
        let memory = raddle_engine::Resource::Memory;
        let mut program = Script::new().mutex().object(memory).thread(&section).thread(&section);
        let mut oos = Oos::new(10);
        (0..10).for_each(|seed| drop(program.run(&mut oos, seed)));
        let racing: Vec<bool> = oos.profile.objects.iter().map(|object| object.is_racing()).collect();
        assert_eq!(racing, [true, false], "the lock races, what it protects does not");
    }
}
