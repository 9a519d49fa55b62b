//! Programs that run in this process, on an engine of their own.

use crate::lanes::Lanes;
use crate::run::{Details, FinishedRun, Run};
use crate::worker::{Known, Request, Target, Worker};
use raddle_engine::{Config, Engine, Plan, Program, Rng, Strategy, run};
use raddle_model::native::Covered;
use raddle_model::{Ledger, Pick, Trace, Verdict};
use raddle_strategies::portfolio::Turn;
use std::io;

/// A program of which each job can have a copy.
pub trait CopyProgram: Program + Send + Sync {
    /// Returns a copy.
    fn copy(&self) -> Box<dyn CopyProgram>;
}

impl<P: Program + Clone + Send + Sync + 'static> CopyProgram for P {
    fn copy(&self) -> Box<dyn CopyProgram> {
        Box::new(self.clone())
    }
}

/// A program that runs in this process.
pub struct InProcess<'a> {
    /// The program.
    pub program: &'a dyn CopyProgram,
    /// The strategies of the search.
    pub lanes: &'a Lanes,
    /// The engine's settings.
    pub config: Config,
    /// The seed.
    pub seed: u64,
}

/// A failing run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its number among the runs of its strategy.
    pub run: u64,
    /// The executed operations.
    pub trace: Trace,
    /// The verdict.
    pub verdict: Verdict,
    /// The fingerprint of its partial order.
    pub fingerprint: u64,
}

impl Target for InProcess<'_> {
    type Worker = LocalWorker;

    fn start(&self, _job: usize) -> Result<LocalWorker, io::Error> {
        let strategies: Vec<_> = self.lanes.iter().map(|lane| lane.strategy()).collect();
        Ok(LocalWorker {
            engine: Engine::new(self.config),
            program: self.program.copy(),
            looks: strategies.iter().any(|strategy| strategy.ledger().is_some()),
            strategies,
            seed: self.seed,
            requested: None,
        })
    }
}

/// Executes runs on an engine of its own.
pub struct LocalWorker {
    engine: Engine,
    program: Box<dyn CopyProgram>,
    strategies: Vec<Box<dyn Strategy>>,
    /// True if one of them tracks iRoots.
    looks: bool,
    seed: u64,
    requested: Option<Request>,
}

impl Worker for LocalWorker {
    type Failure = Box<Recording>;
    type Error = io::Error;
    const IS_REMOTE: bool = false;

    #[inline]
    fn request(&mut self, requests: &[Request]) -> Result<(), io::Error> {
        self.requested = requests.first().copied();
        Ok(())
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<FinishedRun<Box<Recording>>>, io::Error> {
        let Some(Request { turn, trace, .. }) = self.requested.take() else { return Ok(None) };
        Ok(self.make(turn, trace))
    }

    fn knowledge(&mut self, lanes: &[usize]) -> Result<Known, io::Error> {
        let mut known = Known::default();
        for strategy in lanes.iter().filter_map(|&lane| self.strategies.get(lane)) {
            known.estimate = strategy.space().or(known.estimate);
            if let Some(ledger) = strategy.ledger() {
                let mut covered = Covered::default();
                std::mem::swap(&mut covered, &mut known.covered);
                covered.ledger.join(ledger, &Ledger::default());
                known.covered = covered;
            }
        }
        Ok(known)
    }
}

impl LocalWorker {
    #[inline]
    fn make(&mut self, turn: Turn, trace: bool) -> Option<FinishedRun<Box<Recording>>> {
        let LocalWorker { engine, program, strategies, seed, looks, .. } = self;
        let strategy = &mut *strategies[turn.lane];
        if strategy.begin(Rng::for_run(*seed, turn.run)) == Plan::Exhausted {
            return None;
        }
        let exposed = if *looks { strategy.ledger().map(Ledger::exposed) } else { None };
        run(engine, &mut **program, strategy);
        let summary = engine.summary();
        strategy.learn(&summary);
        let mut made = FinishedRun {
            run: Run {
                fingerprint: summary.fingerprint,
                steps: summary.trace.events.len() as u64,
                threads: summary.thread_count() as u64,
                rests: summary.rests,
                drawn: Pick::drawn(&summary.trace.picks),
                idle_timeouts: engine.has_idle_timeouts(),
                cut_off: *summary.verdict == Verdict::CutOff,
                weak_memory: engine.is_weak(),
                forked: false,
                details: None,
            },
            failure: None,
        };
        if let Some(failure) = summary.verdict.failure() {
            made.run.details.get_or_insert_default().kind = Some(failure.kind().to_owned());
            made.failure = trace.then(|| {
                Box::new(Recording {
                    run: turn.run,
                    trace: summary.trace.clone(),
                    verdict: summary.verdict.clone(),
                    fingerprint: summary.fingerprint,
                })
            });
        }
        if matches!(summary.verdict, Verdict::Inconclusive { .. }) {
            made.run.details.get_or_insert_default().inconclusive = true;
        }
        if summary.forgot_writes {
            made.run.details.get_or_insert_default().forgot_writes = true;
        }
        if let Some(before) = exposed
            && let Some(ledger) = strategy.ledger()
            && ledger.exposed() > before
        {
            note_exposed(made.run.details.get_or_insert_default(), ledger);
        }
        Some(made)
    }
}

/// Lists all iRoots of a ledger; the tally determines which of them are new.
#[cold]
fn note_exposed(details: &mut Details, ledger: &Ledger) {
    let exposed = ledger.iter().filter(|(_, standing)| standing.exposed).map(|(&root, _)| root);
    details.exposed = exposed.collect();
}
