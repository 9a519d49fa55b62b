//! Runs tests with schedulers.

use super::config::Config;
use super::failure::{self, Failure};
use super::rand;
use super::scheduler::{Native, Scheduler};
use crate::{check, runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod ask;
mod native;

pub(super) use native::count_from;

/// A test, which is run repeatedly.
type Test = Arc<dyn Fn() + Send + Sync>;

/// Runs a test with one scheduler.
#[derive(Clone, Debug)]
pub struct Runner<S: Scheduler> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// Creates a runner.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { scheduler, config }
    }

    /// Runs `test` as often as the scheduler requests, and returns the number of runs.
    ///
    /// # Panics
    ///
    /// If a run fails: with the payload of the test, or a text that describes the failure.
    #[track_caller]
    pub fn run<F>(self, test: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        let (name, test): (_, Test) = (check::test_name(), Arc::new(test));
        let outcome = execute(&name, Box::new(self.scheduler), &self.config, &test, &Arc::default());
        outcome.unwrap_or_else(|failure| failure::raise(failure, &self.config.failure_persistence))
    }
}

/// Runs a test with several schedulers, each on its own OS thread.
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
    /// Creates a runner without schedulers. With `stop_on_first_failure` all of them stop when one has found a failure.
    pub fn new(stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { stop_on_first_failure, config, schedulers: Vec::new() }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.schedulers.push(Box::new(scheduler));
    }

    /// Runs `test` with all schedulers.
    ///
    /// # Panics
    ///
    /// If a run fails, after all schedulers have stopped: as [`Runner::run`] does for the first scheduler, in the order in
    /// which they were added, that has found a failure.
    #[track_caller]
    pub fn run<F>(self, test: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let (name, test, stop): (_, Test, _) = (check::test_name(), Arc::new(test), Arc::default());
        let (config, stops) = (&self.config, self.stop_on_first_failure);
        let work = |scheduler: Box<dyn Scheduler + Send>| {
            let (name, test, stop) = (&name, &test, &stop);
            move || {
                let outcome = execute(name, scheduler, config, test, stop);
                if stops && outcome.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                outcome
            }
        };
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let spawn = |scheduler| {
                let thread = std::thread::Builder::new().name(name.clone());
                thread.spawn_scoped(scope, work(scheduler)).expect("a thread can be started")
            };
            let threads: Vec<_> = self.schedulers.into_iter().map(spawn).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|p| Err(Failure::Scheduler(p))))
                .collect()
        });
        if let Some(failure) = outcomes.into_iter().find_map(Result::err) {
            failure::raise(failure, &self.config.failure_persistence);
        }
    }
}

/// Executes the runs of a scheduler on this OS thread until `stop` is set, and returns their number.
fn execute(
    name: &str,
    scheduler: Box<dyn Scheduler>,
    config: &Config,
    test: &Test,
    stop: &Arc<AtomicBool>,
) -> Result<usize, Failure> {
    let mut check_config = config.to_check();
    let limits = native::Limits { cut_off: config.cut_off(), stop: Arc::clone(stop) };
    let run = |config: &crate::Config, strategy| {
        runtime::as_shuttle(|| check::run(name, config, Some(strategy), Arc::clone(test)))
            .map_err(|failed| Failure::Run(failed, runtime::take_payload()))
    };
    let passed = if let Some(Native { strategy, runs, seed, data }) = scheduler.native() {
        rand::set_data(data);
        check_config = check_config.with_strategy(strategy).with_runs(runs);
        check_config.seed = seed.unwrap_or(check_config.seed);
        let inner =
            raddle_strategies::build(&check_config.strategy).unwrap_or_else(|error| panic!("{error}"));
        let passed = run(&check_config, limits.around(inner))?;
        let has_depth = raddle_strategies::pct_depth(&check_config.strategy).is_some();
        let alone = passed.runs > 0 && passed.threads < 2 && has_depth;
        assert!(!alone, "test closure did not exercise any concurrency");
        passed
    } else {
        rand::set_data(rand::Data::Strategy);
        // A scheduler must see all tasks that can run, including those that spin.
        check_config = check_config.with_strategy("scheduler").with_runs(u64::MAX).with_patience(0);
        let outcome = ask::with(scheduler, || run(&check_config, ask::AskScheduler::boxed(limits)));
        outcome.map_err(Failure::Scheduler)??
    };
    Ok((passed.runs + passed.cut_off) as usize)
}
