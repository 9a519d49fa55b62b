//! Runs a test many times and says what came of it.
//!
//! A run is over when all of its threads have ended: what the main thread leaves behind when it returns runs to its end,
//! and a thread that never can is part of a deadlock. ([`Config::fail_on_leaked_threads`] makes leaving threads behind a
//! failure of its own.) Tasks do not keep a run going; see [`future`](crate::future).

mod attribute;
mod config;
mod driver;
mod environment;
mod failure;
mod freedoms;
mod minimize;
mod ordinal;
mod panics;
mod passed;
mod record;
mod replay;
mod serve;
mod turns;
mod verdict;

pub use config::{Config, Timeouts};
pub use failure::{Failed, FailureFile};
pub use panics::Panic;
pub use passed::Passed;
pub use raddle_strategies::portfolio::PORTFOLIO;
pub use replay::ReplayError;
pub use verdict::Failure;

use raddle_engine::Strategy;
use raddle_search::{Lanes, Portfolio};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs `test` under many schedules and panics with the report of the first failure.
///
/// See [`Config`] for what the default is and what the environment can change. If no run fails, it prints a line to the standard
/// error that says what was done; [`check_with`] prints nothing and returns that.
#[track_caller]
pub fn check(test: impl Fn() + Send + Sync + 'static) {
    let (name, config) = (test_name(), Config::default());
    report(&name, run(&name, &config, None, Arc::new(test)));
}

/// Runs `test` as `config` says and returns what came of it.
///
/// Panics if `config` or the environment make no sense, or if `RADDLE_REPLAY` is set and the recorded run cannot be
/// repeated.
#[track_caller]
pub fn check_with(config: &Config, test: impl Fn() + Send + Sync + 'static) -> Result<Passed, Box<Failed>> {
    run(&test_name(), config, None, Arc::new(test))
}

/// As [`check`], with settings and the full path of the test function, whose first part is the crate. This is what
/// `#[raddle::test]` calls.
#[track_caller]
pub fn check_named(path: &str, config: &Config, test: impl Fn() + Send + Sync + 'static) {
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    report(name, run(name, config, None, Arc::new(test)));
}

/// Runs `test` once, as the file of a failing run says, and panics with the report if it fails again or does something
/// else than when the file was recorded.
#[track_caller]
pub fn replay(test: impl Fn() + Send + Sync + 'static, schedule_file: impl AsRef<Path>) {
    if let Err(error) = try_replay(test, schedule_file) {
        panic!("{error}");
    }
}

/// As [`replay`], and returns what came of it.
pub fn try_replay(
    test: impl Fn() + Send + Sync + 'static,
    schedule_file: impl AsRef<Path>,
) -> Result<Passed, ReplayError> {
    let test: driver::Test = Arc::new(test);
    replay::replay(schedule_file.as_ref(), None, &test)
}

/// As [`try_replay`]; a test that leaves the recorded run goes on from there and follows it as far as possible. Whether it did is told
/// by [`Failed::left`].
pub fn try_replay_tolerantly(
    test: impl Fn() + Send + Sync + 'static,
    schedule_file: impl AsRef<Path>,
) -> Result<Passed, ReplayError> {
    let test: driver::Test = Arc::new(test);
    replay::tolerant(schedule_file.as_ref(), None, &test)
}

/// The name of the test that runs on this OS thread: harnesses name threads after tests. `main` if it is not known.
pub(crate) fn test_name() -> String {
    std::thread::current().name().unwrap_or("main").to_owned()
}

#[track_caller]
fn report(name: &str, outcome: Result<Passed, Box<Failed>>) {
    match outcome {
        // A harness shows it with `--nocapture`, or if the test fails later.
        Ok(passed) => eprintln!("{}", passed.line(name)),
        Err(failed) => panic!("{failed}"),
    }
}

/// Makes the runs of a check; `strategy` takes the place of the one that `config` names, but not of one that the environment
/// names.
#[track_caller]
pub(crate) fn run(
    name: &str,
    config: &Config,
    strategy: Option<Box<dyn Strategy>>,
    test: driver::Test,
) -> Result<Passed, Box<Failed>> {
    let environment = environment::Overrides::read();
    crate::runtime::start_watchdog(environment.watchdog);
    let test_name = name;
    let name = &ordinal::next(test_name)[..];
    // The other checks of the test are done as always, so that it comes to the one that was recorded.
    let is_recorded = |path: &&PathBuf| {
        !replay::program(path).is_some_and(|program| program != name && ordinal::test(&program) == test_name)
    };
    if let Some(path) = environment.replay.as_ref().filter(is_recorded) {
        if let Some(socket) = &environment.serve {
            panics::install();
            crate::runtime::overflow::install();
            serve::serve(socket, path, &test);
        }
        let known = Some(name).filter(|&name| name != "main");
        let follow = if environment.tolerant { replay::tolerant } else { replay::replay };
        return match follow(path, known, &test) {
            Ok(passed) => Ok(passed),
            Err(ReplayError::Failed(failed)) => Err(failed),
            Err(error) => panic!("RADDLE_REPLAY: {error}"),
        };
    }
    let config = &config.with_environment(&environment);
    let own = strategy.filter(|_| environment.strategy.is_none());
    let lanes = match own {
        Some(own) => Ok(Lanes::of(config.strategy.clone(), own)),
        None => Lanes::parse(&config.strategy, Portfolio::Tests),
    };
    let lanes = match lanes {
        Ok(lanes) => lanes,
        Err(error) if environment.strategy.is_some() => panic!("RADDLE_STRATEGY: {error}"),
        Err(error) => panic!("{error}"),
    };
    let check = driver::Check {
        name,
        config,
        lanes: &lanes,
        test: Arc::clone(&test),
        has_time_limits: false.into(),
        leaves_tasks: false.into(),
    };
    check.run().map_err(|mut failed| {
        // The second run is like those of minimization: without that, the run is reported as it was found.
        if config.minimize && config.timeouts == Timeouts::Mixed {
            failed = minimize::with_idle_timeouts(failed, config, &test);
        }
        failed.trace.id = failed.trace.short_id();
        let wanted = config.minimize && failed.trace.steps.len() <= raddle_explain::MOST_AUTOMATIC_STEPS;
        let mut failed = if wanted { minimize::smaller(failed, config, &test) } else { failed };
        if config.explain {
            failed.explanation = minimize::explained(&failed.trace, config, &test);
        }
        failed.write(config.failures.as_deref());
        failed
    })
}
