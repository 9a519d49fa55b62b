//! One run, as a search sees it.

use raddle_model::IRoot;
use serde::{Deserialize, Serialize};

/// The numbers of one run. A passing run allocates nothing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The fingerprint of its partial order.
    pub fingerprint: u64,
    /// Number of steps.
    pub steps: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of times a spinning thread was descheduled.
    #[serde(skip_serializing_if = "is_none")]
    pub rests: u64,
    /// Number of decisions with more than one answer: waiters that signals wake, and data choices.
    #[serde(skip_serializing_if = "is_none")]
    pub drawn: u64,
    /// True if it had sleeps or time limits, and these ended only when nothing else could run.
    #[serde(skip_serializing_if = "is_false")]
    pub idle_timeouts: bool,
    /// True if its strategy cut it off, because another run covers it.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_off: bool,
    /// True if it was under weak memory.
    #[serde(skip_serializing_if = "is_false")]
    pub weak_memory: bool,
    /// True if a process was forked for it, which may depend on which job executed the run.
    #[serde(skip_serializing_if = "is_false")]
    pub forked: bool,
    /// Data that few runs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

/// Data that few runs have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The kind of failure, if it failed.
    pub kind: Option<String>,
    /// True if it reached the step limit without a verdict.
    pub inconclusive: bool,
    /// Number of times it waited for something outside the program.
    pub outside_waits: u64,
    /// Number of processes that it started.
    pub processes: u64,
    /// The iRoots that no earlier run of its strategy exposed.
    pub exposed: Vec<IRoot>,
    /// The reason why a profiling run for shared memory failed, if one did.
    pub profiling_error: Option<String>,
    /// The shared memory, packed, if several threads touched some that was not known to be shared. Its earlier
    /// accesses were no scheduling points, so the search begins again with this knowledge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discovered: Vec<u64>,
    /// The difference from the same run in a forked process, if it was checked and differed: an internal error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_difference: Option<String>,
    /// True if it shows that the system does not support runs without a fork. Not stored, as for [`Run::forked`].
    #[serde(skip)]
    pub reset_unsupported: bool,
    /// True if a choice of weak memory was smaller than the model allows, because old writes had been dropped.
    #[serde(skip_serializing_if = "is_false")]
    pub forgot_writes: bool,
    /// True if an atomic access had a memory order weaker than sequential consistency.
    #[serde(skip_serializing_if = "is_false")]
    pub has_weak_orders: bool,
    /// True if a thread sent a signal to another one, or cancelled it.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupts: bool,
    /// The exit status of the program, if it is a process.
    #[serde(skip_serializing_if = "is_zero")]
    pub status: i32,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Run {
    /// Returns true if it reached the step limit without a verdict.
    pub fn is_inconclusive(&self) -> bool {
        self.details.as_ref().is_some_and(|details| details.inconclusive)
    }

    /// Returns the shared memory, if the run discovered some.
    pub(crate) fn discovered(&self) -> Option<&Vec<u64>> {
        Some(&self.details.as_ref()?.discovered).filter(|shared| !shared.is_empty())
    }

    /// Returns the kind of failure, or nothing if it passed.
    pub fn kind(&self) -> Option<&str> {
        self.details.as_ref()?.kind.as_deref()
    }
}

/// A finished run of a worker.
#[derive(Debug)]
pub struct FinishedRun<F> {
    /// Its numbers.
    pub run: Run,
    /// The recording, if it failed and was requested with its trace.
    pub failure: Option<F>,
}
