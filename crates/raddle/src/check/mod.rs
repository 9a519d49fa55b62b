//! Runs a test many times and returns the outcome.
//!
//! A run is over when all of its threads have ended: threads that the main thread leaves behind run to their
//! end, and a thread that never can is part of a deadlock. ([`Config::fail_on_leaked_threads`] makes leaving
//! threads behind a failure of its own.) Tasks do not keep a run going; see [`future`](crate::future).

mod attribute;
mod config;
mod driver;
mod environment;
mod failure;
mod freedoms;
mod judge;
mod minimize;
mod ordinal;
mod panics;
mod passed;
mod record;
mod replay;
mod serve;
mod source;
mod turns;
mod verdict;

pub use config::{Config, Memory, Timeouts};
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
/// See [`Config`] for the defaults and the environment variables that override them. If no run fails, it
/// prints a one-line summary to standard error; [`check_with`] prints nothing and returns the summary.
#[track_caller]
pub fn check(test: impl Fn() + Send + Sync + 'static) {
    let (name, config) = (test_name(), Config::default());
    report(&name, run(&name, &config, None, Arc::new(test)));
}

/// Runs `test` with `config` and returns the outcome.
///
/// Panics if `config` or the environment is invalid, or if `RADDLE_REPLAY` is set and the recorded run cannot
/// be replayed.
#[track_caller]
pub fn check_with(config: &Config, test: impl Fn() + Send + Sync + 'static) -> Result<Passed, Box<Failed>> {
    run(&test_name(), config, None, Arc::new(test))
}

/// Like [`check`], with a configuration and the full path of the test function, whose first component is the
/// crate. `#[raddle::test]` calls it.
#[track_caller]
pub fn check_named(path: &str, config: &Config, test: impl Fn() + Send + Sync + 'static) {
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    report(name, run(name, config, None, Arc::new(test)));
}

/// Runs `test` once under the schedule of a failure file. Panics with the report if the run fails again or
/// diverges from the recorded one.
#[track_caller]
pub fn replay(test: impl Fn() + Send + Sync + 'static, schedule_file: impl AsRef<Path>) {
    if let Err(error) = try_replay(test, schedule_file) {
        panic!("{error}");
    }
}

/// Like [`replay`], but returns the outcome.
pub fn try_replay(
    test: impl Fn() + Send + Sync + 'static,
    schedule_file: impl AsRef<Path>,
) -> Result<Passed, ReplayError> {
    let test: driver::Test = Arc::new(test);
    replay::replay(schedule_file.as_ref(), None, &test)
}

/// Like [`try_replay`], but a run that diverges from the recorded one continues and follows it as far as
/// possible. [`Failed::divergence`] then describes the divergence.
pub fn try_replay_tolerantly(
    test: impl Fn() + Send + Sync + 'static,
    schedule_file: impl AsRef<Path>,
) -> Result<Passed, ReplayError> {
    let test: driver::Test = Arc::new(test);
    replay::tolerant(schedule_file.as_ref(), None, &test)
}

/// Returns the name of the test on this OS thread: harnesses name threads after tests. `main` if it is
/// unknown.
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

/// Executes the runs of a check; `strategy` replaces the one of `config`, but not one from the environment.
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
    // The other checks of the test run as usual, so that it reaches the recorded one.
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
    let lanes = lanes.and_then(|lanes| match config.memory {
        Memory::Auto => lanes.with_weak_memory(),
        Memory::Sc | Memory::Weak => Ok(lanes),
    });
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
        leaves_tasks: false.into(),
        observes_ends: false.into(),
        has_weak_orders: false.into(),
    };
    check.run().map_err(|mut failed| {
        // The second run is like those of minimization: without minimization, the run is reported as it was
        // found.
        if config.minimize && config.timeouts == Timeouts::Mixed {
            failed = minimize::with_idle_timeouts(failed, config, &test);
        }
        failed.trace.id = failed.trace.short_id();
        let wanted = config.minimize && failed.trace.steps.len() <= raddle_explain::MOST_AUTOMATIC_STEPS;
        let mut failed = if wanted { minimize::smaller(failed, config, &test) } else { failed };
        if config.explain {
            let reason = minimize::explained(&failed.trace, config, &test);
            failed.explanation = reason.as_ref().map(|reason| reason.why.join(" "));
            failed.trace.details.reason = reason;
        }
        failed.write(config.failures.as_deref());
        failed
    })
}
