//! Runs a test many times and says what came of it.

use crate::runtime::{self, Runtime};
use raddle_engine::{Census, Config as EngineConfig, Engine, Plan, Rng};
use raddle_model::{Failure, Verdict};
use std::sync::Arc;

/// How a check is done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The strategy, by its specification.
    pub strategy: String,
    /// The most runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { strategy: "pos".to_owned(), runs: 1_000, seed: 1 }
    }
}

/// What a check that found nothing did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Passed {
    /// How many runs there were.
    pub runs: u64,
    /// How many partial orders were seen.
    pub partial_orders: usize,
    /// Whether no schedule was left.
    pub exhausted: bool,
}

/// A run that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("run {run} of seed {seed} under {strategy} failed: {failure:?}")]
#[non_exhaustive]
pub struct Failed {
    /// What was wrong.
    pub failure: Failure,
    /// The number of the run.
    pub run: u64,
    /// The seed.
    pub seed: u64,
    /// The strategy.
    pub strategy: String,
}

/// Runs `test` under many schedules and panics with the first failure.
pub fn check(test: impl Fn() + Send + Sync + 'static) -> Passed {
    match check_with(&Config::default(), test) {
        Ok(passed) => passed,
        Err(failed) => panic!("{failed}"),
    }
}

/// Runs `test` as `config` says and returns what came of it.
pub fn check_with(config: &Config, test: impl Fn() + Send + Sync + 'static) -> Result<Passed, Box<Failed>> {
    let strategy = raddle_strategies::build(&config.strategy).unwrap_or_else(|error| panic!("{error}"));
    let mut runtime = Runtime::new(Engine::new(EngineConfig::default()), strategy);
    let test = Arc::new(test);
    let mut census = Census::default();
    let mut passed = Passed { runs: 0, partial_orders: 0, exhausted: false };
    for run in 0..config.runs {
        if runtime.strategy.begin(Rng::for_run(config.seed, run)) == Plan::Exhausted {
            passed.exhausted = true;
            break;
        }
        let body = Arc::clone(&test);
        runtime = runtime::run(runtime, Box::new(move || body()));
        let summary = runtime.engine.summary();
        runtime.strategy.learn(&summary);
        match summary.verdict {
            Verdict::Passed => {
                passed.runs += 1;
                census.count(summary.fingerprint);
            }
            Verdict::CutOff => {}
            Verdict::Failed { failure } => {
                let (failure, strategy) = (failure.clone(), config.strategy.clone());
                return Err(Box::new(Failed { failure, run, seed: config.seed, strategy }));
            }
        }
    }
    passed.partial_orders = census.distinct();
    Ok(passed)
}
