//! `raddle run`, and `raddle replay` of what it recorded: pthreads programs under control.

mod baseline;
mod debug;
mod explore;
mod found;
mod launch;
mod memory;
mod minimize;
mod places;
mod program;
mod races;
mod replay;
mod run;
mod rust_names;
mod show;
mod values;
mod window;

pub(crate) use explore::{NotControllable, Plan, Runs, Tally};
pub(crate) use found::{Found, Origin};
pub(crate) use launch::Temporary;
pub(crate) use minimize::{explain, minimize};
pub(crate) use places::{address as located, shown};
pub(crate) use program::find;
pub(crate) use replay::replay;
pub(crate) use run::{adapts, run, run_in, specs};
pub(crate) use show::{message, printed, show};

/// The front end's name in failure files.
pub(crate) const FRONT_END: &str = "native";
