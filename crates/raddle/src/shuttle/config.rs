//! Shuttle's settings.

use std::path::PathBuf;
use std::time::Duration;

/// The settings of a [`Runner`](super::Runner), under the names that Shuttle gives them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The size of a thread's stack. Without an effect: all stacks have one size, which is larger than Shuttle's default.
    pub stack_size: usize,
    /// What happens to the schedule of a failing run.
    pub failure_persistence: FailurePersistence,
    /// The most steps of a run.
    pub max_steps: MaxSteps,
    /// No run begins after this time.
    pub max_time: Option<Duration>,
    /// Silences Shuttle's warnings. Without an effect.
    pub silence_warnings: bool,
    /// Records steps in spans of the `tracing` crate. Without an effect.
    pub record_steps_in_span: bool,
    /// What happens to unfinished threads after a panic.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// The default settings.
    #[must_use]
    pub fn new() -> Config {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(1_000_000),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }

    /// The same for a check. Steps are counted from 0 there, and from 1 in Shuttle.
    pub(super) fn to_check(&self) -> crate::Config {
        let mut config = crate::Config::new().with_minimize(false).with_explain(false);
        config.time_budget = self.max_time;
        config.step_limit = match self.max_steps {
            MaxSteps::FailAfter(steps) => (steps as u64).saturating_sub(1),
            MaxSteps::None | MaxSteps::ContinueAfter(_) => u64::MAX,
        };
        config.step_limit_fails = true;
        config.failures = match &self.failure_persistence {
            FailurePersistence::File(directory) => Some(directory.clone().unwrap_or_else(|| ".".into())),
            FailurePersistence::Print | FailurePersistence::None => None,
        };
        config
    }

    /// After how many steps of a check a run is cut off, if it is.
    pub(super) fn cut_off(&self) -> Option<u64> {
        match self.max_steps {
            MaxSteps::ContinueAfter(steps) => Some((steps as u64).saturating_sub(1)),
            MaxSteps::None | MaxSteps::FailAfter(_) => None,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// What happens to the schedule of a failing run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// It is not kept.
    None,
    /// It is printed with the report, for [`replay`](super::replay).
    Print,
    /// It is written as a failure file into this directory, or the current one, for
    /// [`replay_from_file`](super::replay_from_file).
    File(Option<PathBuf>),
}

/// The most steps of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaxSteps {
    /// No limit.
    None,
    /// A run that needs more fails.
    FailAfter(usize),
    /// A run that needs more is ended there, and the next one begins.
    ContinueAfter(usize),
}

/// What happens to unfinished threads after a panic. All of them are unwound, so nothing here has an effect.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Ends the run at the panic, before the panicking thread has unwound its stack. Without an effect.
    pub immediately_return_on_panic: bool,
    /// What happens to the functions of threads that have not begun. They are dropped.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// The default settings.
    #[must_use]
    pub const fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::new(),
        }
    }
}

/// What happens to the functions of threads that have not begun when a run fails.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// They are dropped.
    Drop,
    /// They are leaked in Shuttle, and dropped here.
    #[default]
    Leak,
}

impl ContinuationFunctionBehavior {
    /// Shuttle's default.
    #[must_use]
    pub const fn new() -> ContinuationFunctionBehavior {
        ContinuationFunctionBehavior::Leak
    }
}
