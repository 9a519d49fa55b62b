//! The front ends, by what a failure file says.

use crate::beam::{self, Beam};
use crate::lab;
use crate::native::Program;
use crate::rust::RustTest;
use crate::subject::Subject;
use anyhow::Result;
use raddle_model::native::Threads;
use raddle_model::{FrontEnd, TraceFile};
use std::path::PathBuf;

/// Prepares the program of `file`, which messages call `shown`, to make more runs. Threads of pthreads programs are `threads`.
pub(crate) fn open(file: &TraceFile, shown: &str, threads: Threads) -> Result<Box<dyn Subject>> {
    Ok(match file.front_end {
        FrontEnd::Lab => Box::new(lab::open(file, shown)?),
        FrontEnd::Native => Box::new(Program::open(file, shown, threads)?),
        FrontEnd::Beam => Box::new(Beam::open(file, shown)?),
        FrontEnd::Rust => Box::new(RustTest::open(file, shown)?),
    })
}

/// Says what may have changed if a run does not repeat.
pub(crate) fn changed(front_end: FrontEnd) -> &'static str {
    match front_end {
        FrontEnd::Lab => "the file was changed, or another version of raddle wrote it",
        FrontEnd::Native => "the program or its surroundings have changed",
        FrontEnd::Beam => "a module has changed",
        FrontEnd::Rust => {
            "the code was changed, or the test depends on something besides the schedule (time, random numbers, addresses, \
             state kept between runs)"
        }
    }
}

/// Returns folders that may have sources of the program of `file`.
pub(crate) fn source_folders(file: &TraceFile) -> Vec<PathBuf> {
    match file.front_end {
        FrontEnd::Beam => beam::folders(file),
        FrontEnd::Rust => file.surroundings.directory.iter().map(PathBuf::from).collect(),
        FrontEnd::Lab | FrontEnd::Native => Vec::new(),
    }
}
