//! Conversion of runs to and from failure files.

use crate::session::Session;
use raddle_engine::Config;
use raddle_model::{Event, FileError, FrontEnd, MADE, Settings, ThreadId, TraceFile, TraceStep};
use raddle_report::run_text::{Terminal, reduction, steps};
use raddle_strategies::SpecError;

/// The data about a run that only the Erlang side has.
#[derive(Clone, Debug, Default)]
pub struct RunInfo {
    /// The function that is the test, as `module:function`.
    pub program: String,
    /// The folders of its modules, as arguments of the command line.
    pub arguments: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The number of the run.
    pub run: u64,
    /// A name for every actor, object and location, in order.
    pub threads: Vec<String>,
    /// See `threads`.
    pub objects: Vec<String>,
    /// See `threads`.
    pub locations: Vec<String>,
}

/// The names of a run's actors, objects and locations.
pub type Names = (Vec<String>, Vec<String>, Vec<String>);

/// The reason why a file cannot be replayed here.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It is not a readable failure file.
    #[error(transparent)]
    File(#[from] FileError),
    /// It belongs to another front end.
    #[error("the file was recorded by the front end `{0}`, not by an Erlang program")]
    FrontEnd(FrontEnd),
    /// It was recorded under an unknown strategy.
    #[error(
        "the strategy that made the run cannot be used: {0}\nhelp: use the version of raddle that wrote the file, or search again"
    )]
    Strategy(#[from] SpecError),
}

/// Returns the steps of a file as the engine's events.
pub fn events(steps: &[TraceStep]) -> Vec<Event> {
    let event = |step: &TraceStep| Event { thread: ThreadId(step.thread), operation: step.operation };
    steps.iter().map(event).collect()
}

/// Returns true if runs under the strategy `spec` have a separate operation wherever one depends on the
/// actor's own life and cannot express it. Only a search that prunes orders needs it; under other strategies
/// it would cost steps and find nothing.
pub fn searches(spec: &str) -> bool {
    raddle_strategies::entry(spec).is_some_and(|entry| entry.capabilities.one_per_order)
}

/// Returns true if the end of the test is an operation in runs under the strategy `spec`, as strategies that
/// count or enumerate all orders must see it.
pub fn exits(spec: &str) -> bool {
    raddle_strategies::build(spec).is_ok_and(|strategy| strategy.needs().enabled)
}

/// Returns the run that `session` has executed under the strategy `spec`, as a file.
pub fn write<P: Copy>(session: &Session<P>, config: Config, spec: &str, info: RunInfo) -> TraceFile {
    let summary = session.engine().summary();
    let steps = summary
        .trace
        .events
        .iter()
        .map(|event| TraceStep { thread: event.thread.0, operation: event.operation });
    let picks = summary.trace.picks.iter().map(|pick| (pick.step, pick.arity, pick.value));
    let made = (0..summary.thread_count()).map(|thread| {
        let step = summary.made_at(ThreadId(thread as u32)).map_or(0, |event| event + 1);
        (MADE.to_owned(), step as i64)
    });
    TraceFile {
        program: info.program,
        arguments: info.arguments,
        parameters: made.collect(),
        settings: Settings {
            step_limit: config.step_limit,
            memory: raddle_model::MemoryModel::Sc,
            timeouts_anytime: summary.trace.timeouts_anytime,
            patience: config.patience,
            exit_last: summary.trace.exit_last,
            step_limit_fails: config.step_limit_fails,
            ..Settings::default()
        },
        strategy: spec.to_owned(),
        seed: info.seed,
        run: info.run,
        verdict: session.verdict(),
        fingerprint: summary.fingerprint,
        threads: info.threads,
        objects: info.objects,
        locations: info.locations,
        steps: steps.collect(),
        picks: picks.collect(),
        ..TraceFile::new(FrontEnd::Beam)
    }
}

/// Reads a file of this front end.
pub fn read(text: &str) -> Result<TraceFile, ReplayError> {
    let file = TraceFile::from_json(text)?;
    if file.front_end != FrontEnd::Beam {
        return Err(ReplayError::FrontEnd(file.front_end));
    }
    if !file.strategy.is_empty() {
        raddle_strategies::build(&file.strategy)?;
    }
    Ok(file)
}

/// Returns the steps of a run as text, with the calling line for each step, and how it was minimized, if it
/// was.
pub fn show(file: &TraceFile, callers: &[String]) -> String {
    /// Of a longer run the steps around switches are shown.
    const MOST: usize = 120;
    let reduced = reduction(file).map(|sentence| sentence + "\n").unwrap_or_default();
    let mut file = file.clone();
    file.details.set_callers(callers);
    reduced + &steps(&file, Terminal { most: MOST, ..Terminal::default() })
}
