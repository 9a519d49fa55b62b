//! A search, its result, and the state that its jobs share.

use crate::budget::{Budget, Deadline, Stop, is_interrupted};
use crate::lanes::Lanes;
use crate::run::Run;
use crate::shard::Part;
use crate::tally::Tally;
use raddle_engine::Census;
use raddle_model::Ledger;
use raddle_strategies::portfolio::{Rounds, Turn};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The parameters of a search.
#[derive(Clone)]
pub struct Search<'a> {
    /// The strategies.
    pub lanes: &'a Lanes,
    /// The limits.
    pub budget: Budget,
    /// Number of workers that execute runs at the same time.
    pub jobs: usize,
    /// The part of the runs to execute here; all of them if `None`.
    pub part: Option<Part>,
    /// The iRoots that every worker's strategies know from the start.
    pub known: Option<&'a Ledger>,
    /// The progress callback: called after each run of a remote worker, otherwise after every `every` runs of
    /// a job.
    pub watch: &'a (dyn Fn(Seen<'_>) + Sync),
    /// See `watch`.
    pub every: u64,
}

/// The state of a search, for the progress callback.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Number of turns of this job since the last call.
    pub turns: u64,
    /// The latest one.
    pub turn: Turn,
    /// Its numbers.
    pub run: &'a Run,
    /// The numbers of all jobs so far; of this job alone if workers are not remote.
    pub tally: &'a Tally,
}

/// The result of a search.
#[derive(Debug)]
pub struct Outcome<F, E> {
    /// The numbers.
    pub tally: Tally,
    /// The failing run with the smallest number.
    pub first: Option<(Turn, F)>,
    /// Every run, in the order of numbers, if the search was a shard that stops at a failure.
    pub(crate) log: Vec<(Turn, Run)>,
    /// The kind of `first`, if it was made before the search began again, and the search was a part.
    pub(crate) earlier: Option<String>,
    /// The number of the first run that discovered shared memory, if the search was a part and would have begun again.
    pub(crate) discovered_at: Option<u64>,
    /// The number of the failing run at which the search stopped, if runs were logged.
    pub(crate) stopped_at: Option<u64>,
    /// The reason why not all runs were executed, although a failing one was found.
    pub lost: Option<E>,
}

/// The state that the jobs of a search share.
pub(crate) struct Shared<'a, F> {
    pub(crate) search: &'a Search<'a>,
    pub(crate) rounds: Rounds,
    pub(crate) deadline: Deadline,
    /// No run with this number or a greater one is needed any more.
    pub(crate) end: AtomicU64,
    /// No failure of a run with this number or a greater one is needed any more.
    pub(crate) traced: AtomicU64,
    /// True if a job has failed.
    pub(crate) stopped: AtomicBool,
    /// The results of remote workers so far.
    pub(crate) found: Mutex<Found<F>>,
    /// The smallest number of a failing run that ends the search.
    pub(crate) failed: AtomicU64,
    /// True if the search ends at a run that discovers shared memory, to begin again.
    pub(crate) restarts: bool,
    /// True if numbers after the first failure have to be removed again.
    pub(crate) keeps_log: bool,
    /// Per job: all of its runs with a smaller number are counted.
    pub(crate) reached: Vec<AtomicU64>,
}

/// The number of logged runs at which those that count in any case leave the log.
const LONG: usize = 4_096;

/// The result of one job, or of all of them.
pub(crate) struct Found<F> {
    pub(crate) tally: Tally,
    pub(crate) first: Option<(Turn, F)>,
    pub(crate) log: Vec<(Turn, Run)>,
    /// The numbers of earlier runs, which count in any case.
    pub(crate) settled: Tally,
    /// The kind of `first`.
    pub(crate) kind: String,
    /// The first run that discovered shared memory, with that memory.
    pub(crate) discovery: Option<(u64, Vec<u64>)>,
}

impl<F> Found<F> {
    pub(crate) fn new(lanes: usize, most_orders: usize) -> Found<F> {
        let tally = Tally { census: Census::bounded(most_orders), ..Tally::new(lanes) };
        let settled = tally.clone();
        Found { tally, first: None, log: Vec::new(), settled, kind: String::new(), discovery: None }
    }

    /// Logs a run. Before the log gets long, moves the runs that count in any case, those before `settled()`, to
    /// `settled`, so that a search does not need more memory the more runs it makes.
    #[inline]
    pub(crate) fn log(&mut self, turn: Turn, run: &Run, settled: impl FnOnce() -> u64) {
        self.log.push((turn, run.clone()));
        if self.log.len().is_multiple_of(LONG) {
            self.settle(settled());
        }
    }

    fn settle(&mut self, before: u64) {
        self.log.sort_unstable_by_key(|(turn, _)| turn.number);
        let sure = self.log.partition_point(|(turn, _)| turn.number < before);
        for (turn, run) in self.log.drain(..sure) {
            self.settled.count(turn, &run);
        }
    }

    /// Keeps the failure of a run, unless an earlier one is known.
    pub(crate) fn keep(&mut self, turn: Turn, failure: F, kind: &str) {
        if self.first.as_ref().is_none_or(|(first, _)| turn.number < first.number) {
            self.first = Some((turn, failure));
            kind.clone_into(&mut self.kind);
        }
    }

    /// Keeps the discovery of a run, unless an earlier one is known.
    pub(crate) fn discover(&mut self, number: u64, shared: &[u64]) {
        if self.discovery.as_ref().is_none_or(|(first, _)| number < *first) {
            self.discovery = Some((number, shared.to_vec()));
        }
    }

    pub(crate) fn merge(&mut self, other: Found<F>, base: &Ledger) {
        self.tally.merge(other.tally, base);
        self.settled.merge(other.settled, base);
        self.log.extend(other.log);
        if let Some((turn, failure)) = other.first {
            self.keep(turn, failure, &other.kind);
        }
        if let Some((number, shared)) = other.discovery {
            self.discover(number, &shared);
        }
    }
}

impl<F> Shared<'_, F> {
    /// Returns true if run `number` must not be executed or awaited. One run is executed in any case; without
    /// it nothing is known about the program.
    #[inline]
    pub(crate) fn is_over(&self, number: u64) -> bool {
        number >= self.end.load(Ordering::Relaxed)
            || self.stopped.load(Ordering::Relaxed)
            || number > 0 && self.deadline.is_over()
            || is_interrupted()
    }

    /// Returns true if the search stops waiting for run `number`, which was requested.
    pub(crate) fn is_given_up(&self, number: u64) -> bool {
        self.is_over(number) || self.deadline.is_over_for_the_first_run()
    }

    /// Ends the search before this run number.
    pub(crate) fn end_at(&self, number: u64) {
        self.end.fetch_min(number, Ordering::Relaxed);
    }

    /// Records that a job has counted all of its runs before number `number`.
    pub(crate) fn reach(&self, job: usize, number: u64) {
        self.reached[job].store(number, Ordering::Release);
    }

    /// Returns a number before which all runs are counted, and none of them ends the search.
    pub(crate) fn settled(&self) -> u64 {
        let reached = self.reached.iter().map(|reached| reached.load(Ordering::Acquire)).min();
        reached.unwrap_or(0).min(self.end.load(Ordering::Relaxed))
    }

    /// Lets no job begin another run.
    pub(crate) fn give_up(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Returns true if a search can end before all of its runs are executed.
pub(crate) fn may_stop(search: &Search<'_>) -> bool {
    search.budget.stop != Stop::Never || search.lanes.may_cover_everything()
}

/// Returns the number of the last run that counts, if not all do: the failing one at which the search stopped, or the one
/// before a strategy had covered everything.
pub(crate) fn last_number(stopped_at: Option<u64>, covered_at: Option<u64>) -> Option<u64> {
    [stopped_at, covered_at].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two jobs take turns; one is a hundred runs behind the other.
    #[test]
    fn a_log_stays_short_and_nothing_is_lost() {
        const RUNS: u64 = 10 * LONG as u64;
        let run = |number: u64| Run { fingerprint: number % 1_000, steps: number % 7, ..Run::default() };
        let turn = |number| Turn { number, lane: 0, run: number };
        let numbers = || (0..RUNS).map(|nth| if nth % 2 == 0 { nth } else { nth.saturating_sub(100) | 1 });
        let mut found: Found<()> = Found::new(1, usize::MAX);
        let mut longest = 0;
        for number in numbers() {
            found.log(turn(number), &run(number), || number.saturating_sub(200));
            longest = longest.max(found.log.len());
        }
        assert!(longest <= 2 * LONG, "{longest} runs were logged");
        let last = RUNS - 150;
        let tally = found.tally.up_to(last, found.settled, &mut found.log);
        assert_eq!(tally.runs, numbers().filter(|&number| number <= last).count() as u64);
        assert_eq!(tally.partial_orders(), 1_000);
    }
}
