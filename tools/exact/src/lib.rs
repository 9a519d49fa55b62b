//! An independent check of Raddle's strategies.
//!
//! Generates programs in the lab's language, enumerates all their schedules and partial orders, computes what each strategy
//! must do from its definition, and compares that with what the built `raddle` does. It depends on nothing of Raddle: a
//! mistake of the engine cannot hide here.
//!
//! * [`program`], [`generate`](mod@generate): the programs and their texts.
//! * [`machine`]: what their statements mean.
//! * [`graph`]: all schedules, with equivalent prefixes merged.
//! * [`shares`]: exact probabilities under random walk, PCT, BasicPOS and POS. [`rapos`]: what RAPOS can reach.
//! * [`compare`]: runs `raddle lab run --json --orders` and compares.
//!
//! Limits: no time-outs, no spinning, and no barrier that more threads use than it takes, for which DPOR makes no promise.

pub mod compare;
pub mod generate;
pub mod graph;
pub mod machine;
pub mod program;
mod raddle;
pub mod rapos;
pub mod shares;
pub mod statistics;

pub use compare::{Check, Report, Row, run};
