//! The arguments of every command that searches.

use super::ci::CiArgs;
use super::shard::ShardArgs;
use super::show::ShowArgs;
use super::values::{duration, runs, whole};
use clap::{Args, ValueEnum};
use raddle_model::Settings;
use raddle_search::{Budget, FIRST_RUN, Portfolio, Stop};
use std::time::Duration;

/// The budget of a search and its strategies.
#[derive(Args, Clone)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// The strategy, or several joined by + (default: portfolio; pos for the lab). May be given several
    /// times: they take turns, or, for the lab, are compared
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) strategy: Vec<String>,
    /// Number of runs, such as 10000 or 1e5 (default: 10000; 1000 for each test of `cargo raddle test`;
    /// unlimited with --time)
    #[arg(long, short = 'n', value_name = "N", value_parser = runs)]
    pub(crate) runs: Option<u64>,
    /// Stop starting new runs after this long, such as 30s, 5m or 500ms (default: unlimited; 10s for a test
    /// of `cargo raddle test` without --runs)
    #[arg(long, value_name = "T", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Seed of all runs (default: 1)
    #[arg(long, value_name = "X")]
    pub(crate) seed: Option<u64>,
    /// Processes or threads that execute runs in parallel (default: number of cores)
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Continue after a failing run, and count failures. The default for the lab
    #[arg(long, conflicts_with = "until_bug")]
    pub(crate) keep_going: bool,
    /// Stop at the first failing run. The default except for the lab
    #[arg(long)]
    pub(crate) until_bug: bool,
    /// When a sleep or timed wait may end
    #[arg(long, value_enum, default_value_t = TimeoutsArg::Auto)]
    pub(crate) timeouts: TimeoutsArg,
    /// Maximum number of steps of a run (default: 1000000). A run that exceeds it fails if all threads that
    /// can continue spin, and is inconclusive otherwise
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) step_limit: Option<u64>,
    /// Fail every run that reaches the step limit
    #[arg(long)]
    pub(crate) fail_on_step_limit: bool,
    /// Iterations of a spin loop before the thread is descheduled (0: unlimited)
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) patience: u32,
    /// Do not minimize the first failing run
    #[arg(long)]
    pub(crate) no_minimize: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) part: ShardArgs,
    #[command(flatten)]
    pub(crate) ci: CiArgs,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TimeoutsArg {
    /// When nothing else can run, and at any moment in some runs of the portfolio for programs
    Auto,
    /// When nothing else can run
    Idle,
    /// At any moment
    Any,
}

/// The default number of runs.
const RUNS: u64 = 10_000;
/// The default strategy.
pub(crate) const STRATEGY: &str = "portfolio";

impl SearchArgs {
    /// Returns the strategies that take turns, as one text.
    pub(crate) fn strategy(&self) -> String {
        if self.strategy.is_empty() { STRATEGY.to_owned() } else { self.strategy.join("+") }
    }

    /// Returns the variant of the default portfolio for programs.
    pub(crate) fn portfolio(&self) -> Portfolio {
        match self.timeouts {
            TimeoutsArg::Auto => Portfolio::EarlyTimeouts,
            TimeoutsArg::Idle | TimeoutsArg::Any => Portfolio::Programs,
        }
    }

    /// Returns the budget of a search that stops at the first failure by default.
    pub(crate) fn budget(&self) -> Budget {
        let stop = if self.keep_going { Stop::Never } else { Stop::FirstFailure };
        // A time alone removes the limit on runs.
        let runs = self.runs.unwrap_or(if self.time.is_some() { u64::MAX } else { RUNS });
        Budget { runs, time: self.time, stop }
    }

    /// Returns the budget for the lab, which counts failures by default.
    pub(crate) fn counting_budget(&self) -> Budget {
        let stop = if self.until_bug { Stop::FirstFailure } else { Stop::Never };
        Budget { stop, ..self.budget() }
    }

    /// Returns how long one run may take: no longer than the whole search.
    pub(crate) fn run_time(&self, limit: Duration) -> Duration {
        self.time.map_or(limit, |time| one_run(time, limit))
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Returns the number of workers.
    pub(crate) fn jobs(&self) -> usize {
        cores(self.jobs)
    }

    /// Returns the engine's settings.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            step_limit: self.step_limit.unwrap_or(Settings::default().step_limit),
            timeouts_anytime: self.timeouts == TimeoutsArg::Any,
            patience: self.patience,
            step_limit_fails: self.fail_on_step_limit,
            ..Settings::default()
        }
    }
}

/// Returns how long a run of a search may take that has `time`, where a run may take no longer than `limit`.
pub(crate) fn one_run(time: Duration, limit: Duration) -> Duration {
    time.max(FIRST_RUN).min(limit)
}

/// Returns the number of cores to use.
pub(crate) fn cores(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}
