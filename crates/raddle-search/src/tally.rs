//! The numbers of a search.

use crate::bound::{Guarantee, Size};
use crate::firsts::Firsts;
use crate::lanes::Lanes;
use crate::run::{Details, Run};
use raddle_engine::Census;
use raddle_model::native::Covered;
use raddle_model::{IRoot, Ledger};
use raddle_strategies::portfolio::Turn;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The numbers of a search. They do not depend on the number of jobs, unless a time budget ended it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of complete runs.
    pub runs: u64,
    /// Number of runs that their strategy cut off.
    pub cut_off: u64,
    /// Number of failing runs.
    pub failures: u64,
    /// Number of runs that reached the step limit without a verdict; they are among the complete ones.
    pub inconclusive: u64,
    /// Number of times each kind of failure occurred.
    pub kinds: BTreeMap<String, u64>,
    /// Number of times each partial order occurred.
    pub census: Census,
    /// Number of times a spinning thread was descheduled.
    pub rests: u64,
    /// The largest number of threads of a run.
    pub threads: u64,
    /// The largest number of steps of a run.
    pub steps: u64,
    /// True if a run had timeouts, and these fired only when nothing else could run.
    pub idle_timeouts: bool,
    /// True if a thread of a run sent a signal to another one, or cancelled it.
    pub interrupts: bool,
    /// Number of times runs waited for something outside the program.
    pub outside_waits: u64,
    /// Number of runs that passed with each exit status of the program other than 0.
    pub statuses: BTreeMap<i32, u64>,
    /// Number of processes that runs started.
    pub processes: u64,
    /// The numbers of each strategy.
    pub lanes: Vec<LaneTally>,
    /// True if no schedule is left that the strategies promise to run.
    pub exhausted: bool,
    /// Number of partial orders that a strategy estimates, if one does.
    pub estimate: Option<f64>,
    /// The 1-based number of the run with the latest new partial order; only if one job executed all runs.
    pub last_new: Option<u64>,
    /// The numbers of the runs that had a partial order new to their job, with its fingerprint; empty for merged shards.
    pub firsts: Firsts,
    /// The iRoots exposed, with the number of the first run that exposed each.
    pub exposed: BTreeMap<IRoot, u64>,
    /// The growth of the number of exposed iRoots: (runs, iRoots) at every increase.
    pub saturation: Vec<(u64, u64)>,
    /// The iRoots that strategies know, and the names of code locations.
    pub covered: Covered,
    /// The reason why a profiling run for shared memory failed, if one did.
    pub profiling_error: Option<String>,
    /// Number of runs in which several threads touched memory that was not known to be shared.
    pub discoveries: u64,
    /// Number of runs, pruned ones included, for which a process was forked.
    pub forked: u64,
    /// The first difference between a run without a fork and the same run with one: an internal error.
    pub reset_difference: Option<String>,
    /// True if all runs of a job were forked because the system does not support others.
    pub reset_unsupported: bool,
    /// Runs in which a choice of weak memory was smaller than the model allows, pruned ones included.
    pub forgot_writes: u64,
    /// True if a run had an atomic access with a memory order weaker than sequential consistency.
    pub has_weak_orders: bool,
    /// Number of complete runs under weak memory.
    pub weak_runs: u64,
}

/// The runs of one strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LaneTally {
    /// Number of complete runs.
    pub runs: u64,
    /// Number of PCT runs that passed after the longest one, whose length was known by then; 0 for others
    /// once the search is over.
    #[serde(default)]
    pub passed_after_longest: u64,
    /// Number of steps of the longest run.
    #[serde(default)]
    pub longest: u64,
    /// Number of times a spinning thread was descheduled in them.
    #[serde(default)]
    pub rests: u64,
    /// Number of decisions in them with more than one answer.
    #[serde(default)]
    pub drawn: u64,
    /// The number of the turn for which it had no schedule left.
    pub exhausted_at: Option<u64>,
}

impl LaneTally {
    /// Returns true if the only decisions in its runs were the threads that its strategy chose.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.rests == 0 && self.drawn == 0
    }
}

impl Tally {
    /// Creates an empty tally for `lanes` strategies.
    pub fn new(lanes: usize) -> Tally {
        Tally { lanes: vec![LaneTally::default(); lanes], ..Tally::default() }
    }

    /// Counts a run.
    pub fn count(&mut self, turn: Turn, run: &Run) {
        self.forked += u64::from(run.forked);
        if let Some(details) = &run.details {
            self.forgot_writes += u64::from(details.forgot_writes);
            self.discoveries += u64::from(!details.discovered.is_empty());
            self.has_weak_orders |= details.has_weak_orders;
            self.interrupts |= details.interrupts;
        }
        if run.cut_off {
            self.cut_off += 1;
            return;
        }
        self.runs += 1;
        self.weak_runs += u64::from(run.weak_memory);
        self.rests += run.rests;
        self.idle_timeouts |= run.idle_timeouts;
        self.threads = self.threads.max(run.threads);
        self.steps = self.steps.max(run.steps);
        let is_new = self.census.count(run.fingerprint);
        if is_new {
            self.last_new = Some(turn.number + 1);
        }
        self.firsts.note(turn.number, run.fingerprint, is_new);
        let lane = &mut self.lanes[turn.lane];
        lane.runs += 1;
        lane.rests += run.rests;
        lane.drawn += run.drawn;
        if run.steps > lane.longest {
            (lane.longest, lane.passed_after_longest) = (run.steps, 0);
        } else {
            lane.passed_after_longest += u64::from(run.kind().is_none() && !run.is_inconclusive());
        }
        let Some(details) = &run.details else { return };
        self.count_details(turn.number, details);
    }

    fn count_details(&mut self, number: u64, details: &Details) {
        if let Some(kind) = &details.kind {
            self.failures += 1;
            match self.kinds.get_mut(kind) {
                Some(count) => *count += 1,
                None => _ = self.kinds.insert(kind.clone(), 1),
            }
        }
        self.inconclusive += u64::from(details.inconclusive);
        if details.status != 0 && details.kind.is_none() {
            *self.statuses.entry(details.status).or_default() += 1;
        }
        self.outside_waits += details.outside_waits;
        self.processes += details.processes;
        if self.profiling_error.is_none() {
            self.profiling_error.clone_from(&details.profiling_error);
        }
        self.reset_unsupported |= details.reset_unsupported;
        if self.reset_difference.is_none() {
            self.reset_difference.clone_from(&details.reset_difference);
        }
        let before = self.exposed.len();
        for &root in &details.exposed {
            let first = self.exposed.entry(root).or_insert(number);
            *first = number.min(*first);
        }
        if self.exposed.len() > before {
            self.saturation.push((self.runs, self.exposed.len() as u64));
        }
    }

    /// Adds a failing run that was made before the search began again. It counts as forked.
    pub(crate) fn add_failure(&mut self, kind: String) {
        self.runs += 1;
        self.forked += 1;
        self.failures += 1;
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Returns the same numbers without a run that [`Tally::add_failure`] added.
    pub(crate) fn without_failure(&self, kind: &str) -> Tally {
        let mut tally = self.clone();
        tally.runs -= 1;
        tally.forked -= 1;
        tally.failures -= 1;
        tally.kinds.entry(kind.to_owned()).and_modify(|count| *count -= 1);
        tally.kinds.retain(|_, count| *count > 0);
        tally
    }

    /// Adds the runs of another job of the same search, which began with the iRoots of `base`.
    pub fn merge(&mut self, other: Tally, base: &Ledger) {
        self.runs += other.runs;
        self.cut_off += other.cut_off;
        self.failures += other.failures;
        self.inconclusive += other.inconclusive;
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.census.merge(&other.census);
        self.rests += other.rests;
        self.idle_timeouts |= other.idle_timeouts;
        self.interrupts |= other.interrupts;
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.forgot_writes += other.forgot_writes;
        self.discoveries += other.discoveries;
        self.has_weak_orders |= other.has_weak_orders;
        self.weak_runs += other.weak_runs;
        self.threads = self.threads.max(other.threads);
        self.steps = self.steps.max(other.steps);
        self.outside_waits += other.outside_waits;
        self.processes += other.processes;
        for (mine, theirs) in self.lanes.iter_mut().zip(&other.lanes) {
            mine.runs += theirs.runs;
            mine.rests += theirs.rests;
            mine.drawn += theirs.drawn;
            match mine.longest.cmp(&theirs.longest) {
                Ordering::Less => mine.passed_after_longest = theirs.passed_after_longest,
                Ordering::Equal => mine.passed_after_longest += theirs.passed_after_longest,
                Ordering::Greater => (),
            }
            mine.longest = mine.longest.max(theirs.longest);
            mine.exhausted_at = [mine.exhausted_at, theirs.exhausted_at].into_iter().flatten().min();
        }
        self.estimate = other.estimate.or(self.estimate);
        self.last_new = None;
        self.firsts.merge(other.firsts);
        for (root, number) in other.exposed {
            let first = self.exposed.entry(root).or_insert(number);
            *first = number.min(*first);
        }
        self.saturation.extend(other.saturation);
        self.covered.ledger.join(&other.covered.ledger, base);
        self.covered.locations.extend(other.covered.locations);
        self.profiling_error = self.profiling_error.take().or(other.profiling_error);
        self.forked += other.forked;
        self.reset_difference = self.reset_difference.take().or(other.reset_difference);
        self.reset_unsupported |= other.reset_unsupported;
    }

    /// Sets [`Tally::exhausted`] from the state of each strategy, and removes numbers that depend on the
    /// number of jobs.
    pub(crate) fn settle(&mut self, lanes: &Lanes) {
        // One job executes the runs of PCT in order; those of others may be split.
        for (_, tally) in lanes.iter().zip(&mut self.lanes).filter(|(lane, _)| lane.pct_depth.is_none()) {
            tally.passed_after_longest = 0;
        }
        let all = self.lanes.iter().all(|lane| lane.exhausted_at.is_some());
        // What comes after the step limit was not seen, nor what follows from writes that were dropped or from
        // other orders of accesses that were no scheduling points.
        let is_complete = self.inconclusive == 0 && self.forgot_writes == 0 && self.discoveries == 0;
        self.exhausted = (all || self.covered_at(lanes).is_some()) && is_complete;
    }

    /// Returns the number of the turn at which a strategy had covered everything.
    pub(crate) fn covered_at(&self, lanes: &Lanes) -> Option<u64> {
        let covers = lanes.iter().zip(&self.lanes).filter(|(lane, _)| lane.covers_everything);
        covers.filter_map(|(_, tally)| tally.exhausted_at).min()
    }

    /// Returns an empty tally for the same search.
    pub(crate) fn emptied(&self) -> Tally {
        Tally { census: self.census.emptied(), ..Tally::new(self.lanes.len()) }
    }

    /// Returns these numbers for the runs of `settled`, which are all up to number `last`, and those of `log` up to
    /// number `last`. Numbers that do not belong to single runs are kept.
    pub(crate) fn up_to(self, last: u64, settled: Tally, log: &mut Vec<(Turn, Run)>) -> Tally {
        log.retain(|(turn, _)| turn.number <= last);
        let mut again = settled;
        log.iter().for_each(|(turn, run)| again.count(*turn, run));
        for (new, old) in again.lanes.iter_mut().zip(&self.lanes) {
            new.exhausted_at = old.exhausted_at.filter(|&number| number <= last);
        }
        (again.estimate, again.covered, again.last_new) = (self.estimate, self.covered, None);
        again
    }

    /// Returns the number of partial orders seen; an estimate if they were too many to count individually
    /// ([`Census::is_exact`]).
    pub fn partial_orders(&self) -> u64 {
        self.census.distinct() as u64
    }

    /// Returns the number of runs among the last tenth that had a partial order that no earlier run had, and
    /// the number of runs in that tenth; `None` if unknown or if there are too few runs.
    pub fn new_at_the_end(&self) -> Option<(u64, u64)> {
        self.firsts.in_the_last_tenth(self.runs + self.cut_off)
    }

    /// Returns the runs that have PCT's guarantee as published, by depth: those that passed after the
    /// strategy had seen its longest run. The guarantee covers neither the rule against spinning nor drawn
    /// numbers, so a strategy whose runs had any of these has none.
    pub fn pct_runs(&self, lanes: &Lanes) -> BTreeMap<u64, PctRuns> {
        let mut made: BTreeMap<u64, PctRuns> = BTreeMap::new();
        for (lane, tally) in lanes.iter().zip(&self.lanes).filter(|(_, tally)| tally.is_undisturbed()) {
            if let Some(depth) = lane.pct_depth.filter(|_| tally.passed_after_longest > 0) {
                let pct = made.entry(depth).or_default();
                pct.runs += tally.passed_after_longest;
                pct.steps = pct.steps.max(tally.longest).max(1);
            }
        }
        made
    }

    /// Returns an upper bound on the probability that the runs of PCT, `made` by depth, all miss a bug of
    /// this depth that shows in a run no longer than theirs. Runs for deeper bugs find it too, with their own
    /// guarantee. 1 without such runs.
    pub fn missed_by_pct(&self, depth: u64, made: &BTreeMap<u64, PctRuns>) -> f64 {
        let deep = made.range(depth.max(1)..);
        let missed = deep.map(|(&depth, pct)| {
            let size = Size { threads: self.threads, steps: pct.steps };
            Guarantee::pct(size, depth).map_or(1.0, |guarantee| guarantee.missed(pct.runs))
        });
        missed.product()
    }

    /// Returns, for each of these depths that runs of PCT were made for: the depth, how many there were, and
    /// [`missed_by_pct`](Tally::missed_by_pct).
    pub fn missed_by_depth(&self, lanes: &Lanes, depths: &[u64]) -> Vec<(u64, u64, f64)> {
        let made = self.pct_runs(lanes);
        let of = |depth: u64| {
            let runs = made.range(depth..).map(|(_, pct)| pct.runs).sum();
            (runs > 0).then(|| (depth, runs, self.missed_by_pct(depth, &made)))
        };
        depths.iter().filter_map(|&depth| of(depth)).collect()
    }
}

/// Runs of PCT with one depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PctRuns {
    /// Number of runs.
    pub runs: u64,
    /// The `k` of their guarantee: the number of steps of the longest.
    pub steps: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Portfolio;

    #[test]
    fn the_bound_is_that_of_the_runs_of_pct() {
        let missed = |strategies: &str, lanes: Vec<LaneTally>| {
            let tally = Tally { runs: 100, threads: 2, steps: 10, lanes, ..Tally::default() };
            let bounds =
                tally.missed_by_depth(&Lanes::parse(strategies, Portfolio::Tests).unwrap(), &[1, 2, 3]);
            bounds.iter().map(|&(_, _, missed)| missed).collect::<Vec<_>>()
        };
        let lane = |passed_after_longest| LaneTally {
            runs: 31,
            passed_after_longest,
            longest: 10,
            ..LaneTally::default()
        };
        assert!(missed("random-walk", vec![lane(30)]).is_empty(), "no run of PCT was made");
        let close = missed("pct:depth=2", vec![lane(30)]);
        assert_eq!(close.len(), 2, "nothing is known of depth 3");
        close.iter().for_each(|found| assert!((found - 0.95_f64.powi(30)).abs() < 1e-12, "{close:?}"));
        assert!(missed("pct:depth=2", vec![LaneTally { rests: 1, ..lane(30) }]).is_empty());
    }
}
