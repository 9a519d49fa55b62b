//! Plain data in, text and JSON out.
//!
//! [`Table`] aligns text in columns, [`run_text`] formats one recorded run thread by thread, [`shape`] has
//! the JSON shapes that scripts may rely on, and [`text`] formats them as text. [`bench`](mod@bench) has the
//! measurements of a suite. A [`FailureReport`] is one failure with all information about it;
//! [`format`](mod@format) has a module for each format. Nothing here runs a program, reads a file or knows
//! where its text goes.

pub mod bench;
pub mod campaign_text;
pub mod cargo_text;
mod cause;
pub mod claim_text;
mod coverage;
pub mod events;
mod failure_report;
pub mod format;
mod old_values;
mod operations;
mod race;
pub mod run_text;
pub mod search_text;
pub mod shape;
pub mod store_text;
pub mod table;
pub mod text;
mod values;

pub use cause::Cause;
pub use coverage::{Coverage, Place, Root, coverage};
pub use failure_report::{ConflictPair, FailureReport, PairRole, ReportedIdiom, Source};
pub use operations::verb;
pub use table::{Align, Table};
pub use values::ShownValue;
