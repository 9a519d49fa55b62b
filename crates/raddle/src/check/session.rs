//! The parts of a check: search, replay, and the report of a failure.

use super::config::{Config, Memory, Timeouts};
use super::driver::{self, Test};
use super::environment::Overrides;
use super::failure::Failed;
use super::passed::Passed;
use super::replay::{self, ReplayError};
use super::{minimize, ordinal, panics, serve};
use raddle_engine::Strategy;
use raddle_model::TraceFile;
use raddle_search::{Lanes, Portfolio};
use std::path::{Path, PathBuf};

/// One check of a test, and what the environment says about it.
pub(crate) struct Session {
    environment: Overrides,
    /// The name of the test.
    test: String,
    /// The name of the check.
    name: String,
}

impl Session {
    /// Begins the next check of the test `test`.
    pub(crate) fn begin(test: &str) -> Session {
        let environment = Overrides::read();
        crate::runtime::start_watchdog(environment.watchdog);
        Session { environment, test: test.to_owned(), name: ordinal::next(test) }
    }

    /// Returns the file that the environment names, if this check is to replay it. The other checks of the test run as usual, so
    /// that it reaches the recorded one.
    pub(crate) fn recorded(&self) -> Option<&Path> {
        let is_recorded = |path: &&PathBuf| {
            !replay::program(path)
                .is_some_and(|program| program != self.name && ordinal::test(&program) == self.test)
        };
        self.environment.replay.as_ref().filter(is_recorded).map(PathBuf::as_path)
    }

    /// Replays the run of `path`, or answers the requests of another process about it.
    #[track_caller]
    pub(crate) fn replay(&self, path: &Path, test: &Test) -> Result<Passed, Box<Failed>> {
        if let Some(socket) = &self.environment.serve {
            panics::install();
            crate::runtime::overflow::install();
            serve::serve(socket, path, test);
        }
        let known = Some(&*self.name).filter(|&name| name != "main");
        let follow = if self.environment.tolerant { replay::tolerant } else { replay::replay };
        match follow(path, known, test) {
            Ok(passed) => Ok(passed),
            Err(ReplayError::Failed(failed)) => Err(failed),
            Err(error) => panic!("RADDLE_REPLAY: {error}"),
        }
    }

    /// Returns `config` with the overrides of the environment.
    pub(crate) fn config(&self, config: &Config) -> Config {
        config.with_environment(&self.environment)
    }

    /// Executes runs; `strategy` replaces the one of `config`, but not one from the environment. A failure is returned as it was
    /// found.
    #[track_caller]
    pub(crate) fn search(
        &self,
        config: &Config,
        strategy: Option<Box<dyn Strategy>>,
        test: &Test,
    ) -> Result<Passed, Box<Failed>> {
        let own = strategy.filter(|_| self.environment.strategy.is_none());
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
            Err(error) if self.environment.strategy.is_some() => panic!("RADDLE_STRATEGY: {error}"),
            Err(error) => panic!("{error}"),
        };
        let check = driver::Check {
            name: &self.name,
            config,
            lanes: &lanes,
            test: Test::clone(test),
            leaves_tasks: false.into(),
            observes_ends: false.into(),
            has_weak_orders: false.into(),
        };
        check.run()
    }

    /// Minimizes, explains and records a failure.
    pub(crate) fn finish(&self, failed: Box<Failed>, config: &Config, test: &Test) -> Box<Failed> {
        self.finish_with(failed, config, test, |_| {})
    }

    /// Does [`Session::finish`], and `complete`s the failure file before it is written.
    pub(crate) fn finish_with(
        &self,
        mut failed: Box<Failed>,
        config: &Config,
        test: &Test,
        complete: impl FnOnce(&mut TraceFile),
    ) -> Box<Failed> {
        // The second run is like those of minimization: without minimization, the run is reported as it was
        // found.
        if config.minimize && config.timeouts == Timeouts::Mixed {
            failed = minimize::with_idle_timeouts(failed, config, test);
        }
        failed.trace.id = failed.trace.short_id();
        let wanted = config.minimize && failed.trace.steps.len() <= raddle_explain::MOST_AUTOMATIC_STEPS;
        let mut failed = if wanted { minimize::smaller(failed, config, test) } else { failed };
        if config.explain {
            let reason = minimize::explained(&failed.trace, config, test);
            failed.explanation = reason.as_ref().map(|reason| reason.why.join(" "));
            failed.trace.details.reason = reason;
        }
        complete(&mut failed.trace);
        failed.write(config.failures.as_deref());
        failed
    }

    /// Returns the parameters of the failure file `path`, if it can be read.
    pub(crate) fn parameters(path: &Path) -> Vec<(String, i64)> {
        let text = std::fs::read_to_string(path).ok();
        text.and_then(|text| TraceFile::from_json(&text).ok()).map(|file| file.parameters).unwrap_or_default()
    }
}

/// Repeats a recorded run.
pub(crate) fn repeat(file: &TraceFile, test: &Test) {
    _ = replay::repeat(file, test);
}
