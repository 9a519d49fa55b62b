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

use raddle_model::{Kind, Operation, TraceFile};
use raddle_report::{Layout, sentences, steps, verb};
use std::fmt::Write;

/// The front end of these files.
pub(crate) const FRONT_END: &str = "beam";

/// A run for a person: its steps, a column for each process, and what was wrong.
fn show(out: &mut String, file: &TraceFile, width: usize) {
    out.push('\n');
    out.push_str(&steps(file, Layout { width, ..Layout::default() }, &|step| {
        statement(file, &file.steps[step].operation)
    }));
    out.push('\n');
    for line in sentences(file) {
        let _ = writeln!(out, "{line}");
    }
}

/// What an operation does, to what, and on which line.
fn statement(file: &TraceFile, operation: &Operation) -> String {
    let name = |names: &[String], index: usize| names.get(index).map_or("?".to_owned(), Clone::clone);
    let mut objects: Vec<String> =
        operation.objects().map(|(object, _)| name(&file.objects, object.index())).collect();
    // What is touched besides says what the operation depends on, not what it does.
    objects.truncate(1);
    if matches!(operation.kind, Kind::Spawn | Kind::Yield) {
        objects.clear();
    }
    let gap = if objects.is_empty() { "" } else { " " };
    let place = name(&file.locations, operation.location.index());
    format!("{}{gap}{} at {}", verb(operation.kind), objects.join(", "), raddle_explain::place(&place))
}
