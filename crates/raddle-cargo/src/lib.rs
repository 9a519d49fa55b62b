//! The tests and programs of a cargo workspace, built with hooks.
//!
//! Cargo builds a crate with the flags of [`raddle_cc::rust`] into a separate target directory ([`build()`]). The
//! native runtime can control the resulting programs; each test is one, with its own arguments ([`list`],
//! [`arguments`]).

mod build;
mod harness;
mod output;
mod probe;
mod workspace;

pub use build::{Binary, Wanted, build};
pub use harness::{LeftOut, Listed, Selection, arguments, list};
pub use output::without_harness;
pub use probe::probe;
pub use workspace::{TARGET, Workspace, cargo, host};
