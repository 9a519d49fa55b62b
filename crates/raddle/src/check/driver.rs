//! The runs of a check: Rust tests as a target of [`raddle_search`], whose jobs are OS threads.

use super::config::{self, Config, Memory};
use super::failure::{Failed, FailureFile};
use super::freedoms::{self, Freedoms};
use super::judge;
use super::panics;
use super::passed::Passed;
use super::record::{Origin, record};
use super::turns::{self, Turn};
use super::verdict::Failure;
use crate::runtime::{self, Conflict, Runtime};
use raddle_engine::{Engine, Plan, Rng, Strategy};
use raddle_model::{Kind, MemoryModel, Pick, Verdict};
use raddle_search::{Budget, FinishedRun, Known, Lanes, Request, Run, Search, Stop, Target, Worker, search};
use raddle_strategies::portfolio::Turn as Number;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A test, which is run repeatedly.
pub(crate) type Test = Arc<dyn Fn() + Send + Sync>;

/// One check.
pub(super) struct Check<'a> {
    pub(super) name: &'a str,
    pub(super) config: &'a Config,
    pub(super) lanes: &'a Lanes,
    pub(super) test: Test,
    /// True if a run ended with tasks left.
    pub(super) leaves_tasks: AtomicBool,
    /// True if ends of threads are operations, because a run has asked whether a thread has finished.
    pub(super) observes_ends: AtomicBool,
    /// True if a run had an atomic access or a fence with an order weaker than `SeqCst`.
    pub(super) has_weak_orders: AtomicBool,
}

impl Check<'_> {
    /// Executes the runs. A returned failure has not been written to a file.
    pub(super) fn run(&self) -> Result<Passed, Box<Failed>> {
        panics::install();
        runtime::overflow::install();
        turns::take(|turn| match turn {
            Turn::Shared => self.run_jobs(self.config.jobs.max(1)),
            Turn::Alone => self.run_jobs(1),
        })
    }

    /// Executes the runs on `jobs` OS threads; returns `None` if they shared a static with another job or
    /// check.
    fn run_jobs(&self, jobs: usize) -> Option<Result<Passed, Box<Failed>>> {
        let target = Tests { check: self, conflict: Conflict::default() };
        let Config { runs, time_budget: time, .. } = *self.config;
        let budget = Budget { runs, time, stop: Stop::FirstFailure };
        let found = search(
            &target,
            &Search {
                lanes: self.lanes,
                budget,
                jobs,
                part: None,
                known: None,
                watch: &|_| (),
                every: u64::MAX,
            },
        );
        if target.conflict.is_met() {
            return None;
        }
        let found = found.unwrap_or_else(|error| panic!("cannot run the check: {}", error.0));
        Some(match found.first {
            Some((_, failed)) => Err(failed),
            None => {
                let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
                let varied = found.tally.idle_timeouts || is_set(&self.leaves_tasks);
                let mut passed = Passed::of(&found.tally, self.lanes, varied);
                passed.memory = match found.tally.weak_runs {
                    0 => Memory::Sc,
                    runs if runs == found.tally.runs => Memory::Weak,
                    _ => Memory::Auto,
                };
                passed.has_weak_orders = is_set(&self.has_weak_orders);
                Ok(passed)
            }
        })
    }

    fn failed(
        &self,
        runtime: &Runtime,
        panics: Vec<panics::Panic>,
        Number { number, lane, run }: Number,
    ) -> Failed {
        let origin = Origin {
            program: self.name,
            settings: freedoms::of(self.config, self.lanes.get(lane), run).settings,
            fail_on_leaked_threads: self.config.fail_on_leaked_threads,
            strategy: &self.lanes.get(lane).spec,
            seed: self.config.seed,
            run,
            locations: &[],
        };
        let trace = record(runtime, &panics, origin);
        failed(trace, panics, Some(number))
    }
}

/// The test of a check.
struct Tests<'a> {
    check: &'a Check<'a>,
    conflict: Conflict,
}

impl<'a> Target for Tests<'a> {
    type Worker = TestWorker<'a>;

    fn start(&self, _job: usize) -> Result<TestWorker<'a>, Abandoned> {
        let Check { config, lanes, .. } = self.check;
        let engine = Engine::new(config::engine(config.settings()));
        let strategies: Vec<_> = lanes.iter().map(|lane| lane.strategy()).collect();
        let mut runtime = Runtime::new(engine, lanes.get(0).strategy(), self.conflict.clone());
        runtime.fail_on_leaked_threads = config.fail_on_leaked_threads;
        runtime.observes_ends = self.check.observes_ends.load(Ordering::Relaxed);
        if !runtime::is_shuttle() {
            runtime.wind_down_after_cut_off();
        }
        let conflict = self.conflict.clone();
        let (check, runtime) = (self.check, Some(runtime));
        Ok(TestWorker {
            check,
            runtime,
            strategies,
            conflict,
            requested: None,
            watched: false,
            begins_weak: None,
        })
    }

    fn learn_shared(&self, _: Vec<u64>) {
        self.check.observes_ends.store(true, Ordering::Relaxed);
    }
}

/// The reason why a job makes no further runs: no thread, or a static that belongs to another job or check.
#[derive(Debug)]
struct Abandoned(String);

impl From<io::Error> for Abandoned {
    fn from(error: io::Error) -> Abandoned {
        Abandoned(error.to_string())
    }
}

/// The only fact that a run of a Rust test can discover about what threads share: the ends of threads.
const OBSERVED_ENDS: u64 = 0;

/// Executes the runs of one job on the current thread.
struct TestWorker<'a> {
    check: &'a Check<'a>,
    /// `None` during a run.
    runtime: Option<Box<Runtime>>,
    /// Invariant: the runtime's strategy is a placeholder between runs.
    strategies: Vec<Box<dyn Strategy>>,
    conflict: Conflict,
    requested: Option<Request>,
    /// True if the watchdog observes its runs.
    watched: bool,
    /// True if the first run of the check names weak memory orders; `None` while that is not known.
    begins_weak: Option<bool>,
}

impl Worker for TestWorker<'_> {
    type Failure = Box<Failed>;
    type Error = Abandoned;
    const IS_REMOTE: bool = false;
    /// Two tables of 2 MiB, for the search and its portfolio.
    const MOST_ORDERS: usize = 1 << 16;

    fn request(&mut self, requests: &[Request]) -> Result<(), Abandoned> {
        self.requested = requests.first().copied();
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<FinishedRun<Box<Failed>>>, Abandoned> {
        let Some((request, mut runtime)) = self.requested.take().zip(self.runtime.take()) else {
            return Ok(None);
        };
        let lane = request.turn.lane;
        std::mem::swap(&mut runtime.strategy, &mut self.strategies[lane]);
        let rng = Rng::for_run(self.check.config.seed, request.turn.run);
        let mut made = None;
        if runtime.strategy.begin(rng) == Plan::Run {
            (runtime, made) = self.make(runtime, request);
        }
        std::mem::swap(&mut runtime.strategy, &mut self.strategies[lane]);
        self.runtime = Some(runtime);
        if self.conflict.is_met() {
            return Err(Abandoned("another check uses the same static".to_owned()));
        }
        Ok(made)
    }

    fn knowledge(&mut self, lanes: &[usize]) -> Result<Known, Abandoned> {
        let mut spaces = lanes.iter().filter_map(|&lane| self.strategies.get(lane)?.space());
        Ok(Known { estimate: spaces.next_back(), ..Known::default() })
    }
}

impl TestWorker<'_> {
    /// Executes one run under the runtime's strategy, which has begun.
    fn make(
        &mut self,
        runtime: Box<Runtime>,
        request: Request,
    ) -> (Box<Runtime>, Option<FinishedRun<Box<Failed>>>) {
        let mut runtime = runtime;
        if !std::mem::replace(&mut self.watched, true) {
            runtime.watch(self.check.name);
        }
        runtime = self.execute(runtime, request.turn);
        let panics = panics::take();
        if self.conflict.is_met() {
            return (runtime, None);
        }
        let summary = runtime.engine.summary();
        if summary.trace.events.last().is_some_and(|event| event.operation.kind == Kind::Exit) {
            self.check.leaves_tasks.store(true, Ordering::Relaxed);
        }
        if runtime.has_weak_orders && summary.thread_count() > 1 {
            self.check.has_weak_orders.store(true, Ordering::Relaxed);
        }
        if !runtime.has_learnt() {
            runtime.strategy.learn(&summary);
        }
        let mut run = Run {
            fingerprint: summary.fingerprint,
            steps: summary.trace.events.len() as u64,
            threads: summary.thread_count() as u64,
            rests: summary.rests,
            drawn: Pick::drawn(&summary.trace.picks),
            idle_timeouts: runtime.engine.has_idle_timeouts(),
            cut_off: *summary.verdict == Verdict::CutOff,
            weak_memory: runtime.engine.is_weak() || self.check.config.memory == Memory::Weak,
            forked: false,
            details: None,
        };
        if runtime.asked_for_end && !runtime.observes_ends && !runtime::is_shuttle() {
            run.details.get_or_insert_default().discovered = vec![OBSERVED_ENDS];
        }
        if summary.forgot_writes {
            run.details.get_or_insert_default().forgot_writes = true;
        }
        if matches!(summary.verdict, Verdict::Inconclusive { .. }) {
            run.details.get_or_insert_default().inconclusive = true;
        }
        let mut failure = None;
        if let Some(found) = summary.verdict.failure() {
            run.details.get_or_insert_default().kind = Some(found.kind().to_owned());
            failure = request.trace.then(|| Box::new(self.check.failed(&runtime, panics, request.turn)));
            let is_impossible;
            (runtime, is_impossible) = judge::is_impossible(runtime, &self.check.test);
            if is_impossible && let Some(details) = &mut run.details {
                (details.kind, failure) = (None, None);
            }
        }
        (runtime, Some(FinishedRun { run, failure }))
    }
}

/// Weak memory only where it makes a difference. In a run that names no weak order, weak memory is sequential consistency,
/// which costs less. So with [`Memory::Weak`] a run of a randomized strategy is sequentially consistent at first, and repeated
/// if it names such an order; unless the first run of the check named one: then all runs are under weak memory at once. The half
/// of the runs in which every access takes the newest value are sequentially consistent in any case. This does not depend on the
/// number of jobs.
impl TestWorker<'_> {
    /// Executes a run under the runtime's strategy, which has begun.
    fn execute(&mut self, mut runtime: Box<Runtime>, turn: Number) -> Box<Runtime> {
        let is_tried =
            self.check.config.memory == Memory::Weak && !self.check.lanes.get(turn.lane).counts_orders;
        if is_tried && self.begins_weak.is_none() && turn.number > 0 {
            runtime = self.try_first(runtime);
        }
        self.free(&mut runtime, turn.lane, turn.run);
        if !is_tried {
            return self.execute_under(runtime, self.check.config.settings().memory);
        }
        let rng = || Rng::for_run(self.check.config.seed, turn.run);
        // Such a run costs less, and its failure is known to need no weak memory.
        let is_sequential = self.check.lanes.get(turn.lane).is_half_sequential && rng().takes_newest();
        if self.begins_weak == Some(true) && !is_sequential {
            return self.execute_under(runtime, self.check.config.settings().memory);
        }
        runtime = self.execute_under(runtime, MemoryModel::Sc);
        self.begins_weak.get_or_insert(runtime.has_weak_orders);
        if is_sequential || !runtime.has_weak_orders || self.conflict.is_met() {
            return runtime;
        }
        panics::take();
        runtime.strategy.begin(rng());
        self.execute_under(runtime, MemoryModel::Weak)
    }

    /// Executes the first run of the check, which another job executes too, to see whether it names weak orders.
    fn try_first(&mut self, mut runtime: Box<Runtime>) -> Box<Runtime> {
        let mut first = self.check.lanes.get(0).strategy();
        first.begin(Rng::for_run(self.check.config.seed, 0));
        std::mem::swap(&mut runtime.strategy, &mut first);
        self.free(&mut runtime, 0, 0);
        runtime = self.execute_under(runtime, MemoryModel::Sc);
        std::mem::swap(&mut runtime.strategy, &mut first);
        panics::take();
        self.begins_weak = Some(runtime.has_weak_orders);
        runtime
    }

    /// Gives a run its freedoms.
    fn free(&self, runtime: &mut Runtime, lane: usize, run: u64) {
        let Freedoms { settings, free } = freedoms::of(self.check.config, self.check.lanes.get(lane), run);
        runtime.engine.set_timeouts(config::engine(settings).timeouts);
        (runtime.exit_last, runtime.free) = (settings.exit_last, free);
    }

    fn execute_under(&self, mut runtime: Box<Runtime>, memory: MemoryModel) -> Box<Runtime> {
        runtime.engine.set_memory(memory);
        runtime::run(runtime, Arc::clone(&self.check.test))
    }
}

/// Returns the failure at the end of `trace`.
pub(super) fn failed(
    trace: raddle_model::TraceFile,
    panics: Vec<panics::Panic>,
    number: Option<u64>,
) -> Failed {
    Failed {
        failure: Failure::of(&trace),
        run: trace.run,
        number,
        seed: trace.seed,
        strategy: trace.strategy.clone(),
        panics,
        trace,
        explanation: None,
        divergence: None,
        file: FailureFile::Unwanted,
    }
}
