//! Minimization and explanation of failing runs.
//!
//! [`minimize`] searches for a run with the same failure and fewer switches between threads, [`explain`] for
//! the order of operations that makes the difference. They know no front end: a front end that can follow a
//! [`Schedule`](raddle_model::Schedule) implements [`Execute`]. Every candidate is really executed, so the
//! result is a run of the program and not a guess. Nothing here reads a clock or draws a number; the same
//! program, run and budget give the same result.

mod execute;
mod explain;
mod minimize;
mod orders;
mod reason;
mod same;
mod sentence;
mod swap;

pub use execute::{Cost, Execute, Execution, Wanted};
pub use explain::{Effort, Explanation, Interruption, explain};
pub use minimize::{Budget, MOST_AUTOMATIC_STEPS, Smallest, minimize};
pub use orders::Repair;
pub use reason::reason;
pub use same::Symptom;
pub use sentence::{place, sentence, too_weak};
pub use swap::Pair;
