//! Shuttle's names, so that tests written for Shuttle run here: `use raddle::shuttle;`, or a crate named
//! `shuttle` that contains `pub use raddle::shuttle::*;` and replaces Shuttle in `Cargo.toml`.
//!
//! # Differences from Shuttle
//!
//! * A step is one operation of the test. Threads have no step for their start or their end, so schedules
//!   recorded by Shuttle do not fit, and [`check_dfs`] runs different numbers of schedules.
//! * [`RandomScheduler`](scheduler::RandomScheduler), [`PctScheduler`](scheduler::PctScheduler),
//!   [`UrwRandomScheduler`](scheduler::UrwRandomScheduler) and [`DfsScheduler`](scheduler::DfsScheduler) are
//!   Raddle's strategies `random-walk`, `pct`, `urw` and `dfs` when passed directly to a [`Runner`]. Inside
//!   another scheduler they are plain implementations of [`Scheduler`](scheduler::Scheduler).
//! * A failing run is reported on standard error, with its schedule for [`replay`]. The runner then panics
//!   with the payload of the test.
//! * Failing runs are not minimized unless `RADDLE_MINIMIZE=1` is set: a test for Shuttle may count its runs.
//! * No `tracing` events are emitted and no annotations are written.

mod check;
mod config;
pub mod current;
mod failure;
pub mod future;
mod labels;
pub mod rand;
mod runner;
pub mod scheduler;
pub mod sync;
mod tags;
pub mod thread;

pub use crate::{hint, lazy_static, thread_local};
pub use check::{
    check, check_dfs, check_pct, check_random, check_random_with_seed, check_uncontrolled_nondeterminism,
    check_urw, replay, replay_from_file,
};
pub use config::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig,
};
pub use runner::{PortfolioRunner, Runner};

pub(crate) use labels::{forget as forget_labels, inherit};

/// The environment variable with the file of Shuttle's annotation scheduler. No effect here.
pub const ANNOTATION_FILE: &str = "SHUTTLE_ANNOTATION_FILE";
/// The environment variable that makes Shuttle capture backtraces. No effect here.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";
/// The environment variable that silences Shuttle's warnings. No effect here.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";
