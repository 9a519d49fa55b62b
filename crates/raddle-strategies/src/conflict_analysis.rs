//! Conflict analysis ("+"): operations that never conflicted run at once; an inner strategy schedules the
//! others.
//!
//! Paper: Morpheus, Yuan's thesis, section 4.2.3. It remembers the signature of an operation: its thread
//! and code location ([`Signature::ThreadAndLocation`]). The location alone ([`Signature::Location`]) is
//! the scheme that the thesis compares with.
//! Guarantee: that of the inner strategy over the events that can conflict, once every conflicting
//! signature was seen to conflict. Test: `finds_what_the_inner_strategy_cannot`.
//! Departures from the paper: happens-before is that of synchronisation between threads (locks,
//! semaphores, creation and so on), not of messages. The order of operations that never conflicted is
//! fixed; in the paper it does not matter. UPO cannot be the inner strategy: it reads its path from the
//! enabled threads and states of every step.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::racing::find_conflicting;
use raddle_engine::{Census, Choice, Needs, Plan, Point, Rng, RunSummary, Strategy, ThreadSet};
use raddle_model::{Name, ThreadId, Trace, mix};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "conflict",
    family: Family::Wrapper,
    summary: "operations that never conflicted run at once; the inner strategy (any randomized one except upo and maple) schedules the others",
    parameters: &[],
    source: "Morpheus, Yuan's thesis, section 4.2.3",
    guarantee: "the inner strategy's, over conflicting events, once these are known",
    capabilities: Capabilities { skips_steps: true, ..Capabilities::NONE },
    build: Build::Around(|inner| Box::new(ConflictAnalysis::new(inner, Signature::ThreadAndLocation))),
};

/// The catalogue entry.
pub(crate) const BY_LOCATION: Entry = Entry {
    name: "conflict-place",
    family: Family::Wrapper,
    summary: "the same, but conflicts are identified by code location alone, not by thread and location",
    parameters: &[],
    source: "Morpheus, Yuan's thesis, section 4.5.3",
    guarantee: "the inner strategy's, over conflicting events, once these are known",
    capabilities: Capabilities { skips_steps: true, ..Capabilities::NONE },
    build: Build::Around(|inner| Box::new(ConflictAnalysis::new(inner, Signature::Location))),
};

/// The properties by which operations are considered alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signature {
    /// Their thread, and their code location.
    ThreadAndLocation,
    /// Their code location.
    Location,
}

impl Signature {
    /// Returns a hash of the signature of an operation, equal for two different ones with a probability of about 2^-64.
    fn of(self, thread: Name, location: Name) -> u64 {
        match self {
            Signature::ThreadAndLocation => mix(thread.0.wrapping_add(mix(location.0))),
            Signature::Location => mix(location.0),
        }
    }
}

/// The strategy; see the module documentation.
pub struct ConflictAnalysis {
    inner: Box<dyn Strategy>,
    scheme: Signature,
    /// The signatures that were seen to conflict, by names that are the same in all runs.
    conflicting: Census,
    /// The changes since the inner strategy was last asked.
    changed: ThreadSet,
    /// Threads whose next operation never conflicted, to be run at once.
    at_once: Vec<ThreadId>,
    inner_steps: u64,
    /// The events that the inner strategy decided, from which it learns.
    inner_trace: Trace,
}

impl ConflictAnalysis {
    /// Wraps `inner` in conflict analysis.
    pub fn new(inner: Box<dyn Strategy>, scheme: Signature) -> ConflictAnalysis {
        ConflictAnalysis {
            inner,
            scheme,
            conflicting: Census::default(),
            changed: ThreadSet::default(),
            at_once: Vec::new(),
            inner_steps: 0,
            inner_trace: Trace::default(),
        }
    }
}

/// Returns the signature of a thread's next operation.
fn signature(scheme: Signature, point: &Point<'_>, thread: ThreadId) -> u64 {
    scheme.of(point.thread_name(thread), point.location_name(point.operation(thread).location))
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
            if point.is_enabled(thread) && self.conflicting.of(signature) == 0 {
                self.at_once.push(thread);
            }
        }
        while let Some(thread) = self.at_once.pop() {
            let signature = signature(self.scheme, point, thread);
            if point.is_enabled(thread) && self.conflicting.of(signature) == 0 {
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

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.inner.pick_message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let trace = run.trace;
        let scheme = self.scheme;
        let signature = |event: usize| {
            let event = &trace.events[event];
            scheme.of(run.thread_name(event.thread), run.location_name(event.operation.location))
        };
        if self.inner.learns() {
            let decided = |&event: &usize| self.conflicting.of(signature(event)) > 0;
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
        find_conflicting(run, |event| _ = self.conflicting.count(signature(event)));
    }

    fn needs(&self) -> Needs {
        Needs { location_names: true, ..self.inner.needs() }
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
    use std::collections::BTreeSet;

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
        let mut plus = plus(Signature::ThreadAndLocation);
        program.run(&mut plus, 0);
        assert_hit_rate(2_000, 0.5, |seed| late(&mut program, &mut plus, seed));
        assert_hit_rate(2_000, 0.5, |seed| !late(&mut program, &mut plus, seed));
    }

    #[test]
    fn a_run_at_once_uses_no_randomness() {
        // Without conflicts there is one schedule, whatever the seed.
        let mut program = Script::straight(2, &["W0 W0 W0", "W1 W1 W1"]);
        let mut plus = plus(Signature::ThreadAndLocation);
        let first = program.run(&mut plus, 0).0;
        assert_never(100, |seed| program.run(&mut plus, seed).0 != first);
    }
    #[test]
    fn locations_alone_find_more_conflicts() {
        // The threads execute the same code, and only two of them with a common object.
        let mut program = Script::straight(3, &["W0", "W0", "W1 W1 W1"]);
        let others = |plus: &mut ConflictAnalysis, program: &mut Script| {
            let runs = (0..affordable(50)).map(|seed| program.run(plus, seed).0).collect::<Vec<_>>();
            let third =
                |events: &Vec<raddle_model::Event>| events.iter().position(|event| event.thread.0 == 2);
            runs[1..].iter().map(third).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(others(&mut plus(Signature::ThreadAndLocation), &mut program), 1, "it runs at once");
        let others = others(&mut plus(Signature::Location), &mut program);
        assert!(!is_thorough() || others > 1, "its position is random");
    }
}
