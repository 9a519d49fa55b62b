//! Failure reports for a person, the same for every front end.

use crate::args::{FramesArg, ShowArgs};
use raddle_cargo::without_harness;
use raddle_launch::Output;
use raddle_model::TraceFile;
use raddle_report::run_text::{self, RunContext, Terminal};
use std::fmt::Write;

/// Returns the terminal for which a report is printed.
pub(crate) fn terminal(args: ShowArgs, width: usize) -> Terminal {
    Terminal { full: args.full, all_frames: args.frames == FramesArg::All, ..Terminal::of_width(width) }
}

/// Prints the first line of a report: the name of what failed, and how it was found.
pub(crate) fn head(out: &mut String, name: &str, found: &str, width: usize) {
    let line = format!("FAIL  {name}");
    let gap = width.saturating_sub(line.chars().count() + found.chars().count()).max(2);
    let _ = writeln!(out, "{line}{}{found}", " ".repeat(gap));
}

/// Prints the report of a run: what was wrong, why, the steps that matter, and what the program printed.
pub(crate) fn run(out: &mut String, file: &TraceFile, output: &Output, terminal: Terminal) {
    let own = file.environment.test.as_ref().map(|test| without_harness(&output.printed, test));
    let context = RunContext { output: own.as_deref().unwrap_or(&output.printed) };
    out.push_str(&run_text::run(file, context, terminal));
}

/// Prints the commands that continue with a failure file.
pub(crate) fn commands(out: &mut String, path: &str) {
    let path = quoted(path);
    let _ = writeln!(out, "replay: raddle replay {path}");
    let _ = writeln!(out, "page:   raddle report {path} -o bug.html");
}

/// A word as the shell wants it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
