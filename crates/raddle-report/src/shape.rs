//! The JSON shapes that scripts may rely on. Fields are added, never changed or removed.

mod campaign;
mod cargo;
mod failure;
mod suite;

pub use campaign::{CampaignFailure, CampaignNight, CampaignReport, CampaignTarget, CauseState, TargetState};
pub use cargo::{CargoTest, CargoTests, Doctor, Finding, MissedBug, TestStatus};
pub use failure::{Explained, ExplainedPair, ExplainedStep, Reduced, Replayed, Resembled, StrongerOrder};
pub use suite::{SuiteFile, SuiteStatus};

use crate::coverage::Coverage;
use raddle_model::{Claims, MemoryModel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The output of `raddle lab run --json` for each strategy, a line each.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Run {
    /// The strategy, as specified.
    pub strategy: String,
    /// Complete runs; those pruned by the strategy are counted separately.
    pub runs: u64,
    /// Runs that failed.
    pub hits: u64,
    /// `hits / runs`; 0 without runs.
    pub hit_ratio: f64,
    /// The bounds of the probability of a hit with 95 % confidence, if runs are independent of each other.
    pub interval: [f64; 2],
    /// The number of distinct partial orders.
    pub partial_orders: u64,
    /// The probability of a hit as a fraction, if it was requested and can be computed.
    pub exact: Option<String>,
    /// The reason why there is no exact probability although it was requested.
    pub exact_refused: Option<String>,
    /// The exact probability of the least likely partial order, as a fraction.
    pub exact_least: Option<String>,
    /// The number of partial orders of the program, if computed.
    pub exact_partial_orders: Option<u64>,
    /// The number of those that the strategy can reach, if computed.
    pub exact_reachable: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// The number of failures of each kind.
    pub failures: BTreeMap<String, u64>,
    /// Runs that the strategy pruned because another one covers them.
    pub cut_off: u64,
    /// Runs that reached the step limit without a verdict.
    pub inconclusive: u64,
    /// True if a systematic strategy has no schedule left; `None` for the others.
    pub exhausted: Option<bool>,
    /// The strategy's estimate of the number of partial orders, if it has one.
    pub space: Option<f64>,
    /// The number of times a spinning thread was descheduled.
    pub rests: u64,
    /// The largest number of threads of any run.
    pub threads: u64,
    /// The largest number of steps of any run.
    pub steps: u64,
    /// The evidence about bugs that were not found, the strongest claim first.
    pub claims: Claims,
    /// The earliest failing run.
    pub first_failure: Option<FirstFailure>,
    /// The iRoots of the runs, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Every partial order that was seen or computed, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<Vec<ListedOrder>>,
}

/// A partial order of `raddle lab run --json --orders`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ListedOrder {
    /// Its fingerprint in hexadecimal digits; the same under every strategy.
    pub fingerprint: String,
    /// The runs that had it.
    pub runs: u64,
    /// The kind of its failure.
    pub failure: Option<String>,
    /// The threads of one such run, step by step, numbered from 0 in the order of their creation; `None`
    /// without a run.
    pub schedule: Option<Vec<u32>>,
    /// The numbers drawn in that run: the step, from 0, and the value.
    pub picks: Vec<(u64, u32)>,
    /// Its exact probability as a fraction, if computed.
    pub exact: Option<String>,
}

/// The earliest failing run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FirstFailure {
    /// Its number, from 0.
    pub run: u64,
    /// The kind of failure.
    pub kind: String,
    /// The failure, in sentences.
    pub message: String,
    /// The number of its steps.
    pub steps: u64,
    /// The file that it was written to, if any.
    pub recorded: Option<String>,
}

fn is_sc(memory: &MemoryModel) -> bool {
    *memory == MemoryModel::Sc
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The runs of a native program, pruned ones included, by their isolation from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Forks {
    /// Runs for which a process was forked; omitted if all were.
    #[serde(skip_serializing_if = "is_zero")]
    pub forked: u64,
    /// Runs that needed no process of their own; omitted if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub without_fork: u64,
    /// True if runs were forked because the system does not support others; otherwise omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reset_unsupported: bool,
}

/// The output of `raddle run --json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NativeRun {
    /// `passed` or `failed`.
    pub verdict: String,
    /// The memory model of the runs; omitted for `sc`.
    #[serde(skip_serializing_if = "is_sc")]
    pub memory: MemoryModel,
    /// Complete runs under weak memory; omitted if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub weak_runs: u64,
    /// The kind of the first failure.
    pub kind: Option<String>,
    /// Complete runs.
    pub runs: u64,
    /// The numbers of forked runs and of others. They depend on the number of jobs and on the machine.
    #[serde(flatten)]
    pub forks: Forks,
    /// Runs that failed.
    pub failures: u64,
    /// The number of the first failing run, from 0.
    pub first_failure: Option<u64>,
    /// The number of distinct partial orders.
    pub partial_orders: u64,
    /// The largest number of threads of any run.
    pub threads: u64,
    /// The largest number of steps of any run.
    pub steps: u64,
    /// The file with the first failing run.
    pub failure_file: Option<String>,
    /// Its failure, in sentences.
    pub message: Option<String>,
    /// The number of failures of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// The number of times a spinning thread was descheduled.
    pub rests: u64,
    /// The number of waits for external events, which may occur at another moment in a replay.
    pub outside_waits: u64,
    /// The number of processes that the program started, in all runs; they are not under control.
    pub processes: u64,
    /// Runs that the strategy pruned because another one covers them.
    pub cut_off: u64,
    /// Runs that reached the step limit without a verdict.
    pub inconclusive: u64,
    /// True if no strategy has a schedule left.
    pub exhausted: bool,
    /// True if that holds only for orders of synchronization, because memory accesses were invisible.
    pub synchronisation_only: bool,
    /// The strategy, as specified.
    pub strategy: String,
    /// The seed.
    pub seed: u64,
    /// The evidence about bugs that were not found, the strongest claim first.
    pub claims: Claims,
    /// The result of the additional runs for data races, if there were any.
    pub races: Option<Races>,
    /// Notes for judging the result.
    pub notes: Vec<String>,
    /// The iRoots that the first failing run had and none before it, as text, if runs were examined for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iroots: Vec<String>,
    /// The iRoots of the runs, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

/// Data races that are not failures.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Races {
    /// The number of examined runs.
    pub runs: u64,
    /// The number of runs with a data race.
    pub racing: u64,
    /// The first one, in sentences.
    pub message: Option<String>,
}

/// The output of `raddle lab micro --json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Micro {
    /// Runs of each strategy on each program.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// Runs of each strategy in the published experiment.
    pub published_runs: u64,
    /// The strategies, in the order in which they were named.
    pub strategies: Vec<String>,
    /// The programs.
    pub programs: Vec<MicroProgram>,
    /// Geometric means over groups of programs.
    pub means: Vec<MicroMean>,
}

/// A program of the micro benchmark.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MicroProgram {
    /// Its name.
    pub name: String,
    /// The number of its partial orders.
    pub partial_orders: u64,
    /// The largest number of races of a partial order, counted as in the published tables.
    pub max_races: u64,
    /// The largest number of preemptions that a partial order needs.
    pub max_preemptions: u64,
    /// The largest number of races of a partial order as the paper's text defines them.
    pub races: u64,
    /// True if any thread reads.
    pub has_reads: bool,
    /// The published counts.
    pub published: MicroCounts,
    /// The coverage of each strategy.
    pub strategies: BTreeMap<String, MicroCell>,
}

/// Counts as published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct MicroCounts {
    /// Partial orders.
    pub partial_orders: u64,
    /// The largest number of races.
    pub max_races: u64,
    /// The largest number of preemptions.
    pub max_preemptions: u64,
}

/// The coverage of a program by a strategy.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MicroCell {
    /// Complete runs; 0 if the figures are computed, not sampled.
    pub runs: u64,
    /// The number of distinct partial orders.
    pub covered: u64,
    /// The share of the partial order seen least; 0 if one was not seen.
    pub min_hit_ratio: f64,
    /// The published figure, if there is one.
    pub published: Option<MicroPublished>,
    /// True if the figures are computed.
    pub exact: bool,
    /// The number of runs after which all partial orders had been seen, if the runs were executed in order.
    pub all_seen_after: Option<u64>,
    /// The strategy's estimate of the number of partial orders, if it has one.
    pub space: Option<f64>,
}

/// A published figure: a share, or the number of covered partial orders if not all were.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MicroPublished {
    /// The share of the partial order seen least.
    MinHitRatio(f64),
    /// The number of covered ones.
    Covered(u64),
}

/// Geometric means of the least-covered share over a group of programs.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MicroMean {
    /// The group.
    pub group: String,
    /// The number of its programs.
    pub programs: u64,
    /// Per strategy.
    pub strategies: BTreeMap<String, MeanCell>,
}

/// A geometric mean. Incomplete coverage counts as one hit, as in the published tables.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct MeanCell {
    /// The mean of the measured shares.
    pub min_hit_ratio: f64,
    /// The mean of the published ones, if all are published.
    pub published: Option<f64>,
    /// Measured over published; `None` if coverage is incomplete with fewer runs than the published ones,
    /// because then both count as a hit in different numbers of runs.
    pub ratio: Option<f64>,
}

impl Micro {
    /// Computes [`Micro::means`]: over the programs without reads, and over those with reads.
    pub fn compute_means(&mut self) {
        self.means = [("all writes", false), ("with reads", true)]
            .into_iter()
            .filter_map(|(group, has_reads)| {
                let programs: Vec<&MicroProgram> =
                    self.programs.iter().filter(|program| program.has_reads == has_reads).collect();
                (!programs.is_empty()).then(|| self.mean(group, &programs))
            })
            .collect();
    }

    fn mean(&self, group: &str, programs: &[&MicroProgram]) -> MicroMean {
        let published = |cell: &MicroCell| match cell.published? {
            MicroPublished::MinHitRatio(share) => Some(share),
            MicroPublished::Covered(_) => Some(1.0 / self.published_runs as f64),
        };
        let measured = |cell: &MicroCell| {
            if cell.min_hit_ratio > 0.0 { cell.min_hit_ratio } else { 1.0 / cell.runs.max(1) as f64 }
        };
        let mut strategies = BTreeMap::new();
        for spec in &self.strategies {
            let cells: Vec<&MicroCell> =
                programs.iter().filter_map(|program| program.strategies.get(spec)).collect();
            if cells.len() < programs.len() {
                continue;
            }
            let min_hit_ratio = geometric_mean(cells.iter().map(|cell| measured(cell)));
            let known: Option<Vec<f64>> = cells.iter().map(|cell| published(cell)).collect();
            let published = known.map(|shares| geometric_mean(shares.into_iter()));
            let complete = cells.iter().all(|cell| cell.min_hit_ratio > 0.0);
            let comparable = complete || self.runs >= self.published_runs;
            let ratio = published.filter(|_| comparable).map(|published| min_hit_ratio / published);
            strategies.insert(spec.clone(), MeanCell { min_hit_ratio, published, ratio });
        }
        MicroMean { group: group.to_owned(), programs: programs.len() as u64, strategies }
    }
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

/// The output of `raddle lab bound --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Bound {
    /// The maximum number of threads.
    pub threads: u64,
    /// The maximum number of steps.
    pub steps: u64,
    /// The depth of the bug.
    pub depth: u64,
    /// The maximum number of direct conflicts.
    pub conflicts: u64,
    /// Planned runs.
    pub runs: u64,
    /// The guarantee of PCT for a bug of that depth.
    pub pct: BoundRow,
    /// The guarantee of POS for any partial order.
    pub pos: BoundRow,
}

/// A guarantee and its consequences.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BoundRow {
    /// The minimum probability that one run hits; 0 if it underflows.
    pub probability: f64,
    /// Its decimal logarithm.
    pub log10_probability: f64,
    /// The maximum probability that all runs missed.
    pub missed: f64,
    /// The decimal logarithm of the runs needed for 95 %.
    pub log10_runs_95: f64,
    /// The runs needed to hit with 95 %; `None` if the number overflows.
    pub runs_95: Option<f64>,
    /// The decimal logarithm of the runs needed for 99 %.
    pub log10_runs_99: f64,
    /// The runs needed to hit with 99 %; `None` if the number overflows.
    pub runs_99: Option<f64>,
}

/// The output of `raddle strategies --json` for each strategy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StrategyEntry {
    /// The name at the beginning of a specification.
    pub name: String,
    /// `randomized`, `systematic` or `wrapper`.
    pub family: String,
    /// A summary.
    pub summary: String,
    /// Its parameters.
    pub parameters: Vec<StrategyParameter>,
    /// Its source.
    pub source: String,
    /// Its guarantee.
    pub guarantee: String,
}

/// A parameter of a strategy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StrategyParameter {
    /// Its name.
    pub name: String,
    /// The default value.
    pub default: String,
    /// Its meaning.
    pub meaning: String,
}

/// Returns a shape as one line of JSON.
pub fn line<T: Serialize>(shape: &T) -> String {
    let mut text = serde_json::to_string(shape).expect("shapes have only string keys");
    text.push('\n');
    text
}

/// Returns a shape as JSON with indentation.
pub fn pretty<T: Serialize>(shape: &T) -> String {
    let mut text = serde_json::to_string_pretty(shape).expect("shapes have only string keys");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_coverage_counts_as_one_hit() {
        let program = |share: f64, published| {
            let cell = MicroCell { runs: 100, min_hit_ratio: share, published, ..MicroCell::default() };
            MicroProgram { strategies: BTreeMap::from([("pos".into(), cell)]), ..MicroProgram::default() }
        };
        let mut micro = Micro {
            runs: 1_000,
            published_runs: 1_000,
            strategies: vec!["pos".into()],
            programs: vec![
                program(0.04, Some(MicroPublished::Covered(3))),
                program(0.0, Some(MicroPublished::MinHitRatio(0.1))),
            ],
            ..Micro::default()
        };
        micro.compute_means();
        let cell = micro.means[0].strategies["pos"];
        assert!((cell.min_hit_ratio - 0.02).abs() < 1e-12, "{cell:?}");
        assert!((cell.published.unwrap() - 0.01).abs() < 1e-12, "{cell:?}");
        assert!((cell.ratio.unwrap() - 2.0).abs() < 1e-9, "{cell:?}");
        micro.runs = 100;
        micro.compute_means();
        assert_eq!(micro.means[0].strategies["pos"].ratio, None);
    }

    #[test]
    fn published_figures_look_as_in_the_benchmark_file() {
        let text = line(&[MicroPublished::MinHitRatio(0.5), MicroPublished::Covered(7)]);
        assert_eq!(text, "[{\"min_hit_ratio\":0.5},{\"covered\":7}]\n");
    }
}
