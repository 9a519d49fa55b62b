//! One run as text, for every front end: its steps thread by thread, the failure, and the output of the
//! program.
//!
//! The text is based on the events of a [`TraceFile`] and on data that only the front end has, a
//! [`RunContext`]. If runs of two front ends are displayed differently, that follows from their events: a
//! step with a statement is displayed as the statement, other steps with a verb, objects and a location.

mod assumptions;
pub(crate) mod brief;
mod cell;
mod columns;
pub(crate) mod names;
mod picture;
mod relevant;
mod steps;
mod verdict;
mod wait_for;

pub use assumptions::assumptions;
pub use cell::statement;
pub use verdict::{sentences, verdict};

pub(crate) use columns::columns;
pub(crate) use relevant::relevant;
pub(crate) use steps::{plain, some_steps, table};
pub(crate) use wait_for::taken;

use crate::events::Timeline;
use crate::failure_report::FailureReport;
use crate::text::{count, plural};
use names::Names;
use raddle_model::TraceFile;
use std::fmt::Write;

/// The data of a run that is not in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunContext<'a> {
    /// The output of the program.
    pub output: &'a str,
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
    /// True if all steps are shown, with addresses.
    pub full: bool,
    /// True if functions of libraries are shown.
    pub all_frames: bool,
    /// The way to see the hidden steps.
    pub hint: &'static str,
}

/// The [`Terminal::hint`] of commands that have this option.
const OPTION: &str = "--full";

/// The [`Terminal::hint`] where there are no options.
pub const REPORT: &str = "`raddle report FILE --full` shows them";

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal {
            width: 100,
            colours: false,
            around: 2,
            most: 40,
            full: false,
            all_frames: false,
            hint: OPTION,
        }
    }
}

impl Terminal {
    /// Returns the default with lines of `width` columns.
    pub fn of_width(width: usize) -> Terminal {
        Terminal { width, ..Terminal::default() }
    }
}

/// Returns the report of a run: what was wrong, why, the steps that matter, and what the program printed.
pub fn run(file: &TraceFile, context: RunContext<'_>, terminal: Terminal) -> String {
    let mut out = crate::format::text(&FailureReport::of(file), terminal);
    let assumptions = assumptions(file);
    if !assumptions.is_empty() {
        out.push('\n');
    }
    for line in assumptions {
        let _ = writeln!(out, "{line}");
    }
    let brief = if terminal.full { context.output.to_owned() } else { brief::output(file, context.output) };
    out.push_str(&printed(&brief));
    out
}

/// Returns all steps thread by thread, time going down, each with its objects, values and location. Steps of a test's harness
/// are left out.
pub fn steps(file: &TraceFile, terminal: Terminal) -> String {
    table(&Timeline::of(file), &file.details, &[], None, terminal)
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
