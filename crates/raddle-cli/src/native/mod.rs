//! Pthreads programs under control: `raddle run`, and restarting the program of a failing run.

mod baseline;
mod debug;
mod launch;
mod memory;
mod observe;
mod program;
mod races;
mod run;
mod subject;
mod target;

pub(crate) use program::find;
pub(crate) use run::{run, run_in, threads};
pub(crate) use subject::{Program, is_another_build, namer, trace_file};
pub(crate) use target::{Native, setup};
