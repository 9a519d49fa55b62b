//! Straight-line programs whose outcomes the axioms define.

use raddle_model::MemoryOrder;

/// A straight-line program over atomic locations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Litmus {
    /// The initial value of each location.
    pub initial: Vec<i64>,
    /// The number of registers. Each belongs to one thread and is 0 at the start.
    pub registers: usize,
    /// The steps of each thread.
    pub threads: Vec<Vec<Step>>,
}

/// One step of a thread. Locations and registers are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Reads a location into a register.
    Load {
        /// The register.
        register: usize,
        /// The location.
        location: usize,
        /// The order.
        order: MemoryOrder,
    },
    /// Writes a location.
    Store {
        /// The location.
        location: usize,
        /// The value.
        value: i64,
        /// The order.
        order: MemoryOrder,
    },
    /// Reads and writes a location in one step.
    Update {
        /// The register that receives the previous value.
        register: Option<usize>,
        /// The location.
        location: usize,
        /// The new value.
        update: Update,
        /// The order.
        order: MemoryOrder,
    },
    /// Writes a location if it holds an expected value.
    Exchange {
        /// The register that receives the value read.
        register: Option<usize>,
        /// The location.
        location: usize,
        /// The value to find.
        expected: i64,
        /// The value to write.
        new: i64,
        /// The order of the read and write.
        success: MemoryOrder,
        /// The order of the read if another value is found.
        failure: MemoryOrder,
    },
    /// A fence.
    Fence(MemoryOrder),
}

/// The value that an update writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// The value read plus this one, wrapping.
    Add(i64),
    /// This value.
    Set(i64),
}

impl Step {
    /// Returns the location that the step accesses.
    pub fn location(&self) -> Option<usize> {
        match *self {
            Step::Load { location, .. }
            | Step::Store { location, .. }
            | Step::Update { location, .. }
            | Step::Exchange { location, .. } => Some(location),
            Step::Fence(_) => None,
        }
    }

    /// Returns the register that the step sets.
    pub fn register(&self) -> Option<usize> {
        match *self {
            Step::Load { register, .. } => Some(register),
            Step::Update { register, .. } | Step::Exchange { register, .. } => register,
            Step::Store { .. } | Step::Fence(_) => None,
        }
    }
}

/// The end of an execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Outcome {
    /// The value of each register.
    pub registers: Vec<i64>,
    /// The last value of each location in modification order.
    pub locations: Vec<i64>,
}
