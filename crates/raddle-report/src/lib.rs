//! Plain data in, text and JSON out.
//!
//! [`Table`] aligns text in columns, [`run_text`] shows one recorded run thread by thread, [`shape`] holds the
//! JSON shapes that scripts may rely on, and [`text`] tells the same to a person. [`bench`](mod@bench) is what was measured over a
//! suite. A [`FailureReport`] is one failure with all that is known of it; [`format`](mod@format) has a module for each
//! way to tell it.
//! Nothing here runs a program, reads a file or knows where its text goes.

pub mod bench;
pub mod cargo_text;
pub mod claim_text;
mod coverage;
pub mod events;
mod failure_report;
pub mod format;
mod operations;
mod race;
pub mod run_text;
pub mod search_text;
pub mod shape;
pub mod store_text;
mod table;
pub mod text;
mod values;

pub use coverage::{Coverage, Place, Root, coverage};
pub use failure_report::{ConflictPair, FailureReport, PairRole, ReportedIdiom, Source};
pub use operations::verb;
pub use table::{Align, Table};
pub use values::ShownValue;
