//! One run as text, for every front end: its steps thread by thread, the failure, and the output of the
//! program.
//!
//! The text is based on the events of a [`TraceFile`] and on data that only the front end has, a
//! [`RunContext`]. If runs of two front ends are displayed differently, that follows from their events: a
//! step with a statement is displayed as the statement, other steps with a verb, objects and a location.

mod assumptions;
mod cell;
pub(crate) mod names;
mod steps;
mod verdict;

pub use assumptions::assumptions;
pub use cell::statement;
pub use verdict::{sentences, verdict};

pub(crate) use steps::{plain, table};

use crate::events::Timeline;
use crate::text::{count, plural};
use names::Names;
use raddle_model::TraceFile;
use std::fmt::Write;

/// The data of a run that is not in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunContext<'a> {
    /// The output of the program.
    pub output: &'a str,
    /// The calling line of each library operation, otherwise empty. Steps at the end may be missing.
    pub callers: &'a [String],
}

/// The device that the text is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terminal {
    /// The columns of a line. Threads that do not fit next to each other share one column.
    pub width: usize,
    /// True to distinguish threads by color too.
    pub colours: bool,
    /// The maximum number of steps. Of a longer run those around switches are displayed, and of these not the
    /// middle.
    pub most: usize,
    /// The number of steps before and after each switch that are displayed of a longer run.
    pub around: usize,
}

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal { width: 100, colours: false, around: 2, most: 120 }
    }
}

impl Terminal {
    /// Returns the default with lines of `width` columns.
    pub fn of_width(width: usize) -> Terminal {
        Terminal { width, ..Terminal::default() }
    }
}

/// Returns the steps, the failure and the output of the program.
pub fn run(file: &TraceFile, context: RunContext<'_>, terminal: Terminal) -> String {
    let mut out = steps(file, context, terminal);
    out.push('\n');
    for line in verdict(file).into_iter().chain(assumptions(file)) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str(&printed(context.output));
    out
}

/// Returns the steps thread by thread, with time going down, each with its objects, values and location.
/// Steps of a test's harness are omitted.
pub fn steps(file: &TraceFile, context: RunContext<'_>, terminal: Terminal) -> String {
    table(&Timeline::of(file), context.callers, &[], terminal)
}

/// Returns the output of a program, indented, below a blank line and a title; empty if there was none.
pub fn printed(output: &str) -> String {
    let mut out = String::new();
    if !output.is_empty() {
        out.push_str("\nIt printed:\n");
        for line in output.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// Returns a sentence about the minimization of the run; `None` if it was not minimized.
pub fn reduction(file: &TraceFile) -> Option<String> {
    let minimized = file.minimized?;
    let now = (file.switches(), file.steps.len() as u64);
    let (runs, threads) = (plural(minimized.executions, "run"), Names(file).nouns());
    if now.0 >= minimized.switches_before && now.1 >= minimized.steps_before {
        let switches = if now.0 == 1 { "1 switch".to_owned() } else { format!("{} switches", count(now.0)) };
        return Some(format!("It has {switches} between {threads}; {runs} found no smaller one."));
    }
    Some(format!(
        "Made smaller by {runs}: switches between {threads} {} -> {}, steps {} -> {}.",
        count(minimized.switches_before),
        count(now.0),
        count(minimized.steps_before),
        count(now.1)
    ))
}

#[cfg(test)]
mod tests;
