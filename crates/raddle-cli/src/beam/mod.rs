//! Erlang programs: `raddle beam run`, and `raddle replay` of what it found.
//!
//! The work is done by the application in `erlang/raddle` inside an Erlang VM. It gets its orders as arguments and leaves its
//! answer in a file.

mod launch;
mod replay;
mod run;

pub(crate) use replay::replay;
pub(crate) use run::run;

use raddle_model::{Kind, Operation, TraceFile};
use raddle_report::{Layout, sentences, steps, verb};
use std::fmt::Write;

/// The front end of these files.
pub(crate) const FRONT_END: &str = "beam";

/// A run for a person: its steps, a column for each process, and what was wrong.
fn show(out: &mut String, file: &TraceFile, width: usize) {
    out.push('\n');
    out.push_str(&steps(file, Layout { width, ..Layout::default() }, &|operation| {
        statement(file, operation)
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
    format!("{}{gap}{} at {place}", verb(operation.kind), objects.join(", "))
}
