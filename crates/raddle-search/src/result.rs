//! The result of a part of a search, as stored in a file.

use crate::budget::Stop;
use crate::firsts::Firsts;
use crate::run::Run;
use crate::shard::{Part, Shard};
use crate::shared::{Outcome, Search, may_stop};
use crate::tally::{LaneTally, Tally};
use raddle_engine::Census;
use raddle_model::IRoot;
use raddle_model::native::Covered;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run of a list: its number, its strategy, its number for that strategy, and its numbers.
pub(crate) type ListedRun = (u64, usize, u64, Run);

/// Everything that decides which runs a search makes, by name: program, strategies, seed, settings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(pub BTreeMap<String, String>);

impl Identity {
    /// Creates an identity from names and values.
    pub fn of<const N: usize>(facts: [(&str, String); N]) -> Identity {
        Identity(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns the first name with different values, and these values: of `self` and of `other`.
    pub fn difference(&self, other: &Identity) -> Option<(String, String, String)> {
        let value = |identity: &Identity, name: &String| identity.0.get(name).cloned().unwrap_or_default();
        let names = self.0.keys().chain(other.0.keys());
        names.map(|name| (name.clone(), value(self, name), value(other, name))).find(|(_, a, b)| a != b)
    }
}

/// The result of a part of a search, as stored in a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShardResult<F> {
    /// The shard.
    pub shard: Shard,
    /// The numbers of the runs, from the first one, before the second one, if only those of a range were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<(u64, u64)>,
    /// Identifies the search. Only parts of the same search can be merged.
    pub search: Identity,
    /// The largest number of runs of the search.
    pub(crate) most: u64,
    /// The failure that ends the search.
    pub(crate) stop: Stop,
    /// The number of the run at which the part stopped, if it did.
    pub stopped_at: Option<u64>,
    /// The number of the first run that discovered shared memory that other parts do not know, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) discovered_at: Option<u64>,
    /// True if runs are listed.
    pub(crate) is_listed: bool,
    /// The runs, by number, if the search can stop before all are executed. Otherwise they are only counted.
    pub(crate) runs: Vec<ListedRun>,
    pub(crate) counts: Counts,
    /// The first failing run, with its number.
    pub first: Option<(u64, F)>,
    /// The kind of the first failing run, if it was made before the search began again; the same for all parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) earlier: Option<String>,
}

impl<F> ShardResult<F> {
    /// Creates the result of `part` of `search`, which is identified by `name`. `failure` is its first failing run.
    pub fn new<G, E>(
        part: Part,
        name: Identity,
        search: &Search<'_>,
        outcome: &Outcome<G, E>,
        failure: Option<F>,
    ) -> ShardResult<F> {
        let listed = outcome.log.iter().map(|(turn, run)| (turn.number, turn.lane, turn.run, run.clone()));
        let own = outcome.earlier.as_ref().map(|kind| outcome.tally.without_failure(kind));
        let tally = own.as_ref().unwrap_or(&outcome.tally);
        // The time may have ended it before its last run.
        let reached = |(from, to): (u64, u64)| {
            let made = from + tally.runs + tally.cut_off;
            (from, if outcome.stopped_at.is_some() { to } else { made.min(to) })
        };
        ShardResult {
            shard: part.shard,
            window: part.window.map(reached),
            search: name,
            most: search.budget.runs,
            stop: search.budget.stop.clone(),
            stopped_at: outcome.stopped_at,
            discovered_at: outcome.discovered_at,
            is_listed: search.part.is_some_and(|part| part.window.is_none()) && may_stop(search),
            runs: listed.collect(),
            counts: Counts::of(tally),
            first: outcome.first.as_ref().zip(failure).map(|((turn, _), failure)| (turn.number, failure)),
            earlier: outcome.earlier.clone(),
        }
    }

    /// Returns the name of the part, for messages.
    pub(crate) fn name(&self) -> String {
        match self.window {
            Some((from, to)) => format!("the part with the runs from {from} to {to}"),
            None => format!("shard {}", self.shard),
        }
    }

    /// Returns the number of executed runs, those that their strategy cut off included.
    pub fn executed(&self) -> u64 {
        self.counts.runs.saturating_add(self.counts.cut_off)
    }

    /// Returns the number of failing runs.
    pub fn failures(&self) -> u64 {
        self.counts.failures
    }
}

/// The numbers of a tally that do not belong to single runs, or all of them if runs are not listed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) runs: u64,
    pub(crate) cut_off: u64,
    #[serde(default)]
    inconclusive: u64,
    pub(crate) failures: u64,
    kinds: BTreeMap<String, u64>,
    census: Vec<(u64, u64)>,
    #[serde(default)]
    firsts: Vec<(u64, u64)>,
    rests: u64,
    #[serde(default)]
    idle_timeouts: bool,
    #[serde(default)]
    interrupts: bool,
    #[serde(default)]
    statuses: BTreeMap<i32, u64>,
    threads: u64,
    steps: u64,
    outside_waits: u64,
    processes: u64,
    pub(crate) lanes: Vec<LaneTally>,
    estimate: Option<f64>,
    exposed: Vec<(IRoot, u64)>,
    covered: Covered,
    profiling_error: Option<String>,
    #[serde(default)]
    discoveries: u64,
    #[serde(default)]
    forked: u64,
    #[serde(default)]
    reset_difference: Option<String>,
    #[serde(default)]
    reset_unsupported: bool,
    #[serde(default)]
    forgot_writes: u64,
    #[serde(default)]
    has_weak_orders: bool,
    #[serde(default)]
    weak_runs: u64,
}

impl Counts {
    pub(crate) fn of(tally: &Tally) -> Counts {
        let mut census: Vec<(u64, u64)> = tally.census.iter().collect();
        census.sort_unstable();
        Counts {
            runs: tally.runs,
            cut_off: tally.cut_off,
            inconclusive: tally.inconclusive,
            failures: tally.failures,
            kinds: tally.kinds.clone(),
            census,
            firsts: tally.firsts.runs(),
            rests: tally.rests,
            idle_timeouts: tally.idle_timeouts,
            interrupts: tally.interrupts,
            statuses: tally.statuses.clone(),
            threads: tally.threads,
            steps: tally.steps,
            outside_waits: tally.outside_waits,
            processes: tally.processes,
            lanes: tally.lanes.clone(),
            estimate: tally.estimate,
            exposed: tally.exposed.iter().map(|(&root, &number)| (root, number)).collect(),
            covered: tally.covered.clone(),
            profiling_error: tally.profiling_error.clone(),
            discoveries: tally.discoveries,
            forked: tally.forked,
            reset_difference: tally.reset_difference.clone(),
            reset_unsupported: tally.reset_unsupported,
            forgot_writes: tally.forgot_writes,
            has_weak_orders: tally.has_weak_orders,
            weak_runs: tally.weak_runs,
        }
    }

    /// Returns true if the numbers agree with each other, and with the list of runs, if there is one.
    pub(crate) fn agree(&self, listed: Option<&[ListedRun]>) -> bool {
        let seen = self.census.iter().try_fold(0_u64, |sum, (_, times)| sum.checked_add(*times));
        let failed = self.kinds.values().try_fold(0_u64, |sum, times| sum.checked_add(*times));
        let made = self.lanes.iter().try_fold(0_u64, |sum, lane| sum.checked_add(lane.runs));
        let list_agrees = listed.is_none_or(|runs| {
            let is_sorted = runs.windows(2).all(|pair| pair[0].0 < pair[1].0);
            is_sorted && Some(runs.len() as u64) == self.runs.checked_add(self.cut_off)
        });
        let all = [seen, made].into_iter().all(|sum| sum == Some(self.runs));
        all && failed == Some(self.failures) && list_agrees
    }

    pub(crate) fn tally(&self) -> Tally {
        let mut census = Census::default();
        self.census.iter().for_each(|&(fingerprint, times)| _ = census.add(fingerprint, times));
        Tally {
            runs: self.runs,
            cut_off: self.cut_off,
            inconclusive: self.inconclusive,
            failures: self.failures,
            kinds: self.kinds.clone(),
            census,
            firsts: Firsts::of(self.firsts.clone()),
            rests: self.rests,
            idle_timeouts: self.idle_timeouts,
            interrupts: self.interrupts,
            statuses: self.statuses.clone(),
            threads: self.threads,
            steps: self.steps,
            outside_waits: self.outside_waits,
            processes: self.processes,
            lanes: self.lanes.clone(),
            estimate: self.estimate,
            exposed: self.exposed.iter().copied().collect(),
            covered: self.covered.clone(),
            profiling_error: self.profiling_error.clone(),
            discoveries: self.discoveries,
            forked: self.forked,
            reset_difference: self.reset_difference.clone(),
            reset_unsupported: self.reset_unsupported,
            forgot_writes: self.forgot_writes,
            has_weak_orders: self.has_weak_orders,
            weak_runs: self.weak_runs,
            ..Tally::default()
        }
    }
}
