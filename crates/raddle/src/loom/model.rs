//! Loom's `model`: runs a test under every schedule that matters.

use crate::{Config, Failed, Passed, check_with};
use std::path::PathBuf;
use std::time::Duration;

/// How often a thread may come back to the same operation, without having written, before others go first. In Loom a thread
/// that yields waits for the others at once; each further round would be another partial order to run.
const PATIENCE: u32 = 1;

/// Runs `test` once for each partial order of its operations and panics with the report of the first failure. The environment
/// can change that as it can any check; see [`Config`].
#[track_caller]
pub fn model<F>(test: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(test);
}

/// How a model is run. The fields have Loom's names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Loom's limit to the number of threads. Here is none, and nothing depends on this.
    pub max_threads: usize,
    /// The most steps of a run. One that takes more fails.
    pub max_branches: usize,
    /// The most runs, if there is such a number.
    pub max_permutations: Option<usize>,
    /// No run begins after this time.
    pub max_duration: Option<Duration>,
    /// If given, every schedule with at most so many preemptions is run, in the place of one for each partial order.
    pub preemption_bound: Option<usize>,
    /// The file in which Loom keeps where it is. Without an effect: a failing run has a failure file.
    pub checkpoint_file: Option<PathBuf>,
    /// How often Loom writes that file. Without an effect.
    pub checkpoint_interval: usize,
    /// Makes Loom explore only where it is told to. Without an effect: everything is explored.
    pub expect_explicit_explore: bool,
    /// Makes Loom record where operations are. Without an effect: that is always done.
    pub location: bool,
    /// Makes Loom log. Without an effect.
    pub log: bool,
}

impl Builder {
    /// Without limits but for the steps of a run, of which a [check](Config) has the same number.
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

    /// Sets the file in which Loom keeps where it is. Without an effect.
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

    /// Runs `test` and tells what came of it; Loom has no such method.
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
