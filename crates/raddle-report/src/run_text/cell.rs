//! One step as text.

use super::Terminal;
use super::names::Names;
use super::steps::plain;
use crate::events::{DisplayEvent, Place, Timeline};
use crate::operations::{verb, without_all_files};
use raddle_model::{Operation, SEQUENTIAL_ORDER, TraceFile};
use std::fmt::Write;

/// Returns a step with its location and the locks that its thread holds after it. `caller` is the calling
/// line of a library operation, or empty.
pub(super) fn cell(
    run: &Timeline,
    event: &DisplayEvent,
    caller: &str,
    held: &[u32],
    terminal: Terminal,
) -> String {
    let mut text = if terminal.full { run.statement(event) } else { run.brief_statement(event) };
    if let Some(place) = run.place(event).filter(|place| !place.text.is_empty()) {
        text = match place.statement {
            Some(_) => format!("{}: {text}", place.lines(terminal.all_frames)),
            None => located(&text, place, event.is_at_lock, caller, terminal),
        };
    }
    if !event.executed {
        text = format!("waits: {text}");
    }
    if !held.is_empty() && event.executed {
        let name = |&object: &u32| {
            if terminal.full { run.short_object(object) } else { run.brief_object(object) }
        };
        let names: Vec<String> = held.iter().map(name).collect();
        let _ = write!(text, " [{}]", names.join(", "));
    }
    plain(&text)
}

fn located(text: &str, place: &Place, is_at_lock: bool, caller: &str, terminal: Terminal) -> String {
    let (at, mut lines) = (if is_at_lock { ", locked at" } else { " at" }, place.lines(terminal.all_frames));
    if let Some(called) = place.called().filter(|_| terminal.full) {
        lines = format!("{lines} in {called}");
    }
    if !caller.is_empty() && !terminal.all_frames && !terminal.full {
        return format!("{text}{at} {caller}");
    }
    if caller.is_empty() { format!("{text}{at} {lines}") } else { format!("{text}{at} {caller} ({lines})") }
}

/// Returns an operation that need not be a step of the run, with its objects and its location.
pub fn statement(file: &TraceFile, operation: &Operation) -> String {
    let names = Names(file);
    let mut objects: Vec<String> =
        operation.objects().map(|(object, _)| names.short_object(object)).collect();
    objects.retain(|name| name != SEQUENTIAL_ORDER);
    objects.dedup();
    without_all_files(&mut objects);
    let gap = if objects.is_empty() { "" } else { " " };
    let text = format!("{}{gap}{}", verb(operation.kind), objects.join(", "));
    located(&text, &Place::parse(&names.location(operation.location)), false, "", Terminal::default())
}
