//! `raddle run`, and `raddle replay` of what it recorded: pthreads programs under control.

mod baseline;
mod debug;
mod explore;
mod launch;
mod minimize;
mod places;
mod program;
mod races;
mod replay;
mod run;
mod rust_names;
mod show;

pub(crate) use explore::{Plan, Tally};
pub(crate) use minimize::{explain, minimize};
pub(crate) use program::find;
pub(crate) use replay::replay;
pub(crate) use run::{adapts, run, specs};

/// The front end's name in failure files.
pub(crate) const FRONT_END: &str = "native";
