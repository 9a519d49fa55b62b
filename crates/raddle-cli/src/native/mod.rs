//! Pthreads programs: `raddle run`.

mod baseline;
mod linearizable;
mod memory;
mod races;
mod report;
mod run;

pub(crate) use report::merged;
pub(crate) use run::{program, run, run_in, threads};
