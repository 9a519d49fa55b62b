//! The results of shards, and their merge.
//!
//! Shards do not communicate. So the default portfolio does not adapt in them: it keeps the shares of its
//! first round. A strategy that learns stays with one shard, which executes all of its runs. Merging all
//! shards of a search gives the result of the shard `1/1`.

use crate::budget::Stop;
use crate::lanes::Lanes;
use crate::run::Run;
use crate::shard::Shard;
use crate::shared::{Outcome, Search, last_number, may_stop};
use crate::tally::{LaneTally, Tally};
use raddle_engine::Census;
use raddle_model::native::Covered;
use raddle_model::{IRoot, Ledger};
use raddle_strategies::portfolio::Turn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of a shard, as stored in a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShardResult<F> {
    /// The shard.
    pub shard: Shard,
    /// Identifies the search: program, strategies, seed, budget. Only shards of the same search can be
    /// merged.
    pub search: String,
    /// The failure that ends the search.
    stop: Stop,
    /// The number of the run at which the shard stopped, if it did.
    stopped_at: Option<u64>,
    /// True if runs are listed.
    is_listed: bool,
    /// The runs, by number, if the search can stop before all are executed. Otherwise they are only counted.
    runs: Vec<(u64, usize, u64, Run)>,
    counts: Counts,
    /// The first failing run, with its number.
    pub first: Option<(u64, F)>,
}

/// The numbers of a tally that do not belong to single runs, or all of them if runs are not listed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Counts {
    runs: u64,
    cut_off: u64,
    #[serde(default)]
    inconclusive: u64,
    failures: u64,
    kinds: BTreeMap<String, u64>,
    census: Vec<(u64, u64)>,
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
    lanes: Vec<LaneTally>,
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
    forgot_writes: u64,
    #[serde(default)]
    has_weak_orders: bool,
    #[serde(default)]
    weak_runs: u64,
}

impl Counts {
    fn of(tally: &Tally) -> Counts {
        let mut census: Vec<(u64, u64)> = tally.census.iter().collect();
        census.sort_unstable();
        Counts {
            runs: tally.runs,
            cut_off: tally.cut_off,
            inconclusive: tally.inconclusive,
            failures: tally.failures,
            kinds: tally.kinds.clone(),
            census,
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
            forgot_writes: tally.forgot_writes,
            has_weak_orders: tally.has_weak_orders,
            weak_runs: tally.weak_runs,
        }
    }

    /// Returns true if the numbers agree with each other, and with the list of runs, if there is one.
    fn agree(&self, listed: Option<&[(u64, usize, u64, Run)]>) -> bool {
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

    fn tally(&self) -> Tally {
        let mut census = Census::default();
        self.census.iter().for_each(|&(fingerprint, times)| _ = census.add(fingerprint, times));
        Tally {
            runs: self.runs,
            cut_off: self.cut_off,
            inconclusive: self.inconclusive,
            failures: self.failures,
            kinds: self.kinds.clone(),
            census,
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
            forgot_writes: self.forgot_writes,
            has_weak_orders: self.has_weak_orders,
            weak_runs: self.weak_runs,
            ..Tally::default()
        }
    }
}

/// The reason why results cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("no results to merge")]
    Empty,
    /// They belong to different searches.
    #[error("shard {shard} belongs to another search: `{found}` instead of `{expected}`")]
    Another {
        /// The one that differs from the first.
        shard: Shard,
        /// Its search.
        found: String,
        /// The search of the first.
        expected: String,
    },
    /// They belong to searches with different numbers of shards, or with different stop conditions.
    #[error("shard {shard} does not belong to the others: they have {count} shards and stop at {stop:?}")]
    Apart {
        /// The one that differs from the first.
        shard: Shard,
        /// Number of shards of the first.
        count: usize,
        /// The failure that ends the first.
        stop: Stop,
    },
    /// Two results of one shard differ.
    #[error("shard {shard} occurs twice with different results\nhelp: pass only one of the two files")]
    Twice {
        /// The shard.
        shard: Shard,
    },
    /// The numbers of a result are inconsistent.
    #[error(
        "the result of shard {shard} is damaged: its numbers are inconsistent\nhelp: run that shard again"
    )]
    Damaged {
        /// The shard.
        shard: Shard,
    },
    /// One is missing.
    #[error("shard {index}/{count} is missing\nhelp: run it, and pass its result too")]
    Missing {
        /// The 1-based shard.
        index: usize,
        /// Number of shards.
        count: usize,
    },
    /// The strategies are not those of the search.
    #[error("the results have {found} strategies, the search has {expected}")]
    Lanes {
        /// Number of strategies in the results.
        found: usize,
        /// Number of strategies in the search.
        expected: usize,
    },
}

impl<F: Clone + PartialEq> ShardResult<F> {
    /// Creates the result of a shard of `search`, which is called `name`.
    pub fn new<E>(
        shard: Shard,
        name: impl Into<String>,
        search: &Search<'_>,
        outcome: &Outcome<F, E>,
    ) -> ShardResult<F> {
        let listed = outcome.log.iter().map(|(turn, run)| (turn.number, turn.lane, turn.run, run.clone()));
        ShardResult {
            shard,
            search: name.into(),
            stop: search.budget.stop.clone(),
            stopped_at: outcome.stopped_at,
            is_listed: may_stop(search),
            runs: listed.collect(),
            counts: Counts::of(&outcome.tally),
            first: outcome.first.as_ref().map(|(turn, failure)| (turn.number, failure.clone())),
        }
    }
}

/// Merges the results of all shards of a search. A result may be passed more than once.
///
/// Returns the numbers and the first failing run, as for one process that executes all runs.
pub fn merge<F: Clone + PartialEq>(
    results: &[ShardResult<F>],
    lanes: &Lanes,
) -> Result<(Tally, Option<(u64, F)>), MergeError> {
    let first = results.first().ok_or(MergeError::Empty)?;
    let mut shards: BTreeMap<usize, &ShardResult<F>> = BTreeMap::new();
    for result in results {
        let shard = result.shard;
        if result.search != first.search {
            let (found, expected) = (result.search.clone(), first.search.clone());
            return Err(MergeError::Another { shard, found, expected });
        }
        if shard.count() != first.shard.count() || result.stop != first.stop {
            return Err(MergeError::Apart { shard, count: first.shard.count(), stop: first.stop.clone() });
        }
        let (found, expected) = (result.counts.lanes.len(), lanes.iter().len());
        if found != expected || result.runs.iter().any(|&(_, lane, ..)| lane >= expected) {
            return Err(MergeError::Lanes { found, expected });
        }
        if !result.counts.agree(result.is_listed.then_some(&result.runs[..])) {
            return Err(MergeError::Damaged { shard });
        }
        if shards.insert(shard.index(), result).is_some_and(|known| known != result) {
            return Err(MergeError::Twice { shard });
        }
    }
    let count = first.shard.count();
    if let Some(index) = (0..count).find(|index| !shards.contains_key(index)) {
        return Err(MergeError::Missing { index: index + 1, count });
    }
    let mut tally = Tally::new(lanes.iter().len());
    let mut earliest: Option<(u64, F)> = None;
    let mut log: Vec<(Turn, Run)> = Vec::new();
    for result in shards.values() {
        tally.merge(result.counts.tally(), &Ledger::default());
        let runs = result.runs.iter();
        log.extend(runs.map(|(number, lane, run, made)| {
            (Turn { number: *number, lane: *lane, run: *run }, made.clone())
        }));
        if let Some((number, failure)) = &result.first
            && earliest.as_ref().is_none_or(|(known, _)| number < known)
        {
            earliest = Some((*number, failure.clone()));
        }
    }
    let stopped_at = shards.values().filter_map(|result| result.stopped_at).min();
    if stopped_at.is_some() {
        tally.estimate = None;
    }
    let covered_at = tally.covered_at(lanes).filter(|_| lanes.may_cover_everything());
    if let Some(last) = last_number(stopped_at, covered_at) {
        log.sort_unstable_by_key(|(turn, _)| turn.number);
        tally = tally.up_to(last, &mut log);
    }
    tally.settle(lanes);
    Ok((tally, earliest))
}
