//! An independent check of Raddle's strategies.
//!
//! Generates programs in the lab's language, enumerates all their schedules and partial orders, computes the
//! behaviour of each strategy from its definition, and compares that with the behaviour of the built
//! `raddle`. It depends on no code of Raddle, so it cannot share a bug of the engine.
//!
//! * [`program`], [`generate`](mod@generate): the programs and their texts.
//! * [`machine`]: the semantics of their statements.
//! * [`graph`]: all schedules, with equivalent prefixes merged.
//! * [`shares`]: exact probabilities under random walk, PCT, BasicPOS and POS. [`rapos`]: the partial orders
//!   that RAPOS can reach.
//! * [`compare`]: runs `raddle lab run --json --orders` and compares.
//!
//! Limits: no timeouts, no spinning, and no barrier that more threads use than it takes, for which DPOR has
//! no guarantee.

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
