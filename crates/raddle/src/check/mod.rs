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
mod session;
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

pub(crate) use driver::Test;
pub(crate) use raddle_strategies::portfolio::NAME as PORTFOLIO_NAME;
pub(crate) use session::{Session, repeat};

use raddle_engine::Strategy;
use std::path::Path;
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
    let session = Session::begin(name);
    if let Some(path) = session.recorded() {
        return session.replay(path, &test);
    }
    let config = &session.config(config);
    session.search(config, strategy, &test).map_err(|failed| session.finish(failed, config, &test))
}
