//! Conflict analysis ("+"): operations that never conflicted run at once, the others as an inner strategy says.
//!
//! Paper: Morpheus, Yuan's thesis, section 4.2.3.
//! What is remembered is the signature of an operation: which thread, and where in the code ([`Signature::ThreadAndPlace`]). The place alone
//! ([`Signature::Place`]) is the scheme that the thesis compares with.
//! Guarantee: that of the inner strategy over the events that can conflict, once every signature that conflicts was
//! seen to do so. Test: `finds_what_the_inner_strategy_cannot`.
//! Departures from the paper: happens-before is that of synchronisation between threads (locks, semaphores, creation and
//! so on), not of messages. Which of several operations that never conflicted runs first is fixed, as in the paper it does
//! not matter. UPO cannot be the inner strategy: it reads its path from the enabled threads and states of every step.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy, ThreadSet, conflicts};
use raddle_model::{Name, ThreadId, Trace};
use std::collections::BTreeSet;

/// The entry in the catalogue.
pub(crate) const ENTRY: Entry = Entry {
    name: "conflict",
    family: Family::Wrapper,
    summary: "operations that never conflicted run at once, the others as the inner strategy (any randomized one but upo and maple) says",
    parameters: &[],
    source: "Morpheus, Yuan's thesis, section 4.2.3",
    guarantee: "the inner strategy's, over conflicting events, once these are known",
    capabilities: Capabilities { skips_steps: true, ..Capabilities::NONE },
    build: Build::Around(|inner| Box::new(ConflictAnalysis::new(inner, Signature::ThreadAndPlace))),
};

/// The entry in the catalogue.
pub(crate) const BY_PLACE: Entry = Entry {
    name: "conflict-place",
    family: Family::Wrapper,
    summary: "the same, but what conflicted is known by the place in the code alone, not by thread and place",
    parameters: &[],
    source: "Morpheus, Yuan's thesis, section 4.5.3",
    guarantee: "the inner strategy's, over conflicting events, once these are known",
    capabilities: Capabilities { skips_steps: true, ..Capabilities::NONE },
    build: Build::Around(|inner| Box::new(ConflictAnalysis::new(inner, Signature::Place))),
};

/// What operations have to have in common to be taken for alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signature {
    /// Their thread, and their place in the code.
    ThreadAndPlace,
    /// Their place in the code.
    Place,
}

impl Signature {
    fn of(self, thread: Name, place: Name) -> (Name, Name) {
        match self {
            Signature::ThreadAndPlace => (thread, place),
            Signature::Place => (Name(0), place),
        }
    }
}

/// See the module's documentation.
pub struct ConflictAnalysis {
    inner: Box<dyn Strategy>,
    scheme: Signature,
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
    pub fn new(inner: Box<dyn Strategy>, scheme: Signature) -> ConflictAnalysis {
        ConflictAnalysis {
            inner,
            scheme,
            conflicting: BTreeSet::new(),
            changed: ThreadSet::default(),
            at_once: Vec::new(),
            inner_steps: 0,
            inner_trace: Trace::default(),
        }
    }
}

/// The signature of what a thread is about to execute.
fn signature(scheme: Signature, point: &Point<'_>, thread: ThreadId) -> (Name, Name) {
    scheme.of(point.thread_name(thread), point.place_name(point.operation(thread).location))
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
            let signature = signature(self.scheme, point, thread);
            if point.is_enabled(thread) && !self.conflicting.contains(&signature) {
                self.at_once.push(thread);
            }
        }
        while let Some(thread) = self.at_once.pop() {
            let signature = signature(self.scheme, point, thread);
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
        let scheme = self.scheme;
        let signature = |event: usize| {
            let event = &trace.events[event];
            scheme.of(run.thread_name(event.thread), run.place_name(event.operation.location))
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
            scheme: self.scheme,
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
    use raddle_testkit::{Script, affordable, assert_hit_rate, assert_never, is_thorough};

    fn plus(scheme: Signature) -> ConflictAnalysis {
        ConflictAnalysis::new(Box::new(RandomWalk::new()), scheme)
    }

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
        let mut plus = plus(Signature::ThreadAndPlace);
        program.run(&mut plus, 0);
        assert_hit_rate(2_000, 0.5, |seed| late(&mut program, &mut plus, seed));
        assert_hit_rate(2_000, 0.5, |seed| !late(&mut program, &mut plus, seed));
    }

    #[test]
    fn a_run_at_once_uses_no_randomness() {
        // Without conflicts there is one schedule, whatever the seed.
        let mut program = Script::straight(2, &["W0 W0 W0", "W1 W1 W1"]);
        let mut plus = plus(Signature::ThreadAndPlace);
        let first = program.run(&mut plus, 0).0;
        assert_never(100, |seed| program.run(&mut plus, seed).0 != first);
    }
    #[test]
    fn places_alone_take_more_for_conflicting() {
        // The threads execute the same code, and only two of them with a common object.
        let mut program = Script::straight(3, &["W0", "W0", "W1 W1 W1"]);
        let others = |plus: &mut ConflictAnalysis, program: &mut Script| {
            let runs = (0..affordable(50)).map(|seed| program.run(plus, seed).0).collect::<Vec<_>>();
            let third =
                |events: &Vec<raddle_model::Event>| events.iter().position(|event| event.thread.0 == 2);
            runs[1..].iter().map(third).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(others(&mut plus(Signature::ThreadAndPlace), &mut program), 1, "it runs at once");
        let places = others(&mut plus(Signature::Place), &mut program);
        assert!(!is_thorough() || places > 1, "its turn is drawn");
    }
}
