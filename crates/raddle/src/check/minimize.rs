//! Minimizes and explains a failing run before it is reported.

use super::config::{self, Config};
use super::driver::{Test, failed};
use super::failure::Failed;
use super::freedoms;
use super::judge;
use super::panics::{self, Panic};
use super::record::{self, Origin, record};
use super::turns;
use crate::runtime::{self, Conflict, Runtime};
use raddle_engine::{Engine, Follow, Rng, Strategy};
use raddle_explain::{
    Budget, Effort, Execute, Execution, Explanation, Smallest, Wanted, explain, minimize, reason,
};
use raddle_model::{Reason, Schedule, TraceFile};
use raddle_search::Deadline;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of runs for minimization.
const RUNS: u64 = 1_000;
/// Starts no further run after this many steps, which take seconds.
const STEPS: u64 = 20_000_000;
/// Starts no further run after this time. The result may then depend on the machine, but only for tests that
/// compute much between steps.
const TIME: Duration = Duration::from_secs(60);

/// The maximum number of runs to explain a failure, and how many of them are random.
const EXPLAINING: Effort = Effort { executions: 300, samples: 20, depth: true, near: true };
/// Longer runs are not explained unless requested.
const LONGEST_EXPLAINED: usize = 2_000;

/// Returns the failure with the fewest switches that was found, or `found` if it does not reproduce.
pub(super) fn smaller(found: Box<Failed>, config: &Config, test: &Test) -> Box<Failed> {
    let mut runs = Runs::new(&found.trace, config.fail_on_leaked_threads, test);
    let (deadline, steps) = (Deadline::new(Some(TIME)), Rc::clone(&runs.steps));
    let mut go_on = |_: &Smallest, _: bool| steps.get() < STEPS && !deadline.is_over();
    let budget = Budget { executions: RUNS, go_on: &mut go_on };
    let Some(smallest) = minimize(&found.trace, budget, &mut runs) else { return found };
    let panics = runs.panics.into_iter().rfind(|(print, _)| *print == smallest.run.fingerprint);
    let mut small = failed(smallest.run, panics.map(|(_, panics)| panics).unwrap_or_default(), found.number);
    small.trace.id = found.trace.id;
    Box::new(small)
}

/// Returns the failure without time-outs that fire while other threads can run, if the same schedule
/// reproduces it.
pub(super) fn with_idle_timeouts(found: Box<Failed>, config: &Config, test: &Test) -> Box<Failed> {
    if !found.trace.settings.timeouts_anytime {
        return found;
    }
    let mut trace = found.trace.clone();
    trace.settings.timeouts_anytime = false;
    let mut runs = Runs::new(&trace, config.fail_on_leaked_threads, test);
    let made = runs.execute(&Schedule::of(&trace), Wanted::Failing);
    let kind = |trace: &TraceFile| trace.verdict.failure().map(raddle_model::Failure::kind);
    match made.filter(|made| kind(&made.run) == kind(&found.trace)) {
        Some(made) => {
            let panics = runs.panics.pop().map(|(_, panics)| panics).unwrap_or_default();
            Box::new(failed(made.run, panics, found.number))
        }
        None => found,
    }
}

/// Returns the reason why the run of `trace` fails; nothing if it was not found.
pub(super) fn explained(trace: &TraceFile, config: &Config, test: &Test) -> Option<Reason> {
    if trace.steps.len() > LONGEST_EXPLAINED {
        return None;
    }
    let mut runs = Runs::new(trace, config.fail_on_leaked_threads, test);
    let (deadline, steps) = (Deadline::new(Some(TIME)), Rc::clone(&runs.steps));
    let mut go_on = |_: &Explanation| steps.get() < STEPS && !deadline.is_over();
    let found = explain(trace, EXPLAINING, &mut go_on, &mut runs)?;
    let run = found.run.as_ref().filter(|run| run.steps == trace.steps)?;
    reason(run, &found)
}

/// Executes runs of a test.
pub(super) struct Runs<'a> {
    /// The original run.
    found: &'a TraceFile,
    fail_on_leaked_threads: bool,
    test: &'a Test,
    /// The panics of failing runs, by their fingerprints.
    panics: Vec<(u64, Vec<Panic>)>,
    /// The steps of all runs.
    steps: Rc<Cell<u64>>,
}

impl Execute for Runs<'_> {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        let follow = Follow::new(schedule.clone());
        let (run, panics) = turns::take(|_| {
            let (mut runtime, panics) = self.run(follow.fork())?;
            self.steps.update(|steps| steps + runtime.engine.step_count());
            let verdict = runtime.engine.summary().verdict;
            let (is_wanted, fails) = (wanted.takes(verdict), verdict.failure().is_some());
            let mut run = is_wanted.then(|| self.record(&runtime, &panics));
            if is_wanted && fails {
                let is_impossible;
                (runtime, is_impossible) = judge::is_impossible(runtime, self.test);
                run = run.filter(|_| !is_impossible);
            }
            // The run is examined while others run.
            runtime.let_go();
            Some((run, panics))
        });
        let run = run?;
        self.panics.push((run.fingerprint, panics));
        Some(Execution { run, preemptions: follow.preemptions() })
    }
}

impl<'a> Runs<'a> {
    /// Returns a runner of `test` under the settings of `found`.
    pub(super) fn new(found: &'a TraceFile, fail_on_leaked_threads: bool, test: &'a Test) -> Runs<'a> {
        Runs { found, fail_on_leaked_threads, test, panics: Vec::new(), steps: Rc::default() }
    }

    /// Returns one run under `strategy`, and its panics.
    pub(super) fn under(&self, strategy: &dyn Strategy) -> (TraceFile, Vec<Panic>) {
        let (mut runtime, panics) = turns::take(|_| self.run(strategy.fork()));
        runtime.let_go();
        (self.record(&runtime, &panics), panics)
    }

    fn record(&self, runtime: &Runtime, panics: &[Panic]) -> TraceFile {
        let origin = Origin {
            program: &self.found.program,
            settings: self.found.settings,
            fail_on_leaked_threads: self.fail_on_leaked_threads,
            strategy: &self.found.strategy,
            seed: self.found.seed,
            run: self.found.run,
            locations: &[],
        };
        record(runtime, panics, origin)
    }

    /// Executes the run; returns `None` if it shared a static with another check.
    fn run(&self, mut follow: Box<dyn Strategy>) -> Option<(Box<Runtime>, Vec<Panic>)> {
        let conflict = Conflict::default();
        let engine = Engine::new(config::engine(self.found.settings));
        // The strategy draws nothing from this stream.
        follow.begin(Rng::for_run(0, 0));
        let mut runtime = Runtime::new(engine, follow, conflict.clone());
        runtime.fail_on_leaked_threads = self.fail_on_leaked_threads;
        runtime.note_values();
        runtime.free = freedoms::of_file(self.found);
        runtime.observes_ends = record::observes_ends(self.found);
        runtime.watch(&self.found.program);
        runtime = runtime::run(runtime, Arc::clone(self.test));
        let panics = panics::take();
        (!conflict.is_met()).then_some((runtime, panics))
    }
}
