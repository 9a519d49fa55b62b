//! What a failing run is made of: the types of [`Failed::trace`](crate::Failed::trace), which is what a failure file holds.

pub use raddle_model::{
    Access, BlockReason, Blocked, Failure, FileError, FreedBlock, Kind, LocationId, MemoryOrder, Minimized,
    ObjectId, Operation, Panicked, RacingAccess, Settings, Surroundings, ThreadId, Touch, TraceFile,
    TraceStep, Value, Values, Verdict,
};
