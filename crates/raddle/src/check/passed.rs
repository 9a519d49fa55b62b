//! What a check that found nothing did, and what that is worth.

use raddle_model::Claims;
use raddle_report::claim_text;
use raddle_report::text::count;
use raddle_search::bound::{Guarantee, Size};
use raddle_search::{Lanes, PctRuns, Tally, claims};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// What a check that found nothing did.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Passed {
    /// How many runs there were, without those that a strategy cut off.
    pub runs: u64,
    /// How many runs a strategy cut off because they would have repeated another one.
    pub cut_off: u64,
    /// How many runs reached the step limit while threads made progress; they say nothing about the test.
    pub inconclusive: u64,
    /// How many partial orders were seen.
    pub partial_orders: usize,
    /// Whether no schedule was left that the strategies promise to run.
    pub exhausted: bool,
    /// How many partial orders there are in all, as far as UPO can tell; none if UPO was not among the strategies.
    pub estimate: Option<f64>,
    /// The most threads of a run.
    pub threads: u64,
    /// The most steps of a run.
    pub steps: u64,
    /// How often a spinning thread was held back. No strategy's guarantee accounts for that.
    pub rests: u64,
    /// By depth: the runs that have PCT's guarantee.
    pct_runs: BTreeMap<u64, PctRuns>,
    /// What all of that shows.
    claims: Claims,
}

impl Passed {
    /// At most the chance that the PCT runs of this check have all missed a bug of this depth: `(1 - p)^r` for `r` runs
    /// of `pct:depth=D` with `D` at least `depth`, where `p = 1 / (n k^(D-1))` for the threads `n` and steps `k` seen
    /// (ASPLOS 2010, theorem 9). 1, if there were no such runs. Runs before the longest one do not count, since PCT learns `k`
    /// from it, and none do if a spinning thread was held back or a number was drawn in one of them.
    ///
    /// That is a statement about runs no longer than those seen, and none about bugs of a greater depth. Other
    /// strategies may have found the bug as well; nothing is claimed for them.
    pub fn missed(&self, depth: u64) -> f64 {
        let tally = Tally { threads: self.threads, ..Tally::default() };
        tally.missed_by_pct(depth, &self.pct_runs)
    }

    /// At most the chance that as many runs as this check made would miss a bug of this depth, had they all been runs of
    /// PCT with that depth. A measure of how many runs a program of this size needs, whatever strategies were used.
    pub fn would_miss(&self, depth: u64) -> f64 {
        let size = Size { threads: self.threads, steps: self.steps.max(1) };
        Guarantee::pct(size, depth.max(1)).map_or(1.0, |pct| pct.missed(self.runs))
    }

    /// Returns in one line what the runs show of bugs that were not found, the strongest statement first; nothing if that is
    /// nothing.
    pub fn shows(&self) -> Option<String> {
        claim_text::line(&self.claims)
    }

    /// Returns what the runs of a search were like, none of which failed.
    pub(super) fn of(tally: &Tally, lanes: &Lanes) -> Passed {
        Passed {
            runs: tally.runs,
            cut_off: tally.cut_off,
            inconclusive: tally.inconclusive,
            partial_orders: tally.census.distinct(),
            exhausted: tally.exhausted,
            estimate: tally.estimate,
            threads: tally.threads,
            steps: tally.steps,
            rests: tally.rests,
            pct_runs: tally.pct_runs(lanes),
            claims: claims(tally, lanes),
        }
    }
}

impl Display for Passed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, {} partial orders", count(self.runs), count(self.partial_orders as u64))?;
        if self.exhausted {
            write!(f, ", and no schedule is left")?;
        }
        write!(f, "\nat most {} threads and {} steps a run", self.threads, count(self.steps))?;
        if self.inconclusive > 0 {
            write!(f, "\n{} runs reached the step limit and are inconclusive", count(self.inconclusive))?;
        }
        if self.rests > 0 {
            write!(
                f,
                "\nspinning threads were held back {} times; no bound accounts for that",
                count(self.rests)
            )?;
        }
        match claim_text::unless_exhausted(&self.claims) {
            Some(line) => write!(f, "\n{line}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Claim;

    fn passed() -> Passed {
        Passed { runs: 100, partial_orders: 7, threads: 2, steps: 10, ..Passed::default() }
    }

    #[test]
    fn the_bound_is_that_of_the_paper() {
        let mut passed = passed();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        close(passed.would_miss(1), 0.5_f64.powi(100));
        close(passed.would_miss(2), (1.0 - 1.0 / 20.0_f64).powi(100));
        close(passed.would_miss(3), (1.0 - 1.0 / 200.0_f64).powi(100));
        close(passed.missed(1), 1.0);
        passed.pct_runs.insert(2, PctRuns { runs: 30, steps: 10 });
        close(passed.missed(1), (1.0 - 1.0 / 20.0_f64).powi(30));
        close(passed.missed(2), (1.0 - 1.0 / 20.0_f64).powi(30));
        close(passed.missed(3), 1.0);
    }

    #[test]
    fn a_single_thread_misses_nothing() {
        let passed = Passed { runs: 1, threads: 1, steps: 1, ..Passed::default() };
        assert_eq!(passed.would_miss(1), 0.0);
    }

    #[test]
    fn the_text_claims_no_more_than_is_known() {
        let text = passed().to_string();
        assert!(
            text.starts_with("100 runs, 7 partial orders\nat most 2 threads and 10 steps a run\n"),
            "{text}"
        );
        assert!(!text.contains("depth"), "no run of PCT was made: {text}");
        let mut with_pct = passed();
        with_pct.claims.statements.push(Claim::Depth {
            depth: 2,
            missed: 0.01,
            runs: 30,
            threads: 2,
            steps: 10,
        });
        assert!(with_pct.to_string().contains("\na bug of depth 2 or less was missed with probability"));
        assert_eq!(with_pct.to_string().lines().last(), with_pct.shows().as_deref());
        let done = Passed { exhausted: true, rests: 3, ..passed() }.to_string();
        assert!(done.contains("no schedule is left") && done.contains("held back 3 times"), "{done}");
        assert!(!done.contains("depth"), "{done}");
    }
}
