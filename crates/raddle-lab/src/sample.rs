//! Runs programs many times, on all cores, with the same result for any number of them.

use raddle_engine::{Census, Config, Engine, Program, Strategy, explore};
use raddle_model::{Ledger, Trace, Verdict};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// One program under one strategy.
pub struct Job {
    /// The program.
    pub program: Box<dyn CloneProgram>,
    /// The strategy; it is copied, never changed.
    pub strategy: Box<dyn Strategy>,
    /// Settings of the engine.
    pub config: Config,
    /// The seed.
    pub seed: u64,
    /// How many runs.
    pub runs: u64,
    /// Do the runs in order on one core even if the strategy does not learn, so that [`Tally::last_new`] is known.
    pub in_order: bool,
    /// Stop at the first failing run; the runs are done in order.
    pub until_failure: bool,
}

/// A program of which each core can have a copy.
pub trait CloneProgram: Program + Send + Sync {
    /// A copy.
    fn copy(&self) -> Box<dyn CloneProgram>;
}

impl<P: Program + Clone + Send + Sync + 'static> CloneProgram for P {
    fn copy(&self) -> Box<dyn CloneProgram> {
        Box::new(self.clone())
    }
}

/// A run that was kept.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its number.
    pub run: u64,
    /// What happened.
    pub trace: Trace,
    /// How it ended.
    pub verdict: Verdict,
    /// Its partial-order fingerprint.
    pub fingerprint: u64,
}

/// What many runs were like.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Complete runs.
    pub runs: u64,
    /// Runs that were cut off by the strategy.
    pub cut_off: u64,
    /// Runs that failed.
    pub hits: u64,
    /// How often each kind of failure was seen.
    pub failures: BTreeMap<String, u64>,
    /// How often each partial order was seen.
    pub census: Census,
    /// The earliest failing run.
    pub first_failure: Option<Recording>,
    /// How often a spinning thread was held back.
    pub rests: u64,
    /// The most threads and steps of any run.
    pub threads: u64,
    /// The most steps of any run.
    pub steps: u64,
    /// Whether the strategy has no schedule left.
    pub exhausted: bool,
    /// How many partial orders the strategy thinks there are.
    pub space: Option<f64>,
    /// The number of the run that brought the last new partial order, from 1. Only for runs that were in order.
    pub last_new: Option<u64>,
    /// What the strategy knows of iRoots, if it looks at them.
    pub ledger: Option<Ledger>,
    /// After how many runs how many iRoots were exposed, wherever that grew. Only if the strategy looks at them.
    pub saturation: Vec<(u64, u64)>,
}

impl Tally {
    fn merge(&mut self, other: Tally) {
        self.runs += other.runs;
        self.cut_off += other.cut_off;
        self.hits += other.hits;
        for (kind, count) in other.failures {
            *self.failures.entry(kind).or_insert(0) += count;
        }
        self.census.merge(&other.census);
        self.rests += other.rests;
        self.threads = self.threads.max(other.threads);
        self.steps = self.steps.max(other.steps);
        self.exhausted |= other.exhausted;
        self.space = other.space.or(self.space);
        self.last_new = None;
        // Runs of a strategy that looks at iRoots are made in order, by one core.
        self.ledger = other.ledger.or(self.ledger.take());
        self.saturation.extend(other.saturation);
        let earlier =
            |mine: &Recording| other.first_failure.as_ref().is_none_or(|theirs| mine.run < theirs.run);
        if !self.first_failure.as_ref().is_some_and(earlier) {
            self.first_failure = other.first_failure;
        }
    }
}

/// Runs that one core does before it asks for more. Also the unit in which progress is told.
const CHUNK: u64 = 8_192;

/// Runs one job. A strategy that learns needs its runs in order and so gets one core.
pub fn sample(job: Job, cores: usize, progress: &(dyn Fn(u64) + Sync)) -> Tally {
    sample_all(vec![job], cores, progress).pop().expect("one job gives one tally")
}

/// Runs all jobs on `cores` cores and returns their tallies in order. `progress` is called with numbers of runs done.
/// The result does not depend on `cores`.
pub fn sample_all(jobs: Vec<Job>, cores: usize, progress: &(dyn Fn(u64) + Sync)) -> Vec<Tally> {
    // Jobs that cannot be split come first, so that the cores finish together.
    let mut pieces: Vec<(usize, u64, u64)> = Vec::new();
    let in_order = |job: &Job| job.strategy.learns() || job.until_failure || job.in_order;
    for (index, job) in jobs.iter().enumerate().filter(|(_, job)| in_order(job)) {
        pieces.push((index, 0, job.runs));
    }
    for (index, job) in jobs.iter().enumerate().filter(|(_, job)| !in_order(job)) {
        let firsts = (0..job.runs).step_by(CHUNK as usize);
        pieces.extend(firsts.map(|first| (index, first, CHUNK.min(job.runs - first))));
    }
    let tallies: Vec<Mutex<Tally>> = jobs.iter().map(|_| Mutex::new(Tally::default())).collect();
    let merged: Vec<AtomicBool> = jobs.iter().map(|_| AtomicBool::new(false)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        // What this core has done of the job it is at; merged when it goes on to another one.
        let mut current: Option<(usize, Worker, Tally)> = None;
        let hand_in = |done: Option<(usize, Worker, Tally)>| {
            if let Some((index, _, tally)) = done {
                let mut whole = tallies[index].lock().expect("no core panics while it merges");
                if merged[index].swap(true, Ordering::Relaxed) {
                    whole.merge(tally);
                } else {
                    *whole = tally;
                }
            }
        };
        while let Some(&(index, first, runs)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            if current.as_ref().is_none_or(|(at, ..)| *at != index) {
                hand_in(current.take());
                current = Some((index, Worker::new(&jobs[index]), Tally::default()));
            }
            let (_, worker, tally) = current.as_mut().expect("it was just set");
            worker.run(&jobs[index], first, runs, tally, progress);
        }
        hand_in(current);
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.max(1) {
            scope.spawn(work);
        }
        work();
    });
    tallies.into_iter().map(|tally| tally.into_inner().expect("no core panicked")).collect()
}

struct Worker {
    engine: Engine,
    program: Box<dyn CloneProgram>,
    strategy: Box<dyn Strategy>,
}

impl Worker {
    fn new(job: &Job) -> Worker {
        Worker { engine: Engine::new(job.config), program: job.program.copy(), strategy: job.strategy.fork() }
    }

    fn run(&mut self, job: &Job, first: u64, runs: u64, tally: &mut Tally, progress: &(dyn Fn(u64) + Sync)) {
        let Some(ledger) = self.strategy.ledger() else {
            return self.run_piece(job, first, runs, tally, progress);
        };
        // The number of iRoots is asked for after each run.
        let mut exposed = ledger.exposed();
        for run in first..first.saturating_add(runs) {
            self.run_piece(job, run, 1, tally, progress);
            let ledger = self.strategy.ledger();
            let now = ledger.map_or(exposed, Ledger::exposed);
            if now > exposed {
                exposed = now;
                tally.saturation.push((run + 1, exposed));
            }
            if tally.exhausted || job.until_failure && tally.hits > 0 {
                break;
            }
        }
        tally.ledger = self.strategy.ledger().cloned();
    }

    fn run_piece(
        &mut self,
        job: &Job,
        first: u64,
        runs: u64,
        tally: &mut Tally,
        progress: &(dyn Fn(u64) + Sync),
    ) {
        let told = AtomicU64::new(0);
        let Worker { engine, program, strategy } = self;
        let totals =
            explore(engine, &mut **program, &mut **strategy, (job.seed, first, runs), |run, summary| {
                if (run + 1).is_multiple_of(CHUNK) {
                    progress(CHUNK);
                    told.fetch_add(CHUNK, Ordering::Relaxed);
                }
                if *summary.verdict == Verdict::CutOff {
                    return ControlFlow::Continue(());
                }
                if tally.census.count(summary.fingerprint) {
                    tally.last_new = Some(run + 1);
                }
                tally.rests += summary.rests;
                tally.threads = tally.threads.max(summary.thread_count() as u64);
                tally.steps = tally.steps.max(summary.trace.events.len() as u64);
                let Some(failure) = summary.verdict.failure() else { return ControlFlow::Continue(()) };
                tally.hits += 1;
                match tally.failures.get_mut(failure.kind()) {
                    Some(count) => *count += 1,
                    None => drop(tally.failures.insert(failure.kind().to_owned(), 1)),
                }
                if tally.first_failure.as_ref().is_none_or(|known| run < known.run) {
                    tally.first_failure = Some(Recording {
                        run,
                        trace: summary.trace.clone(),
                        verdict: summary.verdict.clone(),
                        fingerprint: summary.fingerprint,
                    });
                }
                if job.until_failure { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        progress(runs.saturating_sub(told.into_inner()));
        tally.runs += totals.complete;
        tally.cut_off += totals.cut_off;
        tally.exhausted |= totals.exhausted;
        tally.space = strategy.space().or(tally.space);
    }
}
