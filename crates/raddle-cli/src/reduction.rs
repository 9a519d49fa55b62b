//! Says how a failing run was reduced.

use raddle_model::TraceFile;
use raddle_report::text;
use std::fmt::Write;

/// Says how a run became smaller, if it did.
pub(crate) fn tell(out: &mut String, file: &TraceFile) {
    let Some(minimized) = file.minimized else { return };
    let now = (file.switches(), file.steps.len() as u64);
    let threads = match file.front_end.thread_noun() {
        "process" => "processes",
        _ => "threads",
    };
    if now == (minimized.switches_before, minimized.steps_before) {
        let runs = text::plural(minimized.executions, "run");
        let switches = if now.0 == 1 { "1 switch" } else { &format!("{} switches", text::count(now.0)) };
        let _ = writeln!(out, "It has {switches} between {threads}; {runs} found no smaller one.");
        return;
    }
    let _ = writeln!(
        out,
        "Made smaller by {}: switches between {threads} {} -> {}, steps {} -> {}.",
        text::plural(minimized.executions, "run"),
        text::count(minimized.switches_before),
        text::count(now.0),
        text::count(minimized.steps_before),
        text::count(now.1)
    );
}
