//! Shuttle's configuration.

use std::path::PathBuf;
use std::time::Duration;

/// The configuration of a [`Runner`](super::Runner), under Shuttle's names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The size of a thread's stack. No effect: all stacks have the same size, which is larger than Shuttle's
    /// default.
    pub stack_size: usize,
    /// The output of the schedule of a failing run.
    pub failure_persistence: FailurePersistence,
    /// The maximum number of steps of a run.
    pub max_steps: MaxSteps,
    /// Stops starting new runs after this time.
    pub max_time: Option<Duration>,
    /// Silences Shuttle's warnings. No effect.
    pub silence_warnings: bool,
    /// Records steps in spans of the `tracing` crate. No effect.
    pub record_steps_in_span: bool,
    /// The treatment of unfinished threads after a panic.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// Returns the default configuration.
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

    /// Returns the equivalent configuration of a check. Its steps are counted from 0, and Shuttle's from 1.
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

    /// Returns the number of steps after which a run of a check is ended, if any.
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

/// The output of the schedule of a failing run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Discarded.
    None,
    /// Printed with the report, for [`replay`](super::replay).
    Print,
    /// Written as a failure file into this directory, or the current one, for
    /// [`replay_from_file`](super::replay_from_file).
    File(Option<PathBuf>),
}

/// The maximum number of steps of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaxSteps {
    /// No limit.
    None,
    /// A run that exceeds it fails.
    FailAfter(usize),
    /// A run that exceeds it is ended there, and the next one begins.
    ContinueAfter(usize),
}

/// The treatment of unfinished threads after a panic. All of them are unwound, so these fields have no
/// effect.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Ends the run at the panic, before the panicking thread has unwound its stack. No effect.
    pub immediately_return_on_panic: bool,
    /// The treatment of the functions of threads that have not begun. They are dropped.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// Returns the default configuration.
    #[must_use]
    pub const fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::new(),
        }
    }
}

/// The treatment of the functions of threads that have not begun when a run fails.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// Dropped.
    Drop,
    /// Leaked in Shuttle, and dropped here.
    #[default]
    Leak,
}

impl ContinuationFunctionBehavior {
    /// Returns Shuttle's default.
    #[must_use]
    pub const fn new() -> ContinuationFunctionBehavior {
        ContinuationFunctionBehavior::Leak
    }
}
