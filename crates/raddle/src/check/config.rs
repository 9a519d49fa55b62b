//! The configuration of a check.

use crate::check::environment;
use raddle_engine::{Config as EngineConfig, Races};
use raddle_model::{MemoryModel, Settings};
use std::path::PathBuf;
use std::time::Duration;

/// When a time-out may fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timeouts {
    /// When no thread can do anything else: time stands still while there is work. Threads descheduled from
    /// spin loops have none.
    WhenIdle,
    /// At any moment in a quarter of the runs of strategies that choose at random, and when no thread can do
    /// anything else in all other runs. The latter include all runs of PCT and UPO, whose guarantees assume
    /// one behavior of time, and of strategies that enumerate schedules.
    #[default]
    Mixed,
    /// At any moment: a timed wait or a sleep is always enabled, and times out if it is chosen before its
    /// condition holds.
    Anytime,
}

/// Which values a read of an atomic returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// [`Memory::Sc`]; but once a run of the default portfolio has named a memory order below `SeqCst`, some runs are under
    /// [`Memory::Weak`], a quarter of the first ones. Other strategies stay with sequential consistency.
    #[default]
    Auto,
    /// The newest value, whatever memory order the access has: sequential consistency.
    Sc,
    /// Any value that the memory orders of accesses and fences allow, chosen by the strategy. The model is RC11 (PLDI 2017)
    /// without load buffering. The count of std's `Arc` is not under control: a run does not
    /// fail if a destructor of the last owner reads an old value. After `Arc::get_mut` or `Arc::try_unwrap`, only methods that
    /// take `&mut self` or `self` are known to be the only users; otherwise use
    /// [`loom::sync::Arc`](crate::loom::sync::Arc).
    Weak,
}

/// The configuration of a check.
///
/// Environment variables override it: `RADDLE_RUNS`, `RADDLE_SEED`, `RADDLE_STRATEGY`, `RADDLE_JOBS`,
/// `RADDLE_MINIMIZE` and `RADDLE_EXPLAIN` (0 or 1) replace the field of that name, and so does `RADDLE_MEMORY` (`auto`, `sc` or `weak`). `RADDLE_REPLAY` names the
/// file of a failing run, which is replayed instead of the check; with `RADDLE_REPLAY_TOLERANT` (1), a test
/// that has changed follows it as far as possible. If a test makes several checks, only the one that recorded
/// the file is replayed; the others run as usual. `RADDLE_WATCHDOG` is the number of seconds without a step
/// after which a run is reported as stuck; 0 disables it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The strategy specification (`pos`, `pct:depth=2`), several joined by `+`, or `portfolio`, the default:
    /// see [`PORTFOLIO`](crate::PORTFOLIO). Several strategies take turns, one run each; in the portfolio,
    /// strategies that find more new partial orders get more turns.
    pub strategy: String,
    /// The maximum number of runs. Runs that a strategy prunes because they would repeat another one count
    /// too.
    pub runs: u64,
    /// Stops starting new runs after this time, if set. The number of runs then depends on the machine.
    pub time_budget: Option<Duration>,
    /// The seed. The same seed, strategy and program give the same runs, for any number of jobs.
    pub seed: u64,
    /// The maximum number of steps of a run. A run that exceeds it fails if every thread that can continue
    /// spins (a livelock); otherwise it is [`inconclusive`](crate::Passed::inconclusive).
    pub step_limit: u64,
    /// Fails every run that exceeds the step limit.
    pub step_limit_fails: bool,
    /// Iterations of a spin loop before the thread is descheduled; 0 disables descheduling.
    pub patience: u32,
    /// When a time-out may fire.
    pub timeouts: Timeouts,
    /// The number of OS threads that execute runs. The default is 1, because test harnesses already run tests
    /// in parallel.
    pub jobs: usize,
    /// The directory in which failing runs are recorded, relative to the current directory; `None` to record
    /// nothing.
    pub failures: Option<PathBuf>,
    /// Fails a run if the main thread returns before all others have ended. Otherwise the run continues until
    /// they have.
    pub fail_on_leaked_threads: bool,
    /// Fails a run with a data race on a [cell](crate::cell). On by default: a race is undefined behavior in
    /// Rust, whatever values were read.
    pub races: bool,
    /// Which values a read of an atomic returns.
    pub memory: Memory,
    /// Uses behavior that std allows and most machines rarely show: a thread starts late, `park` returns
    /// without a token, and a thread that already reads waits behind a writer. On by default.
    pub std_freedoms: bool,
    /// Reports a failing run with as few context switches as up to 1,000 further runs can find. On by
    /// default, except for runs of more than 100,000 steps.
    pub minimize: bool,
    /// Adds to the report the two operations that must be swapped for the run to pass, if up to 300 further
    /// runs find them. On by default, except for runs of more than 2,000 steps.
    pub explain: bool,
}

impl Default for Config {
    fn default() -> Config {
        let engine = EngineConfig::default();
        Config {
            strategy: "portfolio".to_owned(),
            runs: 1_000,
            time_budget: None,
            seed: 1,
            step_limit: engine.step_limit,
            step_limit_fails: engine.step_limit_fails,
            patience: engine.patience,
            timeouts: Timeouts::default(),
            jobs: 1,
            failures: Some(PathBuf::from("target/raddle")),
            fail_on_leaked_threads: false,
            races: true,
            memory: Memory::Auto,
            std_freedoms: true,
            minimize: true,
            explain: true,
        }
    }
}

impl Config {
    /// Returns the default configuration.
    #[must_use]
    pub fn new() -> Config {
        Config::default()
    }

    /// Sets [`strategy`](Config::strategy).
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<String>) -> Config {
        self.strategy = strategy.into();
        self
    }

    /// Sets the maximum number of [`runs`](Config::runs).
    #[must_use]
    pub fn with_runs(mut self, runs: u64) -> Config {
        self.runs = runs;
        self
    }

    /// Sets [`time_budget`](Config::time_budget).
    #[must_use]
    pub fn with_time_budget(mut self, budget: Duration) -> Config {
        self.time_budget = Some(budget);
        self
    }

    /// Sets [`seed`](Config::seed).
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Config {
        self.seed = seed;
        self
    }

    /// Sets [`step_limit`](Config::step_limit).
    #[must_use]
    pub fn with_step_limit(mut self, limit: u64) -> Config {
        self.step_limit = limit;
        self
    }

    /// Sets [`step_limit_fails`](Config::step_limit_fails).
    #[must_use]
    pub fn with_step_limit_fails(mut self, fail: bool) -> Config {
        self.step_limit_fails = fail;
        self
    }

    /// Sets [`patience`](Config::patience).
    #[must_use]
    pub fn with_patience(mut self, patience: u32) -> Config {
        self.patience = patience;
        self
    }

    /// Sets [`timeouts`](Config::timeouts).
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Config {
        self.timeouts = timeouts;
        self
    }

    /// Sets the number of OS threads; see [`jobs`](Config::jobs).
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Config {
        self.jobs = jobs;
        self
    }

    /// Sets the directory in which failing runs are recorded.
    #[must_use]
    pub fn with_failures(mut self, directory: impl Into<PathBuf>) -> Config {
        self.failures = Some(directory.into());
        self
    }

    /// Records no failing runs.
    #[must_use]
    pub fn without_failure_files(mut self) -> Config {
        self.failures = None;
        self
    }

    /// Sets [`fail_on_leaked_threads`](Config::fail_on_leaked_threads).
    #[must_use]
    pub fn with_fail_on_leaked_threads(mut self, fail: bool) -> Config {
        self.fail_on_leaked_threads = fail;
        self
    }

    /// Sets [`memory`](Config::memory).
    #[must_use]
    pub fn with_memory(mut self, memory: Memory) -> Config {
        self.memory = memory;
        self
    }

    /// Sets [`races`](Config::races).
    #[must_use]
    pub fn with_races(mut self, fail: bool) -> Config {
        self.races = fail;
        self
    }

    /// Sets [`std_freedoms`](Config::std_freedoms).
    #[must_use]
    pub fn with_std_freedoms(mut self, free: bool) -> Config {
        self.std_freedoms = free;
        self
    }

    /// Sets [`minimize`](Config::minimize).
    #[must_use]
    pub fn with_minimize(mut self, minimize: bool) -> Config {
        self.minimize = minimize;
        self
    }

    /// Sets [`explain`](Config::explain).
    #[must_use]
    pub fn with_explain(mut self, explain: bool) -> Config {
        self.explain = explain;
        self
    }

    /// Returns this configuration with the overrides of the environment applied.
    pub(super) fn with_environment(&self, environment: &environment::Overrides) -> Config {
        let mut config = self.clone();
        config.runs = environment.runs.unwrap_or(config.runs);
        config.seed = environment.seed.unwrap_or(config.seed);
        config.jobs = environment.jobs.unwrap_or(config.jobs);
        config.minimize = environment.minimize.unwrap_or(config.minimize);
        config.explain = environment.explain.unwrap_or(config.explain);
        config.memory = environment.memory.unwrap_or(config.memory);
        config.strategy = environment.strategy.clone().unwrap_or(config.strategy);
        config
    }

    /// Returns the settings that a replay must repeat.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            step_limit: self.step_limit,
            timeouts_anytime: self.timeouts == Timeouts::Anytime,
            patience: self.patience,
            races: self.races,
            step_limit_fails: self.step_limit_fails,
            memory: match self.memory {
                Memory::Auto | Memory::Sc => MemoryModel::Sc,
                Memory::Weak => MemoryModel::Weak,
            },
            ..Settings::default()
        }
    }
}

/// Returns the configuration of an engine.
pub(super) fn engine(settings: Settings) -> EngineConfig {
    let mut config = EngineConfig::from(settings);
    config.races = if settings.races { Races::BetweenPlain } else { Races::Ignored };
    config.judge_races = true;
    config
}
