//! Replays the schedule of a file, and reports where the test diverged from it.

use super::config;
use super::driver::{Test, failed};
use super::failure::{Failed, FailureFile};
use super::freedoms;
use super::minimize::Runs;
use super::panics;
use super::passed::Passed;
use super::record::{self, LEAKED, Origin, record};
use super::turns;
use crate::runtime::{self, Conflict, Locations, Runtime};
use raddle_engine::{Choice, Divergence, Engine, Needs, Plan, Point, Replay, Resemble, Rng, Strategy};
use raddle_model::{Event, FrontEnd, ThreadId, TraceFile, Verdict};
use raddle_report::run_text::statement;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The end of the report of a replayed run.
const EXACT: &str = "\nthis was a replay; it reproduced the recorded run exactly";

/// A replay that did not pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The run failed: as recorded, unless it continued after a divergence.
    #[error("{}{end}", .0, end = if .0.divergence.is_some() { "" } else { EXACT })]
    Failed(Box<Failed>),
    /// The test diverged from the recorded run.
    #[error(
        "{}: the test diverged from the recorded run at step {} of {}: {what}\nhelp: the code was changed, or the test depends \
         on something besides the schedule (time, random numbers, addresses, state kept between runs)",
        path.display(), step + 1, steps
    )]
    Diverged {
        /// The file.
        path: PathBuf,
        /// The first step that was different, from 0.
        step: usize,
        /// The number of steps of the recorded run.
        steps: usize,
        /// The difference.
        what: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file contains no run that can be replayed.
    #[error("{}: {error}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: String,
    },
    /// The file contains a run of something else.
    #[error("{}: {message}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// A description of its contents.
        message: String,
    },
}

/// Returns the check that recorded a file, if that can be read.
pub(super) fn program(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(TraceFile::from_json(&text).ok()?.program)
}

/// Runs `test` under the schedule of the file `path`; `name` is the name of the test, if known.
pub(super) fn replay(path: &Path, name: Option<&str>, test: &Test) -> Result<Passed, ReplayError> {
    let path = path.to_owned();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return Err(ReplayError::Unreadable { path, error }),
    };
    let file = match TraceFile::from_json(&text) {
        Ok(file) => file,
        Err(error) => return Err(ReplayError::Damaged { path, error: error.to_string() }),
    };
    if file.front_end != FrontEnd::Rust {
        let message =
            format!("the file was recorded by the front end `{}`, not by a Rust test", file.front_end);
        return Err(ReplayError::Foreign { path, message });
    }
    if let Some(name) = name.filter(|&name| name != file.program && file.program != "main") {
        let message = format!("the file was recorded by the test `{}`; this test is `{name}`", file.program);
        return Err(ReplayError::Foreign { path, message });
    }
    match repeat(&file, test) {
        Ok(Repeated { trace, panics, .. }) if trace.verdict.failure().is_some() => {
            let mut failed = failed(trace, panics, None);
            // The steps are those of the file, and so is what was found out about them.
            failed.trace.details = file.details;
            failed.file = FailureFile::At(path);
            Err(ReplayError::Failed(Box::new(failed)))
        }
        Ok(Repeated { runtime, .. }) => {
            let summary = runtime.engine.summary();
            let mut passed = Passed::default();
            (passed.runs, passed.partial_orders, passed.rests) = (1, 1, summary.rests);
            (passed.threads, passed.steps) =
                (summary.thread_count() as u64, summary.trace.events.len() as u64);
            Ok(passed)
        }
        Err(Mismatch { step, what }) => {
            Err(ReplayError::Diverged { path, step, steps: file.steps.len(), what })
        }
    }
}

/// Like [`replay`]; if the test diverges, makes another run that follows the recorded one as far as possible.
pub(super) fn tolerant(path: &Path, name: Option<&str>, test: &Test) -> Result<Passed, ReplayError> {
    let (step, steps, what) = match replay(path, name, test) {
        Err(ReplayError::Diverged { step, steps, what, .. }) => (step, steps, what),
        other => return other,
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| ReplayError::Unreadable { path: path.to_owned(), error })?;
    let file = TraceFile::from_json(&text)
        .map_err(|error| ReplayError::Damaged { path: path.to_owned(), error: error.to_string() })?;
    let event =
        |step: &raddle_model::TraceStep| Event { thread: ThreadId(step.thread), operation: step.operation };
    let strategy = Resemble::new(file.steps.iter().map(event).collect(), file.picks().collect());
    let leaked = file.parameters.iter().any(|(name, value)| name == LEAKED && *value != 0);
    let (trace, panics) = Runs::new(&file, leaked, test).under(&strategy);
    if trace.verdict.failure().is_none() {
        let mut passed = Passed::default();
        (passed.runs, passed.partial_orders) = (1, 1);
        (passed.threads, passed.steps) = (trace.threads.len() as u64, trace.steps.len() as u64);
        return Ok(passed);
    }
    let mut failed = failed(trace, panics, None);
    failed.divergence = Some(format!("at step {} of {steps}: {what}", step + 1));
    failed.file = FailureFile::At(path.to_owned());
    Err(ReplayError::Failed(Box::new(failed)))
}

/// A run that did the same as the recorded one.
pub(super) struct Repeated {
    runtime: Box<Runtime>,
    pub(super) trace: TraceFile,
    panics: Vec<panics::Panic>,
}

/// The first step at which a run diverged from the recorded one, and the difference.
pub(super) struct Mismatch {
    pub(super) step: usize,
    pub(super) what: String,
}

/// Replays the recorded run.
pub(super) fn repeat(file: &TraceFile, test: &Test) -> Result<Repeated, Mismatch> {
    panics::install();
    runtime::overflow::install();
    let (runtime, divergence, panics) = turns::take(|_| run(file, test));
    if let Some(divergence) = divergence {
        return Err(Mismatch { step: divergence.step, what: explain(file, &runtime, &divergence) });
    }
    let origin = Origin {
        program: &file.program,
        settings: file.settings,
        fail_on_leaked_threads: runtime.fail_on_leaked_threads,
        strategy: &file.strategy,
        seed: file.seed,
        run: file.run,
        locations: &file.locations,
    };
    let mut trace = record(&runtime, &panics, origin);
    (trace.id, trace.minimized) = (file.id.clone(), file.minimized);
    match difference(file, &trace) {
        Some(what) => Err(Mismatch { step: file.steps.len().saturating_sub(1), what }),
        None => Ok(Repeated { runtime, trace, panics }),
    }
}

/// Executes the run; returns `None` if it shared a static with another check.
fn run(file: &TraceFile, test: &Test) -> Option<(Box<Runtime>, Option<Divergence>, Vec<panics::Panic>)> {
    let event =
        |step: &raddle_model::TraceStep| Event { thread: ThreadId(step.thread), operation: step.operation };
    let replay = Replay::of(file.steps.iter().map(event).collect(), file.picks().collect());
    let replay = Arc::new(Mutex::new(replay));
    let mut strategy = SharedReplay(Arc::clone(&replay));
    // A replay draws nothing, so any stream is suitable.
    strategy.begin(Rng::for_run(0, 0));
    let conflict = Conflict::default();
    let engine = Engine::new(config::engine(file.settings));
    let mut runtime = Runtime::new(engine, Box::new(strategy), conflict.clone());
    runtime.fail_on_leaked_threads =
        file.parameters.iter().any(|(name, value)| name == LEAKED && *value != 0);
    runtime.note_values();
    runtime.locations = Locations::expecting(file.locations.iter().skip(1).map(|text| &text[..]));
    runtime.free = freedoms::of_file(file);
    runtime.observes_ends = record::observes_ends(file);
    runtime.watch(&file.program);
    runtime = runtime::run(runtime, Arc::clone(test));
    // The run is examined while others run.
    runtime.let_go();
    let panics = panics::take();
    let divergence = replay.lock().expect("a replay does not panic").divergence();
    (!conflict.is_met()).then_some((runtime, divergence, panics))
}

/// A replay that can be queried for its divergence after the runtime used it.
struct SharedReplay(Arc<Mutex<Replay>>);

impl SharedReplay {
    fn with<R>(&self, action: impl FnOnce(&mut Replay) -> R) -> R {
        action(&mut self.0.lock().expect("a replay does not panic"))
    }
}

impl Strategy for SharedReplay {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.with(|replay| replay.begin(rng))
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.with(|replay| replay.choose(point))
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.with(|replay| replay.pick(arity))
    }

    fn needs(&self) -> Needs {
        self.with(|replay| replay.needs())
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(SharedReplay(Arc::new(Mutex::new(self.with(|replay| replay.clone())))))
    }
}

/// Describes the divergence, with names and locations where they are known.
fn explain(file: &TraceFile, runtime: &Runtime, divergence: &Divergence) -> String {
    let Some(step) = file.steps.get(divergence.step) else { return divergence.what.clone() };
    let thread = ThreadId(step.thread);
    let summary = runtime.engine.summary();
    let then = format!("{} did `{}`", file.threads[thread.index()], statement(file, &step.operation));
    // A run that failed or ended by itself has no next operation to describe.
    if *summary.verdict != Verdict::CutOff {
        let now = summary.verdict.failure().map_or("passed", |failure| failure.kind());
        return format!("in the recorded run, {then}; now the run is over ({now})");
    }
    let pending = summary.trace.pending.get(thread.index()).copied().flatten();
    match pending.filter(|operation| *operation != step.operation) {
        Some(operation) => {
            let location = runtime.locations.location(operation.location).map(ToString::to_string);
            let location = location.unwrap_or_else(|| raddle_model::NO_LOCATION.to_owned());
            // Only the text of `statement` is needed; the location is not one of the file's.
            let mut shown = file.clone();
            shown.locations = vec![location];
            let operation = raddle_model::Operation { location: raddle_model::LocationId(0), ..operation };
            format!("in the recorded run, {then}; now it is about to do `{}`", statement(&shown, &operation))
        }
        None => format!("in the recorded run, {then}; now: {}", divergence.what),
    }
}

/// Returns the difference between a run with the same steps and the recorded one, if any.
fn difference(file: &TraceFile, trace: &TraceFile) -> Option<String> {
    if trace.verdict != file.verdict {
        let end = |trace: &TraceFile| raddle_report::run_text::verdict(trace).join("; ");
        return Some(format!(
            "the steps are the same but the outcome differs: recorded `{}`, now `{}`",
            end(file),
            end(trace)
        ));
    }
    if trace.fingerprint != file.fingerprint {
        let (then, now) = (file.fingerprint, trace.fingerprint);
        return Some(format!(
            "the steps are the same but the fingerprint differs: recorded {then:016x}, now {now:016x}"
        ));
    }
    if trace.threads != file.threads {
        return Some(format!(
            "the thread names differ: recorded {:?}, now {:?}",
            file.threads, trace.threads
        ));
    }
    None
}
