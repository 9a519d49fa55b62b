//! The summary of a check that found nothing, and the evidence it provides.

use super::config::Memory;
use raddle_model::{Claim, Claims};
use raddle_report::claim_text;
use raddle_report::text::{count, plural};
use raddle_search::bound::{Guarantee, Size};
use raddle_search::{Lanes, PctRuns, Tally, claims};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The summary of a check that found nothing.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Passed {
    /// The number of runs, without pruned ones.
    pub runs: u64,
    /// The number of runs that a strategy pruned because they would have repeated another one.
    pub cut_off: u64,
    /// The number of runs that reached the step limit while threads made progress; they provide no evidence
    /// about the test.
    pub inconclusive: u64,
    /// The number of distinct partial orders.
    pub partial_orders: usize,
    /// True if [`partial_orders`](Passed::partial_orders) is an estimate, because there were more than
    /// 65,536. Its standard deviation is below 1 percent.
    pub is_estimated: bool,
    /// True if every schedule that the strategies promise to run has been run. A schedule is an order of Raddle's
    /// operations: effects of code between them that other threads see, such as counts of std's `Arc`, are
    /// covered only in the orders in which these runs executed them.
    pub exhausted: bool,
    /// UPO's estimate of the total number of partial orders; `None` if UPO was not among the strategies.
    pub estimate: Option<f64>,
    /// The largest number of threads of a run.
    pub threads: u64,
    /// The largest number of steps of a run.
    pub steps: u64,
    /// The number of times a spinning thread was descheduled. No strategy's guarantee accounts for that.
    pub rests: u64,
    /// True if a thread slept or waited with a time limit, and time limits could not fire at any moment in
    /// every run.
    pub has_time_limits: bool,
    /// The memory model that the runs explored; [`Memory::Auto`] if [some](Passed::weak_runs) were under weak memory.
    pub memory: Memory,
    /// The number of runs under weak memory.
    pub weak_runs: u64,
    /// True if an atomic access or a fence had an order weaker than `SeqCst`. Under [`Memory::Sc`], behavior that only such an
    /// order allows was not explored.
    pub has_weak_orders: bool,
    /// The runs that have PCT's guarantee, by depth.
    pct_runs: BTreeMap<u64, PctRuns>,
    /// The claims that the runs support.
    claims: Claims,
}

/// The note of a pass under sequential consistency of a program with weaker orders.
const UNEXPLORED: &str = "\nnote: atomics use orders weaker than SeqCst, and weak memory was not explored\nhelp: set RADDLE_MEMORY=weak to explore it";

impl Passed {
    /// Returns an upper bound on the probability that the PCT runs of this check all missed a bug of this
    /// depth: `(1 - p)^r` for `r` runs of `pct:depth=D` with `D` at least `depth`, where `p = 1 / (n
    /// k^(D-1))` for the threads `n` and steps `k` seen (ASPLOS 2010, theorem 9). 1 if there were no such
    /// runs. Runs before the longest one do not count, since PCT learns `k` from it, and none do if one of
    /// them descheduled a spinning thread or drew a number.
    ///
    /// The bound covers runs no longer than those seen, and no bugs of a greater depth. Other strategies may
    /// have found the bug as well; nothing is claimed for them.
    pub fn missed(&self, depth: u64) -> f64 {
        let tally = Tally { threads: self.threads, ..Tally::default() };
        tally.missed_by_pct(depth, &self.pct_runs)
    }

    /// Returns an upper bound on the probability that as many runs as this check made would miss a bug of
    /// this depth if all of them used PCT with that depth. It measures how many runs a program of this size
    /// needs, for any strategies.
    pub fn would_miss(&self, depth: u64) -> f64 {
        let size = Size { threads: self.threads, steps: self.steps.max(1) };
        Guarantee::pct(size, depth.max(1)).map_or(1.0, |pct| pct.missed(self.runs))
    }

    /// Returns one line with the evidence about bugs that were not found, the strongest claim first; `None`
    /// if there is none.
    pub fn shows(&self) -> Option<String> {
        claim_text::line(&self.claims).or_else(|| claim_text::exhaustion(&self.claims))
    }

    /// Returns the line that a check prints when no run of the test `name` failed.
    pub(super) fn line(&self, name: &str) -> String {
        let about = if self.is_estimated { "about " } else { "" };
        let mut line = format!(
            "raddle: `{name}` passed {}{}: {about}{}, {}, at most {} a run; {}",
            plural(self.runs, "run"),
            self.under_weak_memory(),
            plural(self.partial_orders as u64, "partial order"),
            plural(self.threads, "thread"),
            plural(self.steps, "step"),
            self.shows().unwrap_or_else(|| "other schedules are untested".to_owned())
        );
        if self.exhausted && self.threads > 1 {
            line.push_str("; counts of std's Arc are no steps and are not covered");
        }
        if self.inconclusive > 0 {
            line.push_str(&format!(
                "\nnote: {} of {} reached the step limit and are inconclusive\nhelp: raise `step_limit` of `Config`",
                count(self.inconclusive),
                plural(self.runs, "run")
            ));
        }
        if self.threads == 1 {
            line.push_str("\nnote: it has a single thread\nhelp: use raddle::thread instead of std::thread; std's threads are not controlled");
        } else if self.partial_orders == 1 {
            line.push_str(
                "\nnote: its threads share nothing that raddle controls\nhelp: use raddle::sync instead of std::sync; std's types are not controlled",
            );
        }
        if self.has_weak_orders && self.memory == Memory::Sc {
            line.push_str(UNEXPLORED);
        }
        line
    }

    /// Returns the words for the memory model behind the number of runs.
    fn under_weak_memory(&self) -> String {
        match self.memory {
            Memory::Weak => " under weak memory".to_owned(),
            Memory::Auto if self.weak_runs > 0 => format!(" ({} under weak memory)", count(self.weak_runs)),
            Memory::Auto | Memory::Sc => String::new(),
        }
    }

    /// Returns the summary of a search without failures. `varied`: its runs had different
    /// [freedoms](super::freedoms) with time limits and tasks. Then no claim about every partial order holds,
    /// because some of the runs could not have had all of them.
    pub(super) fn of(tally: &Tally, lanes: &Lanes, varied: bool) -> Passed {
        let mut claims = claims(tally, lanes);
        claims.statements.retain(|claim| match claim {
            Claim::AnyOrder { .. } => !varied,
            Claim::Depth { .. } => true,
            // The others are about the number of distinct partial orders.
            _ => tally.census.is_exact(),
        });
        Passed {
            has_time_limits: tally.idle_timeouts,
            memory: Memory::Sc,
            weak_runs: tally.weak_runs,
            has_weak_orders: false,
            runs: tally.runs,
            cut_off: tally.cut_off,
            inconclusive: tally.inconclusive,
            partial_orders: tally.census.distinct(),
            is_estimated: !tally.census.is_exact(),
            exhausted: tally.exhausted,
            estimate: tally.estimate,
            threads: tally.threads,
            steps: tally.steps,
            rests: tally.rests,
            pct_runs: tally.pct_runs(lanes),
            claims,
        }
    }
}

impl Display for Passed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let about = if self.is_estimated { "about " } else { "" };
        write!(f, "{} runs, {about}{} partial orders", count(self.runs), count(self.partial_orders as u64))?;
        if let Some(left) = claim_text::exhaustion(&self.claims) {
            write!(f, ", and {left}")?;
        }
        match self.memory {
            Memory::Weak => write!(f, ", under weak memory")?,
            Memory::Auto if self.weak_runs > 0 => {
                write!(f, ", {} under weak memory", plural(self.weak_runs, "run"))?;
            }
            Memory::Auto | Memory::Sc => {}
        }
        write!(f, "\nat most {} threads and {} steps a run", self.threads, count(self.steps))?;
        if self.inconclusive > 0 {
            write!(f, "\n{} runs reached the step limit and are inconclusive", count(self.inconclusive))?;
        }
        if self.rests > 0 {
            write!(
                f,
                "\nspinning threads were descheduled {} times; no bound accounts for that",
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
    use raddle_model::Exhaustion;

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
    fn the_line_says_the_strongest_that_is_true() {
        let with = |passed: Passed| passed.line("counts");
        assert_eq!(
            with(passed()),
            "raddle: `counts` passed 100 runs: 7 partial orders, 2 threads, at most 10 steps a run; \
             other schedules are untested"
        );
        let mut done = Passed { exhausted: true, ..passed() };
        done.claims.statements.push(Claim::Exhausted { partial_orders: 7 });
        done.claims.exhaustion = Some(Exhaustion::Everything);
        let arc = "; counts of std's Arc are no steps and are not covered";
        let text = with(done.clone());
        assert!(
            text.ends_with(&format!("; no schedule is left: all 7 partial orders were run{arc}")),
            "{text}"
        );
        let single = with(Passed { threads: 1, ..done.clone() });
        assert!(!single.contains("Arc"), "{single}");
        done.claims.idle_timeouts = true;
        let text = with(done);
        assert!(
            text.ends_with(&format!(
                "were run; timeouts that fire while other threads can run are not covered{arc}"
            )),
            "{text}"
        );
        let std = with(Passed { partial_orders: 1, ..passed() });
        assert!(std.contains("\nnote: its threads share nothing that raddle controls"), "{std}");
        let single = with(Passed { threads: 1, ..passed() });
        assert!(single.contains("\nnote: it has a single thread\nhelp: use raddle::thread"), "{single}");
        let long = with(Passed { inconclusive: 99, ..passed() });
        assert!(
            long.contains("\nnote: 99 of 100 runs reached the step limit and are inconclusive"),
            "{long}"
        );
        let many = with(Passed { partial_orders: 70_000, is_estimated: true, ..passed() });
        assert!(many.contains(": about 70,000 partial orders,"), "{many}");
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
            text.starts_with("100 runs, 7 partial orders\nat most 2 threads and 10 steps a run"),
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
        let mut done = Passed { exhausted: true, rests: 3, ..passed() };
        (done.claims.exhaustion, done.claims.rests) = (Some(Exhaustion::Everything), 3);
        let done = done.to_string();
        assert!(done.contains("no schedule is left") && done.contains("descheduled 3 times"), "{done}");
        assert!(!done.contains("depth"), "{done}");
    }
}
