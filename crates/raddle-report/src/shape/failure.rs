//! What is told of a failing run that was replayed, made smaller or explained.

use crate::operations::verb;
use crate::values::{ShownValue, told};
use raddle_model::{TraceFile, TraceStep};
use serde::Serialize;

/// What `raddle replay --json` prints.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Replayed {
    /// `passed`, or the kind of failure.
    pub verdict: String,
    /// What happened, in sentences.
    pub message: String,
    /// How many steps were repeated.
    pub steps: u64,
    /// The partial-order fingerprint in hexadecimal digits.
    pub fingerprint: String,
    /// The strategy that found the run.
    pub strategy: String,
    /// The seed it was found with.
    pub seed: u64,
    /// Which run of that seed it was.
    pub run: u64,
}

impl Replayed {
    /// What is told of a file whose run repeats, with what happened in sentences.
    pub fn of(file: &TraceFile, message: &[String]) -> Replayed {
        Replayed {
            verdict: file.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
            message: message.join("\n"),
            steps: file.steps.len() as u64,
            fingerprint: format!("{:016x}", file.fingerprint),
            strategy: file.strategy.clone(),
            seed: file.seed,
            run: file.run,
        }
    }
}

/// What a tolerant replay brought, where the run left the recorded one.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Resembled {
    /// `passed`, or the kind of failure, of the run of now.
    pub verdict: String,
    /// The same of the recorded run.
    pub recorded: String,
    /// What happens now, in sentences.
    pub message: String,
    /// The first recorded step that could not be repeated, from 0.
    pub left_at: u64,
    /// What was different there.
    pub left_because: String,
    /// How many steps the run of now has.
    pub steps: u64,
}

/// A failing run that was made smaller.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reduced {
    /// The kind of failure.
    pub verdict: String,
    /// What happens, in sentences.
    pub message: String,
    /// The file with the smaller run.
    pub failure_file: String,
    /// How many runs were made for that.
    pub executions: u64,
    /// How many switches between threads it has.
    pub switches: u64,
    /// How many there were when it was found.
    pub switches_before: u64,
    /// How many steps it has.
    pub steps: u64,
    /// How many there were when it was found.
    pub steps_before: u64,
}

/// Why a run fails.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explained {
    /// The kind of failure.
    pub verdict: String,
    /// What happens, in sentences.
    pub message: String,
    /// The pairs of operations that happen in the other order in the closest run that passes.
    pub swapped: Vec<ExplainedPair>,
    /// Whether all sampled schedules fail.
    pub always: bool,
    /// The estimated depth of the bug, if it was found.
    pub depth: Option<u64>,
    /// The orders that are enough for the failure.
    pub constraints: Vec<ExplainedPair>,
    /// Which of Maple's idioms they are, if they are one.
    pub idiom: Option<u8>,
    /// With how many random schedules each set of orders was tried.
    pub samples: u64,
    /// How many runs were made.
    pub executions: u64,
    /// How many swaps of one pair of operations there are to be tried.
    pub swaps: u64,
    /// How many of them were tried.
    pub swaps_tried: u64,
    /// Whether everything was tried; if not, there was no more time, or no more runs.
    pub complete: bool,
}

/// Two operations in the order in which they happen in the failing run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExplainedPair {
    /// The earlier one.
    pub first: ExplainedStep,
    /// The later one.
    pub second: ExplainedStep,
}

/// One of the two.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExplainedStep {
    /// Which step of the run it is, from 0; nothing if its thread waits for it in the end.
    pub step: Option<u64>,
    /// Whose it is.
    pub thread: String,
    /// What it does.
    pub operation: String,
    /// Where.
    pub location: String,
    /// What it read and wrote, such as `balance = 100`, as far as that is known.
    pub values: Vec<String>,
}

impl ExplainedStep {
    /// Returns step `index` of `steps`, which are those of the run of `file` and then those that its threads wait for.
    pub fn of(file: &TraceFile, steps: &[TraceStep], index: usize) -> ExplainedStep {
        let TraceStep { thread, operation } = &steps[index];
        ExplainedStep {
            step: (index < file.steps.len()).then_some(index as u64),
            thread: file.threads.get(*thread as usize).cloned().unwrap_or_default(),
            operation: verb(operation.kind).to_owned(),
            location: file.locations.get(operation.location.index()).cloned().unwrap_or_default(),
            values: told(file, index).iter().map(ShownValue::text).collect(),
        }
    }
}
