//! What a front end has to be able to do, and what a run costs the person who reads it.

use raddle_model::{Schedule, TraceFile, Verdict};

/// Makes runs of one program.
pub trait Execute {
    /// Makes a run that follows `schedule` as far as that is possible (see [`raddle_engine::Follow`]). Gives nothing if it
    /// cannot be made, or is not wanted.
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution>;
}

/// Which runs somebody wants to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Those that fail.
    Failing,
    /// Those that pass too.
    Any,
}

impl Wanted {
    /// Whether this run is wanted.
    pub fn takes(self, verdict: &Verdict) -> bool {
        self == Wanted::Any || verdict.failure().is_some()
    }
}

/// A run that was made.
#[derive(Clone, Debug)]
pub struct Execution {
    /// What happened.
    pub run: TraceFile,
    /// How many steps took the turn from a thread that could have gone on.
    pub preemptions: u64,
}

/// How hard a run is to follow. Compared by its fields in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cost {
    /// How many steps are of another thread than the step before.
    pub switches: u64,
    /// How many of them took the turn from a thread that could have gone on.
    pub preemptions: u64,
    /// How many steps there are.
    pub steps: u64,
}

impl Execution {
    /// How hard it is to follow.
    pub fn cost(&self) -> Cost {
        Cost {
            switches: self.run.switches(),
            preemptions: self.preemptions,
            steps: self.run.steps.len() as u64,
        }
    }
}
