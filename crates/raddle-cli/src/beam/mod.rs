//! Erlang programs: `raddle beam run`, and what is done with the failures that it found.
//!
//! The work is done by the application in `erlang/raddle` inside an Erlang VM. It gets its orders through a socket, in the same
//! words as the native runtime.

mod application;
mod minimize;
mod replay;
mod run;
mod server;
mod sources;

pub(crate) use minimize::{explain, minimize};
pub(crate) use replay::replay;
pub(crate) use run::run;
pub(crate) use sources::folders;

use raddle_model::TraceFile;
use raddle_model::native::Ran;
use raddle_report::{Layout, act, sentences, steps};
use std::fmt::Write;

/// The front end of these files.
pub(crate) const FRONT_END: &str = "beam";

/// What only the VM knows of a run that it has made.
#[derive(Clone, Debug, Default)]
struct Heard {
    /// What the program printed.
    printed: String,
    /// See [`Ran::callers`].
    callers: Vec<String>,
}

impl Heard {
    fn of(ran: &Ran) -> Heard {
        Heard { printed: ran.output.clone(), callers: ran.callers.clone() }
    }
}

/// A run for a person: its steps, a column for each process, what was wrong, and what the program printed.
fn show(out: &mut String, file: &TraceFile, heard: &Heard, width: usize) {
    out.push('\n');
    out.push_str(&steps(file, Layout { width, ..Layout::default() }, &|step| {
        act(file, &file.steps[step].operation, heard.callers.get(step).map_or("", |line| line))
    }));
    out.push('\n');
    for line in sentences(file) {
        let _ = writeln!(out, "{line}");
    }
    crate::native::printed(out, &heard.printed);
}
