//! The interface to a front end, and the cost of a run for its reader.

use raddle_model::{Schedule, TraceFile, Verdict};

/// Executes runs of one program.
pub trait Execute {
    /// Executes a run that follows `schedule` as far as possible (see [`raddle_engine::Follow`]). Returns
    /// `None` if it cannot be executed, or is not wanted.
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution>;
}

/// The runs that a caller wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Those that fail.
    Failing,
    /// Those that pass too.
    Any,
}

impl Wanted {
    /// Returns true if this run is wanted.
    pub fn takes(self, verdict: &Verdict) -> bool {
        self == Wanted::Any || verdict.failure().is_some()
    }
}

/// An executed run.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The run.
    pub run: TraceFile,
    /// Number of preemptions.
    pub preemptions: u64,
}

/// The effort to follow a run. Compared by its fields in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cost {
    /// Under weak memory, how many steps read old values or wrote before newer ones.
    pub old_values: u64,
    /// Number of steps whose thread differs from that of the previous step.
    pub switches: u64,
    /// Number of these that are preemptions.
    pub preemptions: u64,
    /// Number of steps.
    pub steps: u64,
}

/// Returns how many choices of weak memory were not the newest value or the last place.
fn old_values(run: &TraceFile) -> u64 {
    let is_old = |&&(step, _, value): &&(u32, u32, u32)| {
        value > 0 && run.steps.get(step as usize).is_some_and(|step| step.operation.kind.is_memory())
    };
    run.picks.iter().filter(is_old).count() as u64
}

impl Execution {
    /// Returns the cost of the run.
    pub fn cost(&self) -> Cost {
        Cost {
            old_values: old_values(&self.run),
            switches: self.run.switches(),
            preemptions: self.preemptions,
            steps: self.run.steps.len() as u64,
        }
    }
}
