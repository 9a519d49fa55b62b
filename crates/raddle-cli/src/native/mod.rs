//! `raddle run`, and `raddle replay` of what it recorded: pthreads programs under control.

mod debug;
mod explore;
mod launch;
mod places;
mod program;
mod races;
mod replay;
mod run;
mod show;

pub(crate) use replay::replay;
pub(crate) use run::run;

/// The front end's name in trace files.
pub(crate) const FRONT_END: &str = "native";
