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
use raddle_report::{Layout, act, sentences, steps};
use std::fmt::Write;

/// The front end of these files.
pub(crate) const FRONT_END: &str = "beam";

/// A run for a person: its steps, a column for each process, what was wrong, and what the program printed.
fn show(out: &mut String, file: &TraceFile, output: &str, width: usize) {
    out.push('\n');
    out.push_str(&steps(file, Layout { width, ..Layout::default() }, &|operation| act(file, operation)));
    out.push('\n');
    for line in sentences(file) {
        let _ = writeln!(out, "{line}");
    }
    crate::native::printed(out, output);
}
