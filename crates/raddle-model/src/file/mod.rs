//! The file that holds one failing run, so that it can be replayed, read by people, and made smaller.
//!
//! The file is JSON with a packed part. A reader refuses a version it does not know; within a version, fields may be
//! added but not changed. See `docs/design/failure-file.md`.

mod base64;
mod check;
mod format;
mod front_end;
mod packed;
mod values;

pub use front_end::{FrontEnd, UnknownFrontEnd};

use crate::{Operation, Pick, Values, Verdict};
use serde::{Deserialize, Serialize};

/// The version that this crate writes. It reads version 1 as well.
pub const FORMAT_VERSION: u32 = 2;

/// The most steps of a run that a reader takes from a file.
pub const MOST_FILE_STEPS: u64 = 1 << 24;

/// The text of a location that is not in the source.
pub const NO_LOCATION: &str = "unknown location";

/// The parameter of a failure file of an Erlang program that tells, for each thread in turn, how many steps the run had when it was
/// made.
pub const MADE: &str = "made";

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceFile {
    /// The short name of the failure, or nothing if none was given; see [`TraceFile::short_id`]. A run that was made
    /// smaller keeps the name of the one it was made from.
    #[serde(default)]
    pub id: String,
    /// The front end that ran the program.
    pub front_end: FrontEnd,
    /// The program, as its front end names it: for the lab, the text of the program; for a Rust test, its name; for a
    /// pthreads program, its path; for an Erlang program, `module:function`.
    pub program: String,
    /// The arguments of the program, where it has some.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Which build of the program it was, where that is known: `gnu:` and the linker's id, or `hash:` and a hash of the file.
    #[serde(default)]
    pub build: Option<String>,
    /// Where and in what the program was started, if not in the folder and environment of whoever recorded or repeats the run.
    #[serde(default)]
    pub environment: Environment,
    /// The signature of whoever wrote the file over what a replay starts; see `raddle_search::sign`.
    #[serde(default)]
    pub signature: Option<String>,
    /// Values that replace the program's own parameters. Those with names that front ends give, [`SHARED`](crate::native::SHARED) and
    /// [`MADE`], are no parameters of the program.
    pub parameters: Vec<(String, i64)>,
    /// The engine's settings under which the run happened.
    pub settings: Settings,
    /// The strategy that found the run, for people; replay does not need it.
    pub strategy: String,
    /// The seed it was found with.
    pub seed: u64,
    /// Which run of that seed it was, from 0.
    pub run: u64,
    /// What was done to make the run smaller than the one that was found, if anything.
    #[serde(default)]
    pub minimized: Option<Minimized>,
    /// How the run ended.
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
    /// Every other decision as (step, how many answers, answer), in order.
    pub picks: Vec<(u32, u32, u32)>,
    /// What steps read and wrote, where that is known.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
}

/// What a program is started in, besides its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    /// The working directory; that of whoever starts it if there is none.
    #[serde(default)]
    pub directory: Option<String>,
    /// Variables that the environment has in addition.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// If the program is a harness of Rust tests, the test that it runs. Its first thread is then the harness.
    #[serde(default)]
    pub test: Option<String>,
    /// The test binary, for a run of a Rust test that uses the types of the crate `raddle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
}

impl Environment {
    /// Whether there is nothing in particular about them.
    pub fn are_plain(&self) -> bool {
        *self == Environment::default()
    }
}

/// How a run became smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Minimized {
    /// How many runs were made for that.
    pub executions: u64,
    /// How many switches from one thread to another the run had that was found.
    pub switches_before: u64,
    /// How many steps it had.
    pub steps_before: u64,
}

/// Settings that a replay has to repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The largest number of steps of a run.
    pub step_limit: u64,
    /// Whether time-outs could fire at any moment, not only when nothing else could run.
    pub timeouts_anytime: bool,
    /// How many idle returns a thread could make before it rested.
    pub patience: u32,
    /// Whether a data race on plain memory ended the run.
    #[serde(default)]
    pub races: bool,
    /// Whether the end of the program came when nothing else could run, not at any moment.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exit_last: bool,
    /// Whether a run that reached the step limit failed, also if threads made progress.
    #[serde(default, skip_serializing_if = "is_false")]
    pub step_limit_fails: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// One executed operation in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceStep {
    /// Who executed it: an index into [`TraceFile::threads`].
    pub thread: u32,
    /// What was executed.
    #[serde(flatten)]
    pub operation: Operation,
}

/// Why a failure file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is no JSON, or lacks a field.
    #[error("line {line}, column {column}: {message}; the file is damaged or not a Raddle failure")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the reader stumbled over.
        message: String,
    },
    /// It is JSON of somebody else.
    #[error("the file has no field `raddle_failure`, so it is not a Raddle failure")]
    Foreign,
    /// It was written by a version with another format.
    #[error(
        "the file has failure format {found}, this raddle reads formats 1 to {FORMAT_VERSION}; use the raddle that wrote it"
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// Its packed part is no packed run.
    #[error("the packed steps: {message}; the file is damaged")]
    Packed {
        /// What is wrong with them.
        message: String,
    },
    /// What it says of values cannot be read.
    #[error("the packed values: {message}; the file is damaged")]
    Values {
        /// What is wrong with them.
        message: String,
    },
    /// Its front end is not known.
    #[error(transparent)]
    FrontEnd(#[from] UnknownFrontEnd),
    /// It contradicts itself.
    #[error("step {}: {message}; the file is damaged", step + 1)]
    Inconsistent {
        /// The step, from 0; messages count from 1.
        step: usize,
        /// The contradiction.
        message: String,
    },
    /// Its verdict names what the run does not have.
    #[error("the verdict: {message}; the file is damaged")]
    Verdict {
        /// What it names.
        message: String,
    },
}

impl TraceFile {
    /// The recorded decisions besides the choice of threads.
    pub fn picks(&self) -> impl Iterator<Item = Pick> + '_ {
        self.picks.iter().map(|&(step, arity, value)| Pick { step, arity, value })
    }

    /// How many steps are of another thread than the step before.
    pub fn switches(&self) -> u64 {
        self.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count() as u64
    }

    /// The name that a file with this run has if the user gives none.
    pub fn file_name(&self) -> String {
        let id = if self.id.is_empty() { &self.short_id() } else { &self.id };
        // The id may come from a file of somebody else.
        let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("raddle-failure-{id}.json")
    }
}

#[cfg(test)]
mod tests;
