//! POS: a random priority for every event, drawn again whenever a conflicting event is executed.
//!
//! Paper: Yuan, Yang, Gu, "Partial Order Aware Concurrency Sampling", CAV 2018 (Algorithm 4); called
//! POS* in Yuan's thesis, sections 3.4 and 3.5.
//! Guarantee: in a run with `k` events of `n` threads and at most `c` direct conflicts, any partial
//! order has probability at least `n^-k * r^u` with `l = ceil(c / (n-1))`, `r = n k / (k + (n-1) l)`, `u
//! = (k - l) / 2` (thesis, corollary 3.7). Test: `every_partial_order_meets_the_bound`.
//! Departures from the paper: the priority of an event is drawn when it is enabled, also if it was
//! enabled before. That makes no difference, because whatever disables an event conflicts with it (test
//! `a_disabling_event_conflicts_with_the_disabled_one` in tests/every_order.rs), unless the spin rule
//! descheduled its thread. The program exit (`Kind::Exit`) depends on every event but touches no object,
//! so its priority stays. The engine prevents starvation, so there is no reset every 1,000 yields.

use crate::catalogue::{Build, Capabilities, Entry, Exact, Family, parameter};
use crate::spec::SpecError;
use crate::tournament::Tournament;
use crate::values::Values;
use raddle_engine::{Choice, Plan, Point, Rng, SmallPoint, Strategy};
use raddle_model::{ObjectId, Reads, ThreadId};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "pos",
    family: Family::Randomized,
    summary: "a random priority for every event, drawn again after each conflict",
    parameters: &[parameter(
        "reads",
        "independent",
        "`dependent`: reads of one object conflict too (POS*- of the thesis)",
    )],
    source: "Yuan, Yang, Gu, CAV 2018; Yuan's thesis, chapter 3",
    guarantee: "any partial order: n^-k r^u (thesis, corollary 3.7; see `raddle lab bound`)",
    capabilities: Capabilities {
        exact: Some(|values| Ok(Exact::Pos(reads(values).map_err(|error| error.to_string())?))),
        ..Capabilities::NONE
    },
    build: Build::Alone(|values| Ok(Box::new(Pos::new(reads(values)?)))),
};

fn reads(values: &Values<'_>) -> Result<Reads, SpecError> {
    values.word("reads", &[("independent", Reads::Independent), ("dependent", Reads::Dependent)])
}

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Pos {
    reads: Reads,
    rng: Rng,
    /// Invariant at a choice: exactly the enabled threads, each with the priority of its next event.
    priorities: Tournament,
    /// If the only enabled thread was let run on at the latest choice, the step after that choice; otherwise
    /// 0.
    ran_on: u64,
}

impl Pos {
    /// Creates POS in which two reads of one object conflict or not. They do not in the paper's evaluation;
    /// if they do, it is the column POS*- of the thesis, table 3.2.
    pub fn new(reads: Reads) -> Pos {
        Pos { reads, rng: Rng::for_run(0, 0), priorities: Tournament::default(), ran_on: 0 }
    }

    /// Applies the changes since the last point; the first half of a choice.
    #[inline(always)] // It is a third of a choice; calls would cost as much as the work.
    pub(crate) fn update(&mut self, point: &Point<'_>) {
        point.for_changed(|thread, enabled| {
            if enabled {
                self.priorities.set(thread, self.rng.bits());
            } else {
                self.priorities.remove(thread);
            }
        });
    }

    /// Draws the priorities of the enabled events, of which none has one yet.
    pub(crate) fn draw(&mut self, enabled: &[ThreadId]) {
        enabled.iter().for_each(|&thread| self.priorities.set(thread, self.rng.bits()));
    }

    /// Draws again the priorities of the enabled events that conflict with the next one of `thread`, which is about to
    /// be executed; the second half of a choice.
    #[inline(always)] // It is a third of a choice; calls would cost as much as the work.
    pub(crate) fn reset_conflicting(&mut self, point: &Point<'_>, thread: ThreadId) {
        let [first, second] = point.operation(thread).touches;
        if let Some(object) = first.object() {
            self.reset_on(point, thread, object, first.writes());
            if let Some(object) = second.object() {
                self.reset_on(point, thread, object, second.writes());
            }
        }
    }

    #[inline(always)] // It is a third of a choice; calls would cost as much as the work.
    fn reset_on(&mut self, point: &Point<'_>, thread: ThreadId, object: ObjectId, writes: bool) {
        let writers = !writes && self.reads == Reads::Independent;
        point.for_rivals(thread, object, writers, |other| self.priorities.set(other, self.rng.bits()));
    }

    /// Returns the enabled thread of highest priority.
    #[inline(always)] // It is a third of a choice; calls would cost as much as the work.
    pub(crate) fn winner(&self) -> ThreadId {
        self.priorities.winner().expect("a point has an enabled thread")
    }

    /// Chooses between few threads.
    #[inline(always)] // Called once.
    fn choose_of_few(&mut self, point: &Point<'_>, few: SmallPoint<'_>) -> Choice {
        let enabled = few.enabled();
        self.draw_of_few(few.changed & enabled);
        self.priorities.remove_few(few.changed & !enabled);
        let thread = self.priorities.winner_of_few(few.count).expect("a point has an enabled thread");
        if enabled & (enabled - 1) == 0 {
            self.ran_on = point.step + 1;
            return Choice::RunOn(thread, u32::MAX);
        }
        let [first, second] = point.operation(thread).touches;
        if let Some(object) = first.object() {
            let writers = !first.writes() && self.reads == Reads::Independent;
            self.draw_of_few(few.rivals(thread, object, writers));
        }
        if let Some(object) = second.object() {
            return self.reset_and_run(point, thread, object, second.writes());
        }
        Choice::Run(thread)
    }

    #[inline(never)] // Keeps the path of memory accesses short.
    fn reset_and_run(
        &mut self,
        point: &Point<'_>,
        thread: ThreadId,
        object: ObjectId,
        writes: bool,
    ) -> Choice {
        self.reset_on(point, thread, object, writes);
        Choice::Run(thread)
    }

    /// Chooses between any number of threads, or after a thread has run on. For each step taken without a
    /// choice it draws a priority, as a choice would have done.
    #[inline(never)] // Keeps the path of a choice between few threads short.
    fn choose_otherwise(&mut self, point: &Point<'_>) -> Choice {
        if self.ran_on != 0 {
            for _ in self.ran_on..point.step {
                self.rng.bits();
            }
            self.ran_on = 0;
        }
        self.update(point);
        let thread = self.winner();
        self.reset_conflicting(point, thread);
        Choice::Run(thread)
    }

    /// Draws the priorities of few threads.
    #[inline(always)] // The loop hardly ever iterates twice.
    fn draw_of_few(&mut self, mut threads: u64) {
        while threads != 0 {
            self.priorities.set_few(threads.trailing_zeros(), self.rng.bits());
            threads &= threads - 1;
        }
    }

    /// Returns the stream of the run.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

impl Strategy for Pos {
    #[inline]
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.priorities.clear();
        self.ran_on = 0;
        Plan::Run
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> Choice {
        match point.few(self.priorities.few()) {
            Some(few) if self.ran_on == 0 => self.choose_of_few(point, few),
            _ => self.choose_otherwise(point),
        }
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
    use raddle_engine::{Census, Engine, explore};
    use raddle_testkit::{Script, affordable, assert_hit_rate, assert_never, hits, is_thorough};
    use std::ops::ControlFlow;

    #[test]
    fn every_partial_order_meets_the_bound() {
        // Two threads, six events, four of which can conflict: l = 4, r = 2*6 / (6 + 4), u = 1.
        let mut program = Script::straight(3, &["W1 W0 W0", "W2 W0 W0"]);
        let bound = 2_f64.powi(-6) * 1.2;
        let runs = affordable(60_000);
        let (mut engine, mut pos) = (Engine::new(Default::default()), Pos::new(Reads::Independent));
        let mut census = Census::default();
        explore(&mut engine, &mut program, &mut pos, (1, 0, runs), |_, run| {
            census.count(run.fingerprint);
            ControlFlow::Continue(())
        });
        if !is_thorough() {
            return;
        }
        assert_eq!(census.distinct(), 6);
        let least = census.least().unwrap() as f64;
        let mean = bound * runs as f64;
        assert!(least >= mean - 3.0 * mean.sqrt(), "{least} of {runs}, the bound promises {mean}");
    }

    #[test]
    fn reset_makes_repeated_conflicts_uniform() {
        // After thread 0 won the first conflict on object 0, thread 1 wins the second one half of the time. Without
        // the reset it would be a third.
        let mut program = Script::straight(1, &["W0 W0", "W0"]);
        let mut pos = Pos::new(Reads::Independent);
        let order = |events: &[raddle_model::Event]| events.iter().map(|e| e.thread.0).collect::<Vec<_>>();
        assert_hit_rate(40_000, 0.5, |seed| order(&program.run(&mut pos, seed).0) == [1, 0, 0]);
        assert_hit_rate(40_000, 0.25, |seed| order(&program.run(&mut pos, seed).0) == [0, 1, 0]);
        assert_hit_rate(40_000, 0.25, |seed| order(&program.run(&mut pos, seed).0) == [0, 0, 1]);
    }

    #[test]
    fn few_threads_are_chosen_like_many() {
        for number in 0..affordable(60) {
            let mut rng = Rng::for_run(23, number);
            let mut program = match number % 3 {
                0 => raddle_testkit::straight(&mut rng, 5, 12),
                1 => raddle_testkit::spawning(&mut rng),
                _ => raddle_testkit::mixed(&mut rng),
            };
            let reads = if number % 2 == 0 { Reads::Independent } else { Reads::Dependent };
            let (mut few, mut many) = (Pos::new(reads), Pos::new(reads));
            many.priorities.set(ThreadId(8), 1);
            assert_eq!((few.priorities.few(), many.priorities.few()), (8, 0));
            for seed in 0..affordable(30) {
                assert_eq!(program.run(&mut few, seed), program.run(&mut many, seed), "program {number}");
            }
        }
    }

    #[test]
    fn the_second_object_conflicts_too() {
        // Thread 0 takes the mutex and waits, which releases it: both conflict with thread 1's attempt, which
        // draws again twice. Thread 2's step keeps the priority c. Thread 0 goes first twice, then thread 1:
        // the integral of ((1 - c^2) / 2)^2 (1 - c) over c, 11/120. If the wait did not conflict by its
        // second object, 3/40.
        use raddle_engine::Resource;
        use raddle_model::Kind;
        use raddle_testkit::Act;
        let mut program = Script::new().mutex().object(Resource::condition());
        program = program.thread(&[Act::On(Kind::Lock, 0), Act::Wait(1, 0)]);
        program = program.thread(&[Act::On(Kind::TryLock, 0)]).thread(&[Act::Step]);
        let mut pos = Pos::new(Reads::Independent);
        let first = hits(60_000, |seed| {
            let (events, _) = program.run(&mut pos, seed);
            events.iter().map(|event| event.thread.0).take(3).eq([0, 0, 1])
        });
        assert!(!is_thorough() || first.abs_diff(5_500) < 4 * 71, "{first}");
    }

    #[test]
    fn reads_conflict_only_if_requested() {
        // Reads that do not conflict keep their priorities: thread 1 is between two reads of thread 0 in a sixth of
        // the runs (the middle one of three independent priorities), not in a quarter.
        let mut program = Script::straight(1, &["R0 R0", "R0"]);
        let middle = |events: &[raddle_model::Event]| events[1].thread.0 == 1;
        let mut relaxed = Pos::new(Reads::Independent);
        let in_between = hits(60_000, |seed| middle(&program.run(&mut relaxed, seed).0));
        assert!(!is_thorough() || in_between.abs_diff(10_000) < 4 * 92, "{in_between}");
        let mut strict = Pos::new(Reads::Dependent);
        let in_between = hits(60_000, |seed| middle(&program.run(&mut strict, seed).0));
        assert!(!is_thorough() || in_between.abs_diff(15_000) < 4 * 107, "{in_between}");
        assert_never(100, |seed| program.run(&mut strict, seed).0.len() != 3);
    }
}
