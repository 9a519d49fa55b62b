//! Pthreads programs: `raddle run`.

mod baseline;
mod memory;
mod races;
mod run;

pub(crate) use run::{run, run_in, threads};
