//! A run of a pthreads program for a person.

use super::places;
use raddle_model::{BlockReason, Blocked, Failure, Kind, MemoryOrder, ThreadId, TraceFile};
use raddle_report::{Layout, acquisitions, sentences, steps, touched, verb};
use std::fmt::Write;

/// The run: its steps, what was wrong, and what the program printed.
pub(crate) fn show(out: &mut String, file: &TraceFile, output: &str, width: usize) {
    out.push('\n');
    let layout = Layout { width, ..Layout::default() };
    out.push_str(&steps(file, layout, &|step| statement(file, step)));
    out.push('\n');
    for line in message(file) {
        let _ = writeln!(out, "{line}");
    }
    let own =
        file.surroundings.test.as_ref().map(|test| crate::harness_output::without_harness(output, test));
    printed(out, own.as_deref().unwrap_or(output));
}

/// What a program printed, if it did.
pub(crate) fn printed(out: &mut String, output: &str) {
    if !output.is_empty() {
        out.push_str("\nIt printed:\n");
        for line in output.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// What was wrong, and for a deadlock where each lock was taken: a line each.
pub(crate) fn message(file: &TraceFile) -> Vec<String> {
    let mut lines = sentences(file);
    if let Some(Failure::Deadlock { blocked, .. }) = file.verdict.failure() {
        for (holder, object, location) in acquisitions(file, blocked) {
            let thread = name(&file.threads, holder.index());
            let (object, place) =
                (name(&file.objects, object.index()), name(&file.locations, location.index()));
            lines.push(format!("  {thread} took {object}; {place}"));
        }
        lines.extend(blocked.iter().filter_map(|entry| changer(file, blocked, entry)));
    }
    lines
}

/// Who has changed the word last that a thread waits on by a futex, as far as instrumented code did: often whoever has the
/// lock. Others that wait on the same word have at most said so in it.
fn changer(file: &TraceFile, blocked: &[Blocked], entry: &Blocked) -> Option<String> {
    if entry.reason != BlockReason::Park {
        return None;
    }
    // A futex is looked at in the step before the wait, at the same place.
    let word = |thread: ThreadId| {
        let look = file.steps.iter().rfind(|step| step.thread == thread.0)?;
        (look.operation.kind == Kind::Read).then_some(look.operation.object()?)
    };
    let own = word(entry.thread)?;
    let waits =
        |thread: u32| blocked.iter().any(|other| other.thread.0 == thread && word(other.thread) == Some(own));
    let change = file.steps.iter().rfind(|step| {
        step.operation.kind.writes_memory()
            && step.operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain)
            && step.operation.objects().any(|(object, _)| object == own)
            && !waits(step.thread)
    })?;
    let (thread, by) =
        (name(&file.threads, entry.thread.index()), name(&file.threads, change.thread as usize));
    let place = name(&file.locations, change.operation.location.index());
    Some(format!("  what {thread} waits on was last changed by {by}; {place}"))
}

/// What a step does, to what, with which values, and on which line.
fn statement(file: &TraceFile, step: usize) -> String {
    let operation = &file.steps[step].operation;
    let objects = touched(file, step).join(", ");
    let gap = if objects.is_empty() { "" } else { " " };
    let place = places::lines(name(&file.locations, operation.location.index()));
    format!("{}{gap}{objects} at {place}", verb(operation.kind))
}

/// A damaged file may lack a name.
fn name(names: &[String], index: usize) -> &str {
    names.get(index).map_or("?", |name| name)
}
