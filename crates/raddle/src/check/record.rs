//! Records a run as a failure file: numbers become texts that mean the same in another process.

use super::freedoms::FREE;
use super::panics::Panic;
use super::source::Sources;
use crate::runtime::Runtime;
use raddle_model::{
    Environment, Failure, FrontEnd, LocationId, MemoryModel, NO_LOCATION, ObjectId, SEQUENTIAL_ORDER,
    Settings, ThreadId, TraceFile, TraceStep, Verdict,
};
use std::collections::BTreeMap;

/// The origin of a run.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) program: &'a str,
    pub(super) settings: Settings,
    pub(super) fail_on_leaked_threads: bool,
    pub(super) strategy: &'a str,
    pub(super) seed: u64,
    pub(super) run: u64,
    /// Texts of locations that are already numbered: those of the file, for a run that replays one.
    pub(super) locations: &'a [String],
}

/// The parameter of a failure file that records whether a run fails if it leaves threads behind.
pub(super) const LEAKED: &str = "fail_on_leaked_threads";

/// The parameter of a failure file that records whether ends of threads are operations.
pub(super) const OBSERVES_ENDS: &str = "observes_ends";

/// Returns true if ends of threads are operations in the run of a file.
pub(super) fn observes_ends(file: &TraceFile) -> bool {
    file.parameters.iter().any(|(name, value)| name == OBSERVES_ENDS && *value != 0)
}

/// Records the run that `runtime` has just ended. Locations are numbered in the order in which the run
/// reached them, so that the same run gives the same file whatever ran before.
pub(super) fn record(runtime: &Runtime, panics: &[Panic], origin: Origin<'_>) -> TraceFile {
    let summary = runtime.engine.summary();
    let mut locations = Places { runtime, numbers: BTreeMap::new(), texts: Vec::new() };
    locations.number(NO_LOCATION.to_owned());
    for text in origin.locations {
        locations.number(text.clone());
    }
    let mut steps = Vec::with_capacity(summary.trace.events.len());
    for event in &summary.trace.events {
        let mut operation = event.operation;
        operation.location = locations.renumber(operation.location);
        steps.push(TraceStep { thread: event.thread.0, operation });
    }
    let mut verdict = summary.verdict.clone();
    if let Verdict::Failed { failure } = &mut verdict {
        locations.renumber_failure(failure, panics);
    }
    let threads = (0..summary.thread_count() as u32).map(|thread| runtime.shown_name(ThreadId(thread)));
    TraceFile {
        program: origin.program.to_owned(),
        arguments: arguments(origin.program),
        environment: environment(),
        parameters: [
            (LEAKED, i64::from(origin.fail_on_leaked_threads)),
            (FREE, runtime.free as i64),
            (OBSERVES_ENDS, i64::from(runtime.observes_ends)),
        ]
        .into_iter()
        .filter(|&(name, value)| name != OBSERVES_ENDS || value != 0)
        .map(|(name, value)| (name.to_owned(), value))
        .collect(),
        settings: Settings {
            timeouts_anytime: summary.trace.timeouts_anytime,
            memory: if runtime.engine.is_weak() { MemoryModel::Weak } else { MemoryModel::Sc },
            ..origin.settings
        },
        strategy: origin.strategy.to_owned(),
        seed: origin.seed,
        run: origin.run,
        verdict,
        fingerprint: summary.fingerprint,
        threads: threads.collect(),
        objects: object_names(runtime, summary.object_count()),
        locations: locations.texts,
        values: runtime.noted_values(&steps),
        steps,
        picks: summary.trace.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
        ..TraceFile::new(FrontEnd::Rust)
    }
}

/// Returns the arguments of a program that is not a test harness.
fn arguments(program: &str) -> Vec<String> {
    if program == "main" {
        std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()).collect()
    } else {
        Vec::new()
    }
}

/// Returns the test binary and its folder, so that other tools can run the test again.
fn environment() -> Environment {
    let text = |path: std::io::Result<std::path::PathBuf>| path.ok()?.into_os_string().into_string().ok();
    Environment {
        directory: text(std::env::current_dir()),
        executable: text(std::env::current_exe()),
        ..Environment::default()
    }
}

/// Returns a name for every object: its name in the source, its number where that is not the only one, and where
/// it was created. Objects without a creation stand for threads.
fn object_names(runtime: &Runtime, count: usize) -> Vec<String> {
    let mut names: Vec<String> = (0..count).map(|index| format!("#{index}, a thread")).collect();
    let mut sources = Sources::default();
    let words: Vec<Option<String>> =
        runtime.created.iter().map(|&(_, location)| sources.name(location)).collect();
    let mut uses = BTreeMap::new();
    for word in words.iter().flatten() {
        *uses.entry(word).or_insert(0) += 1;
    }
    for (&(ObjectId(index), location), word) in runtime.created.iter().zip(&words) {
        if let Some(name) = names.get_mut(index as usize) {
            *name = match word {
                Some(word) if uses[word] == 1 => format!("{word} made at {location}"),
                Some(word) => format!("{word} #{index} made at {location}"),
                None => format!("#{index} made at {location}"),
            };
        }
    }
    let order = runtime.engine.sequential_order().map(|object| object.index());
    if let Some(name) = order.and_then(|index| names.get_mut(index)) {
        *name = SEQUENTIAL_ORDER.to_owned();
    }
    names
}

struct Places<'a> {
    runtime: &'a Runtime,
    numbers: BTreeMap<String, u32>,
    texts: Vec<String>,
}

impl Places<'_> {
    fn number(&mut self, text: String) -> LocationId {
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        LocationId(number)
    }

    fn renumber(&mut self, location: LocationId) -> LocationId {
        let location = self.runtime.locations.location(location);
        self.number(location.map_or_else(|| NO_LOCATION.to_owned(), ToString::to_string))
    }

    fn renumber_failure(&mut self, failure: &mut Failure, panics: &[Panic]) {
        match failure {
            Failure::Assertion { thread, location, message } => {
                let panic =
                    panics.iter().rfind(|panic| panic.thread == thread.0 && panic.message == *message);
                *location = match panic {
                    Some(panic) => self.number(panic.location.clone()),
                    None => self.renumber(*location),
                };
            }
            Failure::Deadlock { blocked, .. } => {
                for entry in blocked {
                    entry.location = self.renumber(entry.location);
                }
            }
            Failure::Misuse { location, .. } => *location = self.renumber(*location),
            Failure::DataRace { first, second, .. } => {
                first.location = self.renumber(first.location);
                second.location = self.renumber(second.location);
            }
            _ => {}
        }
    }
}
