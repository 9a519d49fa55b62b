//! One search over schedules for every front end.
//!
//! A front end implements [`Target`]: it starts workers, and a [`Worker`] executes the requested runs.
//! [`search`](search()) decides which runs are executed, by whom and in which order, counts them, and stops
//! when the [`Search`] says so. Afterwards [`reduce`] and [`explain`] execute further runs of a failing one
//! through [`raddle_explain::Execute`], and [`write`](write()) stores it.
//!
//! * [`Lanes`]: the strategies that take turns.
//! * [`Turns`]: the turns of one job of one shard.
//! * [`Tally`]: the numbers of a search, the same for any number of jobs and for merged shards.
//! * [`bound`]: the value of a number of runs without a failure. [`claims`](claims()) selects the statements.

pub mod bound;
mod budget;
mod claims;
mod failure;
mod firsts;
mod in_process;
mod job;
mod lanes;
mod merge;
mod pipeline;
mod result;
mod run;
mod search;
mod shard;
mod shared;
mod signature;
mod tally;
mod turns;
mod worker;

pub use budget::{Budget, Deadline, FIRST_RUN, Stop, interrupt, is_interrupted};
pub use claims::{MOST_MISSED, claims};
pub use failure::{
    AFTER_A_FAILURE, Limits, Progress, explain, origin, reduce, replace, signed, write, write_as_is,
};
pub use firsts::Firsts;
pub use in_process::{CopyProgram, InProcess, Recording};
pub use lanes::{Lane, Lanes, Portfolio};
pub use merge::{MergeError, Merged, complete, merge};
pub use result::{Identity, ShardResult};
pub use run::{Details, FinishedRun, Run};
pub use search::{Searched, search, search_all};
pub use shard::{Part, Shard, ShardError};
pub use shared::{Outcome, Search, Seen};
pub use signature::{is_signed, key_path, sign};
pub use tally::{LaneTally, PctRuns, Tally};
pub use turns::Turns;
pub use worker::{Known, Request, Target, Worker};
