//! Conflict analysis ("+"): operations that never conflicted run at once, the others as an inner strategy says.
//!
//! Paper: Morpheus, Yuan's thesis, section 4.2.3.
//! Guarantee: that of the inner strategy over the events that can conflict, once every signature that conflicts was
//! seen to do so. Test: `finds_what_the_inner_strategy_cannot`.
//! Departures from the paper: happens-before is that of synchronisation between threads (locks, semaphores, creation and
//! so on), not of messages. Which of several operations that never conflicted runs first is fixed, as in the paper it does
//! not matter. UPO cannot be the inner strategy: it reads its path from the enabled threads and states of every step.

use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy, ThreadSet, conflicts};
use raddle_model::{Name, ThreadId, Trace};
use std::collections::BTreeSet;

/// See the module's documentation.
pub struct ConflictAnalysis {
    inner: Box<dyn Strategy>,
    /// The signatures that were seen to conflict: which thread, and where in the code, by names that outlast a run.
    conflicting: BTreeSet<(Name, Name)>,
    /// What changed since the inner strategy was asked last.
    changed: ThreadSet,
    /// Threads whose next operation never conflicted, to be run at once.
    at_once: Vec<ThreadId>,
    inner_steps: u64,
    /// What the inner strategy learns from: the events that it decided.
    inner_trace: Trace,
}

impl ConflictAnalysis {
    /// Conflict analysis around `inner`.
    pub fn new(inner: Box<dyn Strategy>) -> ConflictAnalysis {
        ConflictAnalysis {
            inner,
            conflicting: BTreeSet::new(),
            changed: ThreadSet::default(),
            at_once: Vec::new(),
            inner_steps: 0,
            inner_trace: Trace::default(),
        }
    }
}

/// Which thread is about to execute something, and where in the code.
fn signature(point: &Point<'_>, thread: ThreadId) -> (Name, Name) {
    (point.thread_name(thread), point.place_name(point.operation(thread).location))
}

impl Strategy for ConflictAnalysis {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.changed.clear();
        self.at_once.clear();
        self.inner_steps = 0;
        self.inner.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        for thread in point.changed() {
            self.changed.insert(thread);
            let signature = signature(point, thread);
            if point.is_enabled(thread) && !self.conflicting.contains(&signature) {
                self.at_once.push(thread);
            }
        }
        while let Some(thread) = self.at_once.pop() {
            let signature = signature(point, thread);
            if point.is_enabled(thread) && !self.conflicting.contains(&signature) {
                return Choice::Run(thread);
            }
        }
        let choice = self.inner.choose(&point.for_inner(self.inner_steps, &self.changed));
        self.changed.clear();
        self.inner_steps += 1;
        match choice {
            // Others may have to run at once in between.
            Choice::RunOn(thread, _) => Choice::Run(thread),
            choice => choice,
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.inner.pick(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let trace = run.trace;
        let signature = |event: usize| {
            let event = &trace.events[event];
            (run.thread_name(event.thread), run.place_name(event.operation.location))
        };
        if self.inner.learns() {
            let decided = |&event: &usize| self.conflicting.contains(&signature(event));
            let decided: Vec<usize> = (0..trace.events.len()).filter(decided).collect();
            self.inner_trace.clear();
            self.inner_trace.events.extend(decided.iter().map(|&event| trace.events[event]));
            self.inner_trace.parents.extend_from_slice(&trace.parents);
            self.inner_trace.pending.extend_from_slice(&trace.pending);
            if !trace.enabled_from.is_empty() {
                for &event in &decided {
                    self.inner_trace.enabled_from.push(self.inner_trace.enabled.len() as u32);
                    self.inner_trace.enabled.extend_from_slice(trace.enabled_at(event));
                }
            }
            self.inner.learn(&run.with_trace(&self.inner_trace));
        }
        conflicts(run, |earlier, later| {
            self.conflicting.insert(signature(earlier));
            self.conflicting.insert(signature(later));
        });
    }

    fn needs(&self) -> Needs {
        Needs { places: true, ..self.inner.needs() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(ConflictAnalysis {
            inner: self.inner.fork(),
            conflicting: self.conflicting.clone(),
            changed: self.changed.clone(),
            at_once: self.at_once.clone(),
            inner_steps: self.inner_steps,
            inner_trace: self.inner_trace.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_walk::RandomWalk;
    use raddle_testkit::{Script, assert_hit_rate, assert_never};

    #[test]
    fn finds_what_the_inner_strategy_cannot() {
        // Thread 0's only event on object 0 after thread 1's, which has 40 private steps before it: a random walk needs
        // 2^-40, among the two events that conflict it is 1/2.
        let long = format!("{} W0", ["W1"; 40].join(" "));
        let mut program = Script::straight(2, &["W0", &long]);
        let late = |program: &mut Script, strategy: &mut dyn Strategy, seed| {
            program.run(strategy, seed).0.last().is_some_and(|event| event.thread.0 == 0)
        };
        let mut plain = RandomWalk::new();
        assert_never(2_000, |seed| late(&mut program, &mut plain, seed));
        let mut plus = ConflictAnalysis::new(Box::new(RandomWalk::new()));
        program.run(&mut plus, 0);
        assert_hit_rate(2_000, 0.5, |seed| late(&mut program, &mut plus, seed));
        assert_hit_rate(2_000, 0.5, |seed| !late(&mut program, &mut plus, seed));
    }

    #[test]
    fn a_run_at_once_uses_no_randomness() {
        // Without conflicts there is one schedule, whatever the seed.
        let mut program = Script::straight(2, &["W0 W0 W0", "W1 W1 W1"]);
        let mut plus = ConflictAnalysis::new(Box::new(RandomWalk::new()));
        let first = program.run(&mut plus, 0).0;
        assert_never(100, |seed| program.run(&mut plus, seed).0 != first);
    }
}
