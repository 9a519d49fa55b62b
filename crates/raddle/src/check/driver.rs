//! The runs of a check, spread over OS threads.
//!
//! Every run has a number, which tells strategy and seed (see [`raddle_strategies::portfolio`]). A strategy that does not learn is
//! split between the jobs by run number; one that learns stays with one job, which makes all of its runs in order. Each
//! job goes through its runs by number and stops when a failure with a smaller number is known. So the failure with the
//! smallest number is found whatever the number of jobs.

use super::config::{self, Config};
use super::failure::{Failed, FailureFile};
use super::panics;
use super::passed::{Passed, Tally};
use super::portfolio::{self, Lane};
use super::record::{Origin, record};
use super::turns::{self, Turn};
use crate::runtime::{self, Conflict, Runtime};
use raddle_engine::{Engine, Plan, Rng, Strategy};
use raddle_model::Verdict;
use raddle_strategies::portfolio::{Rounds, Turn as Run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A test as it is run again and again.
pub(super) type Test = Arc<dyn Fn() + Send + Sync>;

/// One check.
pub(super) struct Check<'a> {
    pub(super) name: &'a str,
    pub(super) config: &'a Config,
    pub(super) lanes: &'a [Lane],
    pub(super) test: Test,
}

/// What all jobs of a check know.
struct Shared {
    /// No run with this number or a greater one is needed any more.
    end: AtomicU64,
    /// How many strategies have no schedule left.
    exhausted: AtomicUsize,
    /// Whether one of them leaves nothing for the others.
    covered: AtomicUsize,
    deadline: Deadline,
    conflict: Conflict,
    rounds: Rounds,
}

/// When no further run may begin: the only use of the clock.
pub(super) struct Deadline(Option<(Instant, Duration)>);

impl Deadline {
    #[expect(
        clippy::disallowed_methods,
        reason = "a time budget is looked at between runs and decides nothing in them"
    )]
    pub(super) fn new(budget: Option<Duration>) -> Deadline {
        Deadline(budget.map(|budget| (Instant::now(), budget)))
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_some_and(|(begun, budget)| begun.elapsed() >= budget)
    }
}

/// The runs of one strategy that one job makes: those whose numbers leave this `rest` when divided by `stride`.
struct Stream {
    strategy: Box<dyn Strategy>,
    rest: u64,
    stride: u64,
    /// It has no schedule left.
    over: bool,
}

impl Check<'_> {
    /// Makes the runs. The failure, if there is one, has not been written to a file.
    pub(super) fn run(&self) -> Result<Passed, Box<Failed>> {
        panics::install();
        runtime::overflow::install();
        turns::take(|turn| match turn {
            Turn::Shared => self.run_jobs(self.config.jobs.max(1)),
            Turn::Alone => self.run_jobs(1),
        })
    }

    /// Makes the runs on so many OS threads; gives nothing if they met those of another job or check at a static.
    fn run_jobs(&self, jobs: usize) -> Option<Result<Passed, Box<Failed>>> {
        let shared = Shared {
            conflict: Conflict::default(),
            end: AtomicU64::new(self.config.runs),
            exhausted: AtomicUsize::new(0),
            covered: AtomicUsize::new(0),
            deadline: Deadline::new(self.config.time_budget),
            rounds: match &self.config.strategy[..] {
                portfolio::NAME => Rounds::portfolio(jobs),
                _ => Rounds::equal(self.lanes.len()),
            },
        };
        let outcomes: Vec<(Tally, Option<Box<Failed>>)> = std::thread::scope(|scope| {
            let work = |job| {
                let shared = &shared;
                move || Job::new(self, shared, job, jobs).run()
            };
            let others: Vec<_> = (1..jobs).map(|job| scope.spawn(work(job))).collect();
            let first = work(0)();
            let others = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)));
            [first].into_iter().chain(others).collect()
        });
        if shared.conflict.is_met() {
            return None;
        }
        let mut total = Tally::default();
        let mut found: Option<Box<Failed>> = None;
        for (tally, failed) in outcomes {
            total.merge(tally);
            if let Some(failed) =
                failed.filter(|new| found.as_ref().is_none_or(|old| new.number < old.number))
            {
                found = Some(failed);
            }
        }
        if let Some(failed) = found {
            return Some(Err(failed));
        }
        let mut passed = total.passed;
        passed.partial_orders = total.census.distinct();
        passed.exhausted =
            shared.covered.into_inner() > 0 || shared.exhausted.into_inner() == self.lanes.len();
        Some(Ok(passed))
    }

    /// For each strategy what of it is this job's, if anything.
    fn streams(&self, job: usize, jobs: usize) -> Vec<Option<Stream>> {
        let mut learning = 0;
        let stream = |Lane { strategy, .. }: &Lane| {
            let (mine, rest, stride) = if strategy.learns() {
                learning += 1;
                ((learning - 1) % jobs == job, 0, 1)
            } else {
                (true, job as u64, jobs as u64)
            };
            mine.then(|| Stream { strategy: strategy.fork(), rest, stride, over: false })
        };
        self.lanes.iter().map(stream).collect()
    }
}

struct Job<'a> {
    check: &'a Check<'a>,
    shared: &'a Shared,
    streams: Vec<Option<Stream>>,
    tally: Tally,
}

impl<'a> Job<'a> {
    fn new(check: &'a Check<'a>, shared: &'a Shared, job: usize, jobs: usize) -> Job<'a> {
        Job { check, shared, streams: check.streams(job, jobs), tally: Tally::default() }
    }

    fn run(mut self) -> (Tally, Option<Box<Failed>>) {
        let failed = self.explore();
        self.shared.rounds.leave();
        for stream in self.streams.iter().flatten() {
            self.tally.passed.estimate = stream.strategy.space().or(self.tally.passed.estimate);
        }
        (self.tally, failed)
    }

    /// Makes the runs of this job by number, until one fails or none is left.
    fn explore(&mut self) -> Option<Box<Failed>> {
        let Check { config, lanes, .. } = self.check;
        let rounds = &self.shared.rounds;
        let engine = Engine::new(config::engine(config.settings()));
        let strategy = lanes.first()?.strategy.fork();
        let mut runtime = Runtime::new(engine, strategy, self.shared.conflict.clone());
        runtime.fail_on_leaked_threads = config.fail_on_leaked_threads;
        let mut round = rounds.begin();
        loop {
            let (mut seen, mut over) = (Vec::new(), Vec::new());
            for turn in round {
                if turn.number >= self.shared.end.load(Ordering::Relaxed) || self.shared.deadline.is_over() {
                    return None;
                }
                if self.streams.iter().flatten().all(|stream| stream.over) {
                    break;
                }
                let stream = self.streams[turn.lane].as_mut();
                let own = |own: &&mut Stream| !own.over && turn.run % own.stride == own.rest;
                let Some(stream) = stream.filter(own) else { continue };
                std::mem::swap(&mut runtime.strategy, &mut stream.strategy);
                let is_left = runtime.strategy.begin(Rng::for_run(config.seed, turn.run)) == Plan::Run;
                if is_left {
                    let failed;
                    (runtime, failed) = self.make(runtime, turn);
                    if failed.is_some() || self.shared.conflict.is_met() {
                        return failed;
                    }
                    if rounds.adapts() {
                        seen.push((turn.lane, runtime.engine.summary().fingerprint));
                    }
                }
                let stream = self.streams[turn.lane].as_mut()?;
                std::mem::swap(&mut runtime.strategy, &mut stream.strategy);
                if !is_left {
                    stream.over = true;
                    over.push(turn.lane);
                    self.note_exhausted(turn);
                }
            }
            round = rounds.meet(&seen, &over)?;
        }
    }

    /// Takes note that a strategy has no schedule left for its turn.
    fn note_exhausted(&self, turn: Run) {
        self.shared.exhausted.fetch_add(1, Ordering::Relaxed);
        if self.check.lanes[turn.lane].covers_everything() {
            self.shared.covered.fetch_add(1, Ordering::Relaxed);
            self.shared.end.fetch_min(turn.number, Ordering::Relaxed);
        }
    }

    /// Makes one run, under the strategy of the runtime, which has begun.
    fn make(&mut self, runtime: Box<Runtime>, turn: Run) -> (Box<Runtime>, Option<Box<Failed>>) {
        let body = Arc::clone(&self.check.test);
        let mut runtime = runtime::run(runtime, Box::new(move || body()));
        let panics = panics::take();
        if self.shared.conflict.is_met() {
            return (runtime, None);
        }
        let summary = runtime.engine.summary();
        runtime.strategy.learn(&summary);
        let lane = &self.check.lanes[turn.lane];
        match summary.verdict {
            // PCT's first run only learns how long runs are.
            Verdict::Passed => self.tally.count(&summary, lane.pct_depth.filter(|_| turn.run > 0)),
            Verdict::CutOff => self.tally.passed.cut_off += 1,
            Verdict::Failed { .. } => {
                self.shared.end.fetch_min(turn.number, Ordering::Relaxed);
                let failed = self.check.failed(&runtime, panics, &lane.spec, turn.run, turn.number);
                return (runtime, Some(Box::new(failed)));
            }
        }
        (runtime, None)
    }
}

impl Check<'_> {
    fn failed(
        &self,
        runtime: &Runtime,
        panics: Vec<panics::Panic>,
        strategy: &str,
        run: u64,
        number: u64,
    ) -> Failed {
        let origin = Origin {
            program: self.name,
            settings: self.config.settings(),
            fail_on_leaked_threads: self.config.fail_on_leaked_threads,
            strategy,
            seed: self.config.seed,
            run,
            locations: &[],
        };
        let trace = record(runtime, &panics, origin);
        failed(trace, panics, Some(number))
    }
}

/// The failure that `trace` ends in.
pub(super) fn failed(
    trace: raddle_model::TraceFile,
    panics: Vec<panics::Panic>,
    number: Option<u64>,
) -> Failed {
    let failure = trace.verdict.failure().expect("only a failed run is reported").clone();
    Failed {
        failure,
        run: trace.run,
        number,
        seed: trace.seed,
        strategy: trace.strategy.clone(),
        panics,
        trace,
        explanation: None,
        left: None,
        file: FailureFile::Unwanted,
    }
}
