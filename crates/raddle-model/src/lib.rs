//! The vocabulary of Raddle: threads, objects, operations, events, traces and verdicts.
//!
//! Plain data, shared by all other crates. Nothing here does I/O, reads a clock, starts a thread or knows how
//! a program is executed. Start with [`Operation`]: a thread announces an operation before it executes it,
//! and [`dependent`] defines which pairs of them may not be swapped.

mod claim;
mod exit;
mod file;
mod frames;
mod ids;
mod iroot;
mod kind;
mod memory_order;
mod name;
pub mod native;
mod network;
mod operation;
mod schedule;
mod trace;
mod values;
mod verdict;

pub use claim::{Claim, Claims, Exhaustion};
pub use exit::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, EXIT_SIGNAL, EXIT_USAGE};
pub use file::{
    Details, Environment, FORMAT_VERSION, FileError, FrontEnd, MADE, MOST_FILE_STEPS, Minimized, NO_LOCATION,
    Reason, Settings, Stack, TraceFile, TraceStep, UnknownFrontEnd,
};
pub use frames::{
    CALLED, INLINED, TextFrame, brief_object, frames, is_address, is_standard, short_object, user_frame,
};
pub use ids::{LocationId, ObjectId, ThreadId};
pub use iroot::{Action, Count, IRoot, Idiom, Ledger, Site, Standing};
pub use kind::{Handoff, Holding, Kind, KindInfo, LockMode, Memory, Notifies, Progress, Token, Waits};
pub use memory_order::{MemoryModel, MemoryOrder, SEQUENTIAL_ORDER};
pub use name::{Name, mix};
pub use network::{Network, NetworkFaults, NetworkMode};
pub use operation::{Access, Operation, Reads, Touch, dependent};
pub use schedule::{Completion, Constraint, Schedule, Segment, Stronger};
pub use trace::{Event, Pick, Replaced, Trace};
pub use values::{Cell, Format, Gathered, Value, Values};
pub use verdict::{BlockReason, Blocked, Failure, FreedBlock, Panicked, RacingAccess, Verdict};
