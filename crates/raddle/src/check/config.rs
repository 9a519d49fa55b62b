//! How a check is done.

use crate::check::environment;
use raddle_engine::{Config as EngineConfig, Races};
use raddle_model::Settings;
use std::path::PathBuf;
use std::time::Duration;

/// When a time-out may fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timeouts {
    /// When no thread can do anything else: time stands still while there is work. Threads that rest from spinning have none.
    WhenIdle,
    /// At any moment in a quarter of the runs of strategies that choose at random, and when no thread can do anything else in all
    /// other runs: those of PCT and UPO, whose statements are about one way of time to pass, and of strategies that enumerate schedules.
    #[default]
    Mixed,
    /// At any moment: a timed wait or a sleep is always enabled, and times out if it is chosen while what it waits for is
    /// not there.
    Anytime,
}

/// How a check is done.
///
/// The environment goes before what is set here: `RADDLE_RUNS`, `RADDLE_SEED`, `RADDLE_STRATEGY`, `RADDLE_JOBS` and
/// `RADDLE_MINIMIZE` and `RADDLE_EXPLAIN` (0 or 1) replace the field of that name, and `RADDLE_REPLAY` names the file of a failing
/// run to repeat in the place of the check; with `RADDLE_REPLAY_TOLERANT` (1), a test that has changed follows it as far as possible. Where a test makes several checks, it is repeated in the place of the one that recorded it, the others are done
/// as always. `RADDLE_WATCHDOG` is the number of seconds after which a run that makes no step is told of; 0 turns that off.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The strategy by its specification (`pos`, `pct:depth=2`), several with `+` between them, or `portfolio`, the
    /// default: see [`PORTFOLIO`](crate::PORTFOLIO). Several take turns, one run each; in the
    /// portfolio whoever finds more new partial orders has more turns.
    pub strategy: String,
    /// The most runs. Runs that a strategy cuts off because they would repeat another one use up a number too.
    pub runs: u64,
    /// No run begins after this time, if there is one. With it, how many runs there are depends on the machine.
    pub time_budget: Option<Duration>,
    /// The seed. With the same seed, strategy and program, the same runs happen, whatever the number of jobs.
    pub seed: u64,
    /// A run that takes more steps is ended. It fails if every thread that can go on spins (a livelock); otherwise it is
    /// inconclusive and counts as [`inconclusive`](crate::Passed::inconclusive).
    pub step_limit: u64,
    /// Whether a run that takes more steps fails in any case.
    pub step_limit_fails: bool,
    /// How many idle returns to the same operation a thread may make before others go first; 0 turns that off.
    pub patience: u32,
    /// When a time-out may fire.
    pub timeouts: Timeouts,
    /// On how many OS threads the runs are made; 1 unless more are asked for, because test harnesses run tests beside
    /// each other already.
    pub jobs: usize,
    /// Where failing runs are recorded; relative to the current directory. Nowhere, if there is none.
    pub failures: Option<PathBuf>,
    /// Whether a run fails if the main thread returns before all others have ended. If not, the others run to their
    /// end, and the run is over then.
    pub fail_on_leaked_threads: bool,
    /// Whether a run fails with a data race on a [cell](crate::cell), which it does by default: a race is undefined behaviour
    /// in Rust, whatever values came of it.
    pub races: bool,
    /// Whether runs use what std allows and most machines rarely do, which is the default: a thread starts late, `park` returns
    /// without a token, and a thread that already reads waits behind a writer.
    pub std_freedoms: bool,
    /// Whether a failing run is reported with as few switches between threads as can be found by up to 1,000 further runs, and
    /// not as it was found. The default, but for runs of more than 100,000 steps.
    pub minimize: bool,
    /// Whether the report of a failing run says which two operations have to be swapped for the run to pass, if up to 300
    /// further runs tell. The default, but for runs of more than 2,000 steps.
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
            std_freedoms: true,
            minimize: true,
            explain: true,
        }
    }
}

impl Config {
    /// The default settings.
    #[must_use]
    pub fn new() -> Config {
        Config::default()
    }

    /// With this [`strategy`](Config::strategy).
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<String>) -> Config {
        self.strategy = strategy.into();
        self
    }

    /// With at most so many [`runs`](Config::runs).
    #[must_use]
    pub fn with_runs(mut self, runs: u64) -> Config {
        self.runs = runs;
        self
    }

    /// With this [`time_budget`](Config::time_budget).
    #[must_use]
    pub fn with_time_budget(mut self, budget: Duration) -> Config {
        self.time_budget = Some(budget);
        self
    }

    /// With this [`seed`](Config::seed).
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Config {
        self.seed = seed;
        self
    }

    /// With this [`step_limit`](Config::step_limit).
    #[must_use]
    pub fn with_step_limit(mut self, limit: u64) -> Config {
        self.step_limit = limit;
        self
    }

    /// With [`step_limit_fails`](Config::step_limit_fails) as given.
    #[must_use]
    pub fn with_step_limit_fails(mut self, fail: bool) -> Config {
        self.step_limit_fails = fail;
        self
    }

    /// With this [`patience`](Config::patience).
    #[must_use]
    pub fn with_patience(mut self, patience: u32) -> Config {
        self.patience = patience;
        self
    }

    /// With time-outs that fire as [`timeouts`](Config::timeouts) says.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Config {
        self.timeouts = timeouts;
        self
    }

    /// On so many OS threads; see [`jobs`](Config::jobs).
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Config {
        self.jobs = jobs;
        self
    }

    /// With failing runs recorded in this directory.
    #[must_use]
    pub fn with_failures(mut self, directory: impl Into<PathBuf>) -> Config {
        self.failures = Some(directory.into());
        self
    }

    /// With failing runs recorded nowhere.
    #[must_use]
    pub fn without_failure_files(mut self) -> Config {
        self.failures = None;
        self
    }

    /// With [`fail_on_leaked_threads`](Config::fail_on_leaked_threads) as given.
    #[must_use]
    pub fn with_fail_on_leaked_threads(mut self, fail: bool) -> Config {
        self.fail_on_leaked_threads = fail;
        self
    }

    /// With [`races`](Config::races) as given.
    #[must_use]
    pub fn with_races(mut self, fail: bool) -> Config {
        self.races = fail;
        self
    }

    /// With [`std_freedoms`](Config::std_freedoms) as given.
    #[must_use]
    pub fn with_std_freedoms(mut self, free: bool) -> Config {
        self.std_freedoms = free;
        self
    }

    /// With [`minimize`](Config::minimize) as given.
    #[must_use]
    pub fn with_minimize(mut self, minimize: bool) -> Config {
        self.minimize = minimize;
        self
    }

    /// With [`explain`](Config::explain) as given.
    #[must_use]
    pub fn with_explain(mut self, explain: bool) -> Config {
        self.explain = explain;
        self
    }

    /// These settings with those of the environment put over them.
    pub(super) fn with_environment(&self, environment: &environment::Overrides) -> Config {
        let mut config = self.clone();
        config.runs = environment.runs.unwrap_or(config.runs);
        config.seed = environment.seed.unwrap_or(config.seed);
        config.jobs = environment.jobs.unwrap_or(config.jobs);
        config.minimize = environment.minimize.unwrap_or(config.minimize);
        config.explain = environment.explain.unwrap_or(config.explain);
        config.strategy = environment.strategy.clone().unwrap_or(config.strategy);
        config
    }

    /// What of this a replay has to repeat.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            step_limit: self.step_limit,
            timeouts_anytime: self.timeouts == Timeouts::Anytime,
            patience: self.patience,
            races: self.races,
            exit_last: false,
            step_limit_fails: self.step_limit_fails,
        }
    }
}

/// The settings of an engine.
pub(super) fn engine(settings: Settings) -> EngineConfig {
    let mut config = EngineConfig::default();
    config.step_limit = settings.step_limit;
    config.step_limit_fails = settings.step_limit_fails;
    config.patience = settings.patience;
    config.races = if settings.races { Races::BetweenPlain } else { Races::Ignored };
    config.judge_races = true;
    config.timeouts = if settings.timeouts_anytime {
        raddle_engine::Timeouts::Anytime
    } else {
        raddle_engine::Timeouts::WhenIdle
    };
    config.exit_last = settings.exit_last;
    config
}
