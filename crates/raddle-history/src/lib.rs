//! Histories of calls to a concurrent structure, and the conditions that they may have to meet.
//!
//! A [`History`] has calls with their results and says which call came before which other one. [`order`] searches for an order
//! of the calls in which a [`Specification`], a sequential machine, gives the same results. Which calls the order must not swap
//! is the [`Condition`]. [`table`] and [`picture`] display the calls.
//!
//! Results are numbers here: their owner compares values and numbers equal ones alike.

mod history;
mod order;
mod text;

pub use history::{Condition, Event, History, Outcome, Part};
pub use order::{Answer, MOST_CALLS, Specification, order};
pub use text::{Row, picture, table};
