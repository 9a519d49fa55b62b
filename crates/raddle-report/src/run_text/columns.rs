//! The steps that matter, a column for each thread.

use super::Terminal;
use super::steps::{colour, mark, plain};
use crate::events::{DisplayEvent, Timeline};
use crate::failure_report::ConflictPair;
use crate::table::length;
use raddle_model::Details;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The gap between a statement and its place, and between threads.
const GAP: usize = 2;

/// Returns the `steps` of a run with their numbers. Those of `pairs` are marked.
pub(crate) fn columns(
    run: &Timeline,
    details: &Details,
    pairs: &[ConflictPair],
    steps: &[usize],
    terminal: Terminal,
) -> String {
    let cells: BTreeMap<usize, [String; 2]> =
        steps.iter().map(|&step| (step, cell(run, details, step, terminal))).collect();
    let mut widths: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
    for (&step, cell) in &cells {
        let widths = widths.entry(run.events[step].thread).or_default();
        *widths = [0, 1].map(|part| widths[part].max(length(&cell[part])));
    }
    let title = |thread: u32| {
        let start = details.starts.get(thread as usize).map_or("", |start| &start[..]);
        let name = run.thread(thread);
        plain(&if start.is_empty() || start == name { name } else { format!("{name} {start}") })
    };
    let number = run.executed.to_string().len().max(3);
    let width = |(thread, [statement, place]): (&u32, &[usize; 2])| {
        (*thread, (statement + GAP + place).max(length(&title(*thread))) + GAP)
    };
    let widths_beside: BTreeMap<u32, usize> = widths.iter().map(width).collect();
    let beside = widths_beside.values().sum::<usize>() + number + GAP <= terminal.width;
    let names = widths.keys().map(|&thread| length(&title(thread))).max().unwrap_or(0);
    let statements = widths.values().map(|widths| widths[0]).max().unwrap_or(0);
    let mut out = String::new();
    if beside {
        let mut line = " ".repeat(number + GAP);
        let mut missing = 0;
        for (&thread, &width) in &widths_beside {
            let title = title(thread);
            let _ = write!(line, "{}{}", " ".repeat(missing), colour(&title, thread, terminal));
            missing = width - length(&title);
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for (&step, [statement, place]) in &cells {
        let event = &run.events[step];
        let at = if event.executed { (step + 1).to_string() } else { String::new() };
        let _ = write!(out, "{at:>number$}{} ", mark(pairs, step));
        let (indent, room) = if beside {
            let before: usize = widths_beside.range(..event.thread).map(|(_, width)| width).sum();
            (" ".repeat(before), widths[&event.thread][0])
        } else {
            (format!("{}  ", pad(&title(event.thread), names)), statements)
        };
        let text = format!("{}  {place}", pad(statement, room));
        let _ = writeln!(out, "{indent}{}", colour(text.trim_end(), event.thread, terminal));
    }
    out
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(length(text))))
}

/// A step, and its place.
fn cell(run: &Timeline, details: &Details, step: usize, terminal: Terminal) -> [String; 2] {
    let event: &DisplayEvent = &run.events[step];
    let mut text = run.brief_statement(event);
    if !event.executed {
        text = format!("waits: {text}");
    }
    let place = run.place(event).map_or_else(String::new, |place| {
        let caller = details.caller(step);
        match place.lines(terminal.all_frames) {
            _ if place.text.is_empty() => String::new(),
            _ if !caller.is_empty() && !terminal.all_frames => caller.to_owned(),
            lines if !caller.is_empty() => format!("{caller} ({lines})"),
            // The innermost line of the user says enough.
            lines if terminal.all_frames => lines,
            lines => lines.split(" < ").next().unwrap_or_default().to_owned(),
        }
    });
    [plain(&text), plain(&place)]
}
