//! Loom's `model`: runs a test under every distinct schedule.

use crate::{Config, Failed, Memory, Passed, check_with};
use std::path::PathBuf;
use std::time::Duration;

/// Returns of a thread to the same operation, without a write, before it is descheduled. In Loom a thread
/// that yields waits for the others at once; each further iteration would be another partial order to run.
const PATIENCE: u32 = 1;

/// Runs `test` once for each partial order of its operations and each choice of weak memory, and panics with the report of the
/// first failure.
/// Environment variables change this as for any check; see [`Config`].
#[track_caller]
pub fn model<F>(test: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(test);
}

/// The configuration of a model. The fields have Loom's names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Loom's limit on the number of threads. No effect: Raddle has none.
    pub max_threads: usize,
    /// The maximum number of steps of a run. A run that exceeds it fails.
    pub max_branches: usize,
    /// The maximum number of runs, if any.
    pub max_permutations: Option<usize>,
    /// Stops starting new runs after this time.
    pub max_duration: Option<Duration>,
    /// Runs every schedule with at most this many preemptions instead of one for each partial order, if set.
    pub preemption_bound: Option<usize>,
    /// The file in which Loom stores its progress. No effect: a failing run has a failure file.
    pub checkpoint_file: Option<PathBuf>,
    /// The interval at which Loom writes that file. No effect.
    pub checkpoint_interval: usize,
    /// Makes Loom explore only where requested. No effect: everything is explored.
    pub expect_explicit_explore: bool,
    /// Makes Loom record source locations. No effect: they are always recorded.
    pub location: bool,
    /// Makes Loom log. No effect.
    pub log: bool,
}

impl Builder {
    /// Creates a builder without limits, except the default step limit of a [check](Config).
    pub fn new() -> Builder {
        let max_branches = usize::try_from(Config::new().step_limit).unwrap_or(usize::MAX);
        Builder {
            max_threads: usize::MAX,
            max_branches,
            max_permutations: None,
            max_duration: None,
            preemption_bound: None,
            checkpoint_file: None,
            checkpoint_interval: 20_000,
            expect_explicit_explore: false,
            location: false,
            log: false,
        }
    }

    /// Sets the file in which Loom stores its progress. No effect.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Builder {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs `test` and panics with the report of the first failure.
    #[track_caller]
    pub fn check<F>(&self, test: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        if let Err(failed) = self.outcome(test) {
            panic!("{failed}");
        }
    }

    /// Runs `test` and returns the outcome; Loom has no such method.
    #[track_caller]
    pub fn outcome<F>(&self, test: F) -> Result<Passed, Box<Failed>>
    where
        F: Fn() + Sync + Send + 'static,
    {
        check_with(&self.config(), test)
    }

    fn config(&self) -> Config {
        let strategy = match self.preemption_bound {
            Some(bound) => format!("preemption:bound={bound}"),
            None => "dpor".to_owned(),
        };
        let mut config = Config::new()
            .with_strategy(strategy)
            .with_memory(Memory::Weak)
            .with_step_limit(self.max_branches as u64)
            .with_step_limit_fails(true);
        config.patience = PATIENCE;
        config.runs = self.max_permutations.map_or(u64::MAX, |runs| runs as u64);
        config.time_budget = self.max_duration;
        config
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}
