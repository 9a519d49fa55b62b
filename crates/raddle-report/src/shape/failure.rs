//! The output for a failing run that was replayed, minimized or explained.

use crate::operations::verb;
use crate::values::{ShownValue, shown_values};
use raddle_model::{TraceFile, TraceStep};
use serde::Serialize;

/// The output of `raddle replay --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Replayed {
    /// `passed`, or the kind of failure.
    pub verdict: String,
    /// The failure, in sentences.
    pub message: String,
    /// The number of replayed steps.
    pub steps: u64,
    /// The partial-order fingerprint in hexadecimal digits.
    pub fingerprint: String,
    /// The strategy that found the run.
    pub strategy: String,
    /// The seed it was found with.
    pub seed: u64,
    /// The number of the run for that seed.
    pub run: u64,
}

impl Replayed {
    /// Returns the output for a file whose run repeats, with the failure in sentences.
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

/// The output of a tolerant replay that diverged from the recorded run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Resembled {
    /// `passed`, or the kind of failure, of the current run.
    pub verdict: String,
    /// The same for the recorded run.
    pub recorded: String,
    /// The current failure, in sentences.
    pub message: String,
    /// The first recorded step that could not be repeated, from 0.
    pub left_at: u64,
    /// The difference.
    pub left_because: String,
    /// The number of steps of the current run.
    pub steps: u64,
}

/// A minimized failing run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reduced {
    /// The kind of failure.
    pub verdict: String,
    /// The failure, in sentences.
    pub message: String,
    /// The file with the smaller run.
    pub failure_file: String,
    /// The number of runs for minimization.
    pub executions: u64,
    /// The number of its context switches.
    pub switches: u64,
    /// The original number.
    pub switches_before: u64,
    /// The number of its steps.
    pub steps: u64,
    /// The original number.
    pub steps_before: u64,
}

/// The explanation of a failing run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explained {
    /// The kind of failure.
    pub verdict: String,
    /// The failure, in sentences.
    pub message: String,
    /// The pairs of operations that occur in the other order in the closest run that passes.
    pub swapped: Vec<ExplainedPair>,
    /// True if all sampled schedules fail.
    pub always: bool,
    /// The estimated depth of the bug, if it was found.
    pub depth: Option<u64>,
    /// The orderings that suffice for the failure.
    pub constraints: Vec<ExplainedPair>,
    /// Maple's idiom of them, if they are one.
    pub idiom: Option<u8>,
    /// The memory orders with which the failure was not seen any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stronger_orders: Vec<StrongerOrder>,
    /// The number of random schedules with which each set of orderings was tried.
    pub samples: u64,
    /// The number of runs.
    pub executions: u64,
    /// The number of possible swaps of one pair of operations.
    pub swaps: u64,
    /// The number of swaps that were tried.
    pub swaps_tried: u64,
    /// True if everything was tried; if not, the limit of time or runs was reached.
    pub complete: bool,
}

/// A memory order that has to be stronger.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StrongerOrder {
    /// A step with a weaker one.
    pub step: ExplainedStep,
    /// The order it needs, such as `release`.
    pub order: &'static str,
}

/// Two operations in their order in the failing run.
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
    /// The step of the run, from 0; `None` if its thread waits for it at the end.
    pub step: Option<u64>,
    /// The thread.
    pub thread: String,
    /// The operation.
    pub operation: String,
    /// The location.
    pub location: String,
    /// The values read and written, such as `balance = 100`, as far as known.
    pub values: Vec<String>,
}

impl ExplainedStep {
    /// Returns step `index` of `steps`, which are those of the run of `file` and then those that its threads
    /// wait for.
    pub fn of(file: &TraceFile, steps: &[TraceStep], index: usize) -> ExplainedStep {
        let TraceStep { thread, operation } = &steps[index];
        ExplainedStep {
            step: (index < file.steps.len()).then_some(index as u64),
            thread: file.threads.get(*thread as usize).cloned().unwrap_or_default(),
            operation: verb(operation.kind).to_owned(),
            location: file.locations.get(operation.location.index()).cloned().unwrap_or_default(),
            values: shown_values(file, index).iter().map(ShownValue::text).collect(),
        }
    }
}
