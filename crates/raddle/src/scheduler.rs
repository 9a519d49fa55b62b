//! Shuttle's schedulers and runners, under the names that Shuttle gives them.
//!
//! A scheduler here is a [strategy](Config::strategy) with a number of runs and perhaps a seed. New tests are better off
//! with [`check`](crate::check()) and [`Config`].

pub use crate::thread::ThreadId as TaskId;
use crate::{Config, Passed, check_with};

/// What a [`Runner`] runs a test with.
pub trait Scheduler {
    /// `config` with the strategy, the number of runs and the seed of this scheduler. Called once for each check.
    fn configure(&self, config: Config) -> Config;
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn configure(&self, config: Config) -> Config {
        (**self).configure(config)
    }
}

fn configured(config: Config, strategy: String, runs: usize, seed: Option<u64>) -> Config {
    let seed = seed.unwrap_or(config.seed);
    config.with_strategy(strategy).with_runs(runs as u64).with_seed(seed)
}

macro_rules! randomized {
    ($(#[$doc:meta])* $name:ident, $strategy:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            runs: usize,
            seed: Option<u64>,
        }

        impl $name {
            /// For so many runs, with the seed of the check.
            pub fn new(max_iterations: usize) -> $name {
                $name { runs: max_iterations, seed: None }
            }

            /// For so many runs, with this seed.
            pub fn new_from_seed(seed: u64, max_iterations: usize) -> $name {
                $name { runs: max_iterations, seed: Some(seed) }
            }
        }

        impl Scheduler for $name {
            fn configure(&self, config: Config) -> Config {
                configured(config, $strategy.to_owned(), self.runs, self.seed)
            }
        }
    };
}

randomized! {
    /// Any thread that can go on, at every step: the strategy `random-walk`.
    RandomScheduler, "random-walk"
}

randomized! {
    /// A walk that draws interleavings as evenly as it has learnt to: the strategy `urw`.
    UrwRandomScheduler, "urw"
}

/// Random priorities that change at few steps: the strategy `pct`.
#[derive(Clone, Debug)]
pub struct PctScheduler {
    depth: usize,
    runs: usize,
    seed: Option<u64>,
}

impl PctScheduler {
    /// For bugs up to this depth and so many runs, with the seed of the check.
    pub fn new(max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler { depth: max_depth, runs: max_iterations, seed: None }
    }

    /// For bugs up to this depth and so many runs, with this seed.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler { depth: max_depth, runs: max_iterations, seed: Some(seed) }
    }
}

impl Scheduler for PctScheduler {
    fn configure(&self, config: Config) -> Config {
        configured(config, format!("pct:depth={}", self.depth), self.runs, self.seed)
    }
}

/// Every schedule: the strategy `dfs`.
#[derive(Clone, Debug)]
pub struct DfsScheduler {
    runs: Option<usize>,
}

impl DfsScheduler {
    /// For all runs, or the first so many. Random numbers of the test are choices of the strategy like all others, so nothing
    /// depends on the second argument.
    pub fn new(max_iterations: Option<usize>, _allow_random_data: bool) -> DfsScheduler {
        DfsScheduler { runs: max_iterations }
    }
}

impl Scheduler for DfsScheduler {
    fn configure(&self, config: Config) -> Config {
        configured(config, "dfs".to_owned(), self.runs.unwrap_or(usize::MAX), None)
    }
}

/// Runs a test with one scheduler.
#[derive(Clone, Debug)]
pub struct Runner<S: Scheduler> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler> Runner<S> {
    /// Takes from `config` what `scheduler` does not say.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { scheduler, config }
    }

    /// Runs `test`, panics with the report of the first failure, and otherwise tells how many runs there were.
    #[track_caller]
    pub fn run<F>(self, test: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        match check_with(&self.scheduler.configure(self.config), test) {
            Ok(Passed { runs, cut_off, .. }) => (runs + cut_off) as usize,
            Err(failed) => panic!("{failed}"),
        }
    }
}

/// Runs a test with several schedulers, one after the other in the order in which they were added. (Shuttle runs them side by
/// side; here a check has [`jobs`](Config::jobs) for that.)
pub struct PortfolioRunner {
    stop_on_first_failure: bool,
    config: Config,
    schedulers: Vec<Box<dyn Scheduler + Send>>,
}

impl std::fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortfolioRunner").field("schedulers", &self.schedulers.len()).finish_non_exhaustive()
    }
}

impl PortfolioRunner {
    /// Without schedulers. Takes from `config` what they do not say.
    pub fn new(stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { stop_on_first_failure, config, schedulers: Vec::new() }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.schedulers.push(Box::new(scheduler));
    }

    /// Runs `test` and panics with the report of each failure: at once if this stops at the first one, or after all schedulers
    /// had their turn.
    #[track_caller]
    pub fn run<F>(self, test: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let test = std::sync::Arc::new(test);
        let mut reports = Vec::new();
        for scheduler in &self.schedulers {
            let test = std::sync::Arc::clone(&test);
            if let Err(failed) = check_with(&scheduler.configure(self.config.clone()), move || test()) {
                reports.push(failed.to_string());
                if self.stop_on_first_failure {
                    break;
                }
            }
        }
        if !reports.is_empty() {
            panic!("{}", reports.join("\n\n"));
        }
    }
}
