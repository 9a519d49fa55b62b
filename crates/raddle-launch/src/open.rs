//! The front ends, by the contents of a failure file.

use crate::beam::{self, Beam};
use crate::lab;
use crate::native::Program;
use crate::rust::RustTest;
use crate::subject::{Repeated, Subject};
use anyhow::{Error, Result, anyhow};
use raddle_model::native::Threads;
use raddle_model::{FrontEnd, TraceFile};
use raddle_report::run_text::verdict;
use std::path::PathBuf;

/// Prepares the program of `file`, called `shown` in messages, for more runs. `threads` selects the threads
/// of pthreads programs.
pub fn open(file: &TraceFile, shown: &str, threads: Threads) -> Result<Box<dyn Subject>> {
    Ok(match file.front_end {
        FrontEnd::Lab => Box::new(lab::open(file, shown)?),
        FrontEnd::Native => Box::new(Program::open(file, shown, threads)?),
        FrontEnd::Beam => Box::new(Beam::open(file, shown)?),
        FrontEnd::Rust => Box::new(RustTest::open(file, shown)?),
    })
}

/// Returns what may have changed if a run does not repeat.
fn changed(front_end: FrontEnd) -> &'static str {
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
pub fn source_folders(file: &TraceFile) -> Vec<PathBuf> {
    match file.front_end {
        FrontEnd::Beam => beam::folders(file),
        FrontEnd::Rust => file.environment.directory.iter().map(PathBuf::from).collect(),
        FrontEnd::Lab | FrontEnd::Native => Vec::new(),
    }
}

/// Prepares the program of `file` like [`open`], and rejects one that no longer repeats the recorded run.
pub fn open_repeating(file: &TraceFile, shown: &str) -> Result<Box<dyn Subject>> {
    let mut subject = open(file, shown, Threads::Fibers)?;
    let repeated = subject.replay(file)?;
    match divergence(file, &repeated) {
        None => Ok(subject),
        Some(left) => Err(does_not_repeat(file, &left, shown)),
    }
}

/// The divergence of a run from the recorded one.
pub struct Divergence {
    /// The step, from 0; `None` if only the outcome differs.
    pub step: Option<usize>,
    /// The difference.
    pub what: String,
}

/// Compares a replay with the run of `file`.
pub fn divergence(file: &TraceFile, repeated: &Repeated) -> Option<Divergence> {
    let now = &repeated.run;
    if let Some((step, what)) = &repeated.divergence {
        return Some(Divergence { step: Some(*step), what: what.clone() });
    }
    let end = |file: &TraceFile| verdict(file).join("; ");
    let what = if now.verdict != file.verdict {
        format!("the steps repeat but the end does not: recorded `{}`, now `{}`", end(file), end(now))
    } else if now.fingerprint != file.fingerprint || now.picks != file.picks {
        format!(
            "the steps repeat but the fingerprint does not: recorded {:016x}, now {:016x}",
            file.fingerprint, now.fingerprint
        )
    } else {
        return None;
    };
    Some(Divergence { step: None, what })
}

/// Returns the error for a run that no longer repeats the recorded one.
pub fn does_not_repeat(file: &TraceFile, left: &Divergence, shown: &str) -> Error {
    let Divergence { step, what } = left;
    let at = step.map(|step| format!("at step {} of {}: ", step + 1, file.steps.len())).unwrap_or_default();
    let changed = changed(file.front_end);
    anyhow!(
        "{shown}: the run does not repeat: {at}{what}; {changed}\nhelp: `raddle replay --tolerant` follows the recorded run as far \
         as possible; to find the failure again, search again"
    )
}
