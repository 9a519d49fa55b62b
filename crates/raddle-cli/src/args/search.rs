//! The arguments of every command that searches.

use super::ci::CiArgs;
use super::show::ShowArgs;
use super::values::{duration, runs, whole};
use clap::{Args, ValueEnum};
use raddle_model::Settings;
use raddle_search::{Budget, FIRST_RUN, Portfolio, Stop};
use std::time::Duration;

/// How long and in which way schedules are tried.
#[derive(Args, Clone)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// The strategy, or several joined by +; portfolio if not given (pos for the lab). May be given several times: they take turns,
    /// or, for the lab, are compared
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) strategy: Vec<String>,
    /// How many runs, such as 10000 or 1e5. If not given: 10000 (1000 for each test of `cargo raddle test`), or any number if
    /// there is --time
    #[arg(long, short = 'n', value_name = "N", value_parser = runs)]
    pub(crate) runs: Option<u64>,
    /// Stop starting new runs after this long, such as 30s, 5m or 500ms. If not given: no limit; for a test of `cargo raddle
    /// test` 10s, unless there is --runs
    #[arg(long, value_name = "T", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// The seed from which all runs follow; 1 if not given
    #[arg(long, value_name = "X")]
    pub(crate) seed: Option<u64>,
    /// How many processes or threads make runs at the same time; as many as there are cores if not given
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Go on after a failing run, and count them. The default for the lab
    #[arg(long, conflicts_with = "until_bug")]
    pub(crate) keep_going: bool,
    /// Stop at the first failing run. The default for all but the lab
    #[arg(long)]
    pub(crate) until_bug: bool,
    /// When a sleep or timed wait may end
    #[arg(long, value_enum, default_value_t = TimeoutsArg::Auto)]
    pub(crate) timeouts: TimeoutsArg,
    /// End a run after so many steps, 1000000 if not given. It fails if all threads that can go on spin, and is inconclusive
    /// otherwise
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) step_limit: Option<u64>,
    /// Fail every run that reaches the step limit
    #[arg(long)]
    pub(crate) fail_on_step_limit: bool,
    /// Iterations of a spin loop before the thread is descheduled (0: unlimited)
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) patience: u32,
    /// Keep the first failing run as it was found, with all its switches between threads
    #[arg(long)]
    pub(crate) no_minimize: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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

/// The runs of a search if the user does not say it.
const RUNS: u64 = 10_000;
/// The strategy if the user does not say it.
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

    /// Returns how long the search goes on, where it stops at the first failure unless the user says otherwise.
    pub(crate) fn budget(&self) -> Budget {
        let stop = if self.keep_going { Stop::Never } else { Stop::FirstFailure };
        // Whoever names a time alone means just that.
        let runs = self.runs.unwrap_or(if self.time.is_some() { u64::MAX } else { RUNS });
        Budget { runs, time: self.time, stop }
    }

    /// Returns the same for the lab, which counts failures unless the user says otherwise.
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

    /// Returns how many workers make runs.
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

/// Returns how many cores to use.
pub(crate) fn cores(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}
