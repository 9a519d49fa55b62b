//! The text of a run, the same for every front end.

use crate::harness_output::without_harness;
use crate::subject::Output;
use raddle_model::TraceFile;
use raddle_report::run_text::{self, RunContext, Terminal, reduction};
use std::fmt::Write;

/// Prints how a run was minimized, its steps, the failure, and the output of the program.
pub(crate) fn found(out: &mut String, file: &TraceFile, output: &Output, width: usize) {
    if let Some(sentence) = reduction(file) {
        let _ = writeln!(out, "{sentence}");
    }
    run(out, file, output, width);
}

/// Prints the steps of a run, the failure, and the output of the program.
pub(crate) fn run(out: &mut String, file: &TraceFile, output: &Output, width: usize) {
    let own = file.environment.test.as_ref().map(|test| without_harness(&output.printed, test));
    let context = RunContext { output: own.as_deref().unwrap_or(&output.printed), callers: &output.callers };
    out.push('\n');
    out.push_str(&run_text::run(file, context, Terminal::of_width(width)));
}
