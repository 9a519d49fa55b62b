//! The result of a check, as values and as text.

use super::run::{Interference, Plan};
use crate::check::{Failed, Failure, Memory, Passed};
use raddle_history::Condition;
use raddle_report::text::{count, plural};
use std::fmt::{self, Display, Formatter};

/// The result of a check that found nothing wrong.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The number of scenarios.
    pub scenarios: u64,
    /// The number of scenarios of which every interleaving meets the condition: no schedule is left.
    pub verified: u64,
    /// The number of interleavings (partial orders) of the verified scenarios.
    pub interleavings: u64,
    /// The number of runs, with those in which a thread is halted.
    pub runs: u64,
    /// The number of runs under weak memory.
    pub weak_runs: u64,
    /// The number of runs that reached the step limit and say nothing.
    pub inconclusive: u64,
    /// The number of steps at which a thread was halted, over all scenarios, and of those at which all schedules of the other
    /// threads were executed. 0 without [`lock_free`](super::Linearizability::lock_free).
    pub halts: u64,
    /// The part of [`Summary::halts`] for which no schedule is left.
    pub verified_halts: u64,
    /// The most steps that a call took, if they were counted.
    pub most_steps: u32,
    pub(super) halted_scenarios: u64,
    /// True if a scenario was verified under sequential consistency although it names weaker orders.
    pub(super) is_weak_unverified: bool,
    pub(super) condition: Condition,
}

impl Summary {
    /// Adds the searches of a scenario.
    pub(super) fn add(&mut self, passed: &[Passed]) {
        self.add_runs(passed);
        if let Some(all) = passed.iter().find(|passed| is_verified(passed)) {
            self.verified += 1;
            self.interleavings += all.partial_orders as u64;
            self.is_weak_unverified |= all.has_weak_orders && all.memory == Memory::Sc;
        }
    }

    /// Adds the searches of a scenario with a thread that halts.
    pub(super) fn add_halts(&mut self, passed: &[Passed]) {
        self.add_runs(passed);
        self.halts += 1;
        self.verified_halts += u64::from(passed.iter().any(is_verified));
    }

    fn add_runs(&mut self, passed: &[Passed]) {
        for passed in passed {
            self.runs += passed.runs;
            self.weak_runs += passed.weak_runs;
            self.inconclusive += passed.inconclusive;
        }
    }
}

fn is_verified(passed: &Passed) -> bool {
    passed.exhausted && passed.inconclusive == 0
}

fn adjective(condition: Condition) -> &'static str {
    match condition {
        Condition::Linearizable => "linearizable",
        Condition::SequentiallyConsistent => "sequentially consistent",
        Condition::QuiescentlyConsistent => "quiescently consistent",
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let what = adjective(self.condition);
        let runs = plural(self.runs, "run");
        match (self.scenarios, self.verified) {
            (1, 1) => {
                let orders = plural(self.interleavings, "interleaving");
                write!(f, "all {orders} of this scenario are {what} ({runs})")?;
            }
            (scenarios, verified) if scenarios == verified => write!(
                f,
                "{}: all {} are {what} ({runs})",
                plural(scenarios, "scenario"),
                plural(self.interleavings, "interleaving")
            )?,
            (scenarios, verified) => {
                write!(f, "{what} in {runs} of {}", plural(scenarios, "scenario"))?;
                if verified > 0 {
                    let orders = plural(self.interleavings, "interleaving");
                    write!(f, "; {} verified, with all {orders}", count(verified))?;
                }
            }
        }
        if self.weak_runs > 0 {
            write!(f, "; {} under weak memory", plural(self.weak_runs, "run"))?;
        }
        if self.is_weak_unverified {
            write!(
                f,
                "\nnote: scenarios were verified under sequential consistency, and atomics use weaker orders\nhelp: set RADDLE_MEMORY=weak to verify them under weak memory"
            )?;
        }
        if self.halts > 0 {
            write!(
                f,
                "\nlock-free: threads were halted at {} of {}, {} of them with all schedules of the others; at most {} a call",
                plural(self.halts, "step"),
                plural(self.halted_scenarios, "scenario"),
                count(self.verified_halts),
                plural(u64::from(self.most_steps), "step")
            )?;
        }
        if self.inconclusive > 0 {
            write!(
                f,
                "\nnote: {} reached the step limit and are inconclusive\nhelp: raise `step_limit` of `Config`",
                plural(self.inconclusive, "run")
            )?;
        }
        Ok(())
    }
}

/// A failure: the smallest scenario that was found, and one of its failing runs.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Refuted {
    /// What is wrong, in one line.
    pub headline: String,
    /// The calls of the scenario, a line for each thread.
    pub scenario: String,
    /// The calls with their results, and a picture of which calls overlapped.
    pub history: String,
    /// The number of scenarios that were examined until one failed; `None` for a replay.
    pub scenarios: Option<u64>,
    /// The number of runs before those of the scenario that failed.
    pub runs: u64,
    /// The failing run.
    pub failed: Failed,
}

impl Refuted {
    pub(super) fn of_one_thread(failed: Box<Failed>, scenario: String, scenarios: u64, runs: u64) -> Refuted {
        let headline = "the structure fails when one thread uses it".to_owned();
        Refuted {
            headline,
            scenario,
            history: String::new(),
            scenarios: Some(scenarios),
            runs,
            failed: *failed,
        }
    }

    /// Describes the latest run of `plan` on this OS thread.
    pub(super) fn new<S: Sync + 'static>(
        failed: Box<Failed>,
        plan: &Plan<S>,
        scenario: String,
        interference: Interference,
        searched: Option<(u64, u64)>,
    ) -> Refuted {
        let headline = match (&failed.failure, plan.panicked()) {
            (Failure::Assertion { message, .. }, Some(call)) => {
                format!("{call} panicked: {}", message.lines().next().unwrap_or_default())
            }
            (_, Some(call)) => format!("{call} panicked"),
            (Failure::Assertion { message, .. }, None) => message.clone(),
            (Failure::Deadlock { .. } | Failure::StepLimit { .. }, None) => {
                blocking(plan, &failed, interference)
            }
            (other, None) => format!("{} in a run of the scenario", other.kind()),
        };
        let history = plan.history().join("\n");
        let (scenarios, runs) =
            (searched.map(|(scenarios, _)| scenarios), searched.map_or(0, |(_, runs)| runs));
        Refuted { headline, scenario, history, scenarios, runs, failed: *failed }
    }
}

/// Returns the sentence about calls that do not return.
fn blocking<S: Sync + 'static>(plan: &Plan<S>, failed: &Failed, interference: Interference) -> String {
    let unfinished = plan.unfinished();
    let name = |(thread, text): &(u32, String)| {
        let name = format!("T{}", thread + 1);
        match failed.latest_location(&name) {
            Some(location) => format!("{text} on {name} at {location}"),
            None => format!("{text} on {name}"),
        }
    };
    let Some((victim, _)) = interference.halt else {
        let calls: Vec<String> = unfinished.iter().map(name).collect();
        return format!("never returns: {}", calls.join(", "));
    };
    let (halted, others): (Vec<_>, Vec<_>) =
        unfinished.iter().partition(|(thread, _)| *thread as usize == victim);
    let names = |calls: Vec<&(u32, String)>| calls.into_iter().map(name).collect::<Vec<_>>().join(", ");
    format!("not lock-free: while {} is halted, these cannot end: {}", names(halted), names(others))
}

impl std::error::Error for Refuted {}

impl Display for Refuted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline)?;
        if let Some(scenarios) = self.scenarios {
            writeln!(
                f,
                "the smallest failing scenario that was found; the first one was scenario {}, after {}",
                count(scenarios),
                plural(self.runs, "run")
            )?;
        }
        if self.history.is_empty() {
            writeln!(f, "\n{}", self.scenario)?;
        }
        write!(f, "\n{}", self.failed)
    }
}
