//! The failure file: one failing run, to be replayed, read and minimized.
//!
//! The file is JSON with a packed part. A reader rejects versions it does not know; within a version, fields
//! may be added but not changed. See `docs/design/failure-file.md`.

mod base64;
mod check;
mod details;
mod format;
mod front_end;
mod packed;
mod values;

pub use details::{Details, Reason, Stack};
pub use front_end::{FrontEnd, UnknownFrontEnd};

use crate::{LocationId, MemoryModel, Name, Network, Operation, Pick, Values, Verdict};
use serde::{Deserialize, Serialize};

/// The version that this crate writes. It also reads version 1.
pub const FORMAT_VERSION: u32 = 2;

/// The largest number of steps that a reader accepts.
pub const MOST_FILE_STEPS: u64 = 1 << 24;

/// The text of a location that is not in the source.
pub const NO_LOCATION: &str = "unknown location";

/// The parameter in a failure file of an Erlang program that holds, for each thread in order, the number of
/// steps executed before the thread was created.
pub const MADE: &str = "made";

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceFile {
    /// The short name of the failure, or empty if it has none; see [`TraceFile::short_id`]. A minimized run
    /// keeps the name of the original run.
    #[serde(default)]
    pub id: String,
    /// The front end that ran the program.
    pub front_end: FrontEnd,
    /// The program, in the notation of its front end. Lab: the program text. Rust test: its name. Pthreads
    /// program: its path. Erlang program: `module:function`.
    pub program: String,
    /// The arguments of the program, if any.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The build of the program, if known: `gnu:` and the linker's build id, or `hash:` and a hash of the
    /// file.
    #[serde(default)]
    pub build: Option<String>,
    /// The directory, environment variables and test of the program. Defaults are those of the recording or
    /// replaying process.
    #[serde(default)]
    pub environment: Environment,
    /// The writer's signature over everything that a replay starts; see `raddle_search::sign`.
    #[serde(default)]
    pub signature: Option<String>,
    /// Values that replace the program's own parameters. Parameters that front ends add
    /// ([`SHARED`](crate::native::SHARED) and [`MADE`]) are not parameters of the program.
    pub parameters: Vec<(String, i64)>,
    /// The engine settings of the run.
    pub settings: Settings,
    /// The strategy that found the run, for information; replay does not need it.
    pub strategy: String,
    /// The seed that found the run.
    pub seed: u64,
    /// The index of the run for that seed, from 0.
    pub run: u64,
    /// Statistics of the minimization, if the run was minimized.
    #[serde(default)]
    pub minimized: Option<Minimized>,
    /// The verdict of the run.
    pub verdict: Verdict,
    /// The partial-order fingerprint of the run.
    pub fingerprint: u64,
    /// A name for every thread.
    pub threads: Vec<String>,
    /// A name for every object.
    pub objects: Vec<String>,
    /// The text of every code location.
    pub locations: Vec<String>,
    /// The executed operations, in order.
    pub steps: Vec<TraceStep>,
    /// Every other decision as (step, number of answers, answer), in order.
    pub picks: Vec<(u32, u32, u32)>,
    /// The values that steps read and wrote, where known.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
    /// Details of the failure.
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    pub details: Details,
}

impl TraceFile {
    /// Returns a passing run without steps, under the default settings.
    pub fn new(front_end: FrontEnd) -> TraceFile {
        TraceFile {
            id: String::new(),
            front_end,
            program: String::new(),
            arguments: Vec::new(),
            build: None,
            environment: Environment::default(),
            signature: None,
            parameters: Vec::new(),
            settings: Settings::default(),
            strategy: String::new(),
            seed: 1,
            run: 0,
            minimized: None,
            verdict: Verdict::Passed,
            fingerprint: 0,
            threads: Vec::new(),
            objects: Vec::new(),
            locations: Vec::new(),
            steps: Vec::new(),
            picks: Vec::new(),
            values: Values::default(),
            details: Details::default(),
        }
    }
}

/// The environment in which a program starts, besides its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    /// The working directory; inherited if absent.
    #[serde(default)]
    pub directory: Option<String>,
    /// Additional environment variables.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// The test to run, if the program is a Rust test harness. The first thread is then the harness.
    #[serde(default)]
    pub test: Option<String>,
    /// The test binary, for a run of a Rust test that uses the types of the crate `raddle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// The name of the program in its arguments, if it is not its path: many programs behave as their name says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Environment {
    /// Returns true if every field has its default.
    pub fn are_plain(&self) -> bool {
        *self == Environment::default()
    }
}

/// Statistics of a minimization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Minimized {
    /// Number of runs that the minimization executed.
    pub executions: u64,
    /// Number of switches between threads in the original run.
    pub switches_before: u64,
    /// Number of steps in the original run.
    pub steps_before: u64,
}

/// Settings that a replay has to repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The largest number of steps of a run.
    pub step_limit: u64,
    /// True if timeouts may fire at any step, not only when nothing else can run.
    pub timeouts_anytime: bool,
    /// Number of idle iterations after which a spinning thread is descheduled.
    pub patience: u32,
    /// True if a data race on plain memory ends the run.
    #[serde(default)]
    pub races: bool,
    /// True if the program exits only when nothing else can run, not at any step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exit_last: bool,
    /// True if a run that reaches the step limit fails even though threads make progress.
    #[serde(default, skip_serializing_if = "is_false")]
    pub step_limit_fails: bool,
    /// Which values a read of an atomic could return.
    #[serde(default, skip_serializing_if = "is_sc")]
    pub memory: MemoryModel,
    /// The network.
    #[serde(default, skip_serializing_if = "Network::is_default")]
    pub network: Network,
}

fn is_sc(memory: &MemoryModel) -> bool {
    *memory == MemoryModel::Sc
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            step_limit: 1_000_000,
            timeouts_anytime: false,
            patience: 64,
            races: false,
            exit_last: false,
            step_limit_fails: false,
            memory: MemoryModel::Sc,
            network: Network::default(),
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// One executed operation in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceStep {
    /// The thread that executed it: an index into [`TraceFile::threads`].
    pub thread: u32,
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
}

/// An error in a failure file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not JSON, or lacks a field.
    #[error("not a valid failure file: {message} at line {line}, column {column}")]
    Syntax {
        /// The 1-based line.
        line: usize,
        /// The 1-based column.
        column: usize,
        /// The message of the JSON parser.
        message: String,
    },
    /// It is JSON, but not a failure file.
    #[error("not a failure file: the field `raddle_failure` is missing")]
    Foreign,
    /// It has an unknown format version.
    #[error(
        "unsupported format version {found}: this version of raddle reads versions 1 to {FORMAT_VERSION}"
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// Its packed part is damaged.
    #[error("the file is damaged: packed steps: {message}")]
    Packed {
        /// The damage.
        message: String,
    },
    /// Its values are damaged.
    #[error("the file is damaged: packed values: {message}")]
    Values {
        /// The damage.
        message: String,
    },
    /// Its front end is unknown.
    #[error(transparent)]
    FrontEnd(#[from] UnknownFrontEnd),
    /// It is inconsistent.
    #[error("the file is damaged: step {}: {message}", step + 1)]
    Inconsistent {
        /// The step, from 0; messages count from 1.
        step: usize,
        /// The inconsistency.
        message: String,
    },
    /// Its verdict refers to something that the run does not have.
    #[error("the file is damaged: verdict: {message}")]
    Verdict {
        /// The missing item.
        message: String,
    },
}

impl TraceFile {
    /// Returns the recorded decisions besides the choice of threads.
    pub fn picks(&self) -> impl Iterator<Item = Pick> + '_ {
        self.picks.iter().map(|&(step, arity, value)| Pick { step, arity, value })
    }

    /// Returns a name for a location of a run as its front end recorded it. It is the same in all runs of the program.
    pub fn location_name(&self, location: LocationId) -> Name {
        let text = self.locations.get(location.index()).map_or("", |text| text);
        match self.front_end {
            FrontEnd::Native => crate::native::location_name(text),
            FrontEnd::Rust => Name::of_text(text),
            FrontEnd::Lab | FrontEnd::Beam => Name(u64::from(location.0)),
        }
    }

    /// Returns the number of steps whose thread differs from that of the previous step.
    pub fn switches(&self) -> u64 {
        self.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count() as u64
    }

    /// Returns the default file name for this run.
    pub fn file_name(&self) -> String {
        let id = if self.id.is_empty() { &self.short_id() } else { &self.id };
        // The id may come from an untrusted file.
        let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("raddle-failure-{id}.json")
    }
}

#[cfg(test)]
mod tests;
