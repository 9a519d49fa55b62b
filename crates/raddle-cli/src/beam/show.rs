//! A run of an Erlang program for a person.

use crate::subject::Output;
use raddle_model::TraceFile;
use raddle_report::{Layout, act, sentences, steps};
use std::fmt::Write;

/// A run for a person: its steps, a column for each process, what was wrong, and what the program printed.
pub(crate) fn show(out: &mut String, file: &TraceFile, output: &Output, width: usize) {
    out.push('\n');
    out.push_str(&steps(file, Layout { width, ..Layout::default() }, &|step| {
        act(file, &file.steps[step].operation, output.callers.get(step).map_or("", |line| line))
    }));
    out.push('\n');
    for line in sentences(file) {
        let _ = writeln!(out, "{line}");
    }
    crate::native::printed(out, &output.printed);
}
