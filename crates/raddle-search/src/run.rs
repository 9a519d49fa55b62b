//! One run, as a search sees it.

use raddle_model::IRoot;
use serde::{Deserialize, Serialize};

/// The numbers of one run. One that passes allocates nothing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Its partial order.
    pub fingerprint: u64,
    /// Its steps.
    pub steps: u64,
    /// Its threads.
    pub threads: u64,
    /// How often a spinning thread was descheduled.
    pub rests: u64,
    /// How many numbers with more than one answer were drawn: waiters that signals wake, and data choices.
    pub drawn: u64,
    /// Whether its strategy cut it off, because another run covers it.
    pub cut_off: bool,
    /// What few runs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

/// What few runs have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The kind of failure, if it failed.
    pub kind: Option<String>,
    /// Whether it reached the step limit without a verdict.
    pub inconclusive: bool,
    /// How often it waited for something outside the program.
    pub outside_waits: u64,
    /// How many processes it started.
    pub processes: u64,
    /// The iRoots that no earlier run of its strategy had.
    pub exposed: Vec<IRoot>,
    /// Why a profiling run for shared memory failed, if one did.
    pub unlearnt: Option<String>,
}

impl Run {
    /// Returns whether it reached the step limit without a verdict.
    pub fn is_inconclusive(&self) -> bool {
        self.details.as_ref().is_some_and(|details| details.inconclusive)
    }

    /// Returns the kind of failure, or nothing if it passed.
    pub fn kind(&self) -> Option<&str> {
        self.details.as_ref()?.kind.as_deref()
    }
}

/// A run that a worker has made.
#[derive(Debug)]
pub struct Made<F> {
    /// Its numbers.
    pub run: Run,
    /// What is kept of it, if it failed and was requested with its trace.
    pub failure: Option<F>,
}
