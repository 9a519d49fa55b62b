//! The freedoms of an implementation that a run uses: behavior that the documentation of the program's
//! language or library allows, and a given machine may hardly ever show.

use super::names::Names;
use crate::events::Place;
use crate::old_values;
use raddle_model::{FrontEnd, Kind, LocationId, Operation, ThreadId, TraceFile};

/// The maximum number of locations of time-outs.
const MOST: usize = 3;

/// Returns a sentence for each freedom that the run of `file` uses.
pub fn assumptions(file: &TraceFile) -> Vec<String> {
    let names = Names(file);
    let mut lines = Vec::new();
    for &(step, _, value) in &file.picks {
        let Some(step) = file.steps.get(step as usize).filter(|_| value == 1) else { continue };
        let (thread, place) = (names.thread(ThreadId(step.thread)), names.location(step.operation.location));
        if step.operation.kind == Kind::ParkBegin {
            lines.push(format!(
                "This run assumes a spurious wake-up: `park` of {thread} returned without `unpark`; {place}"
            ));
        }
        if step.operation.kind == Kind::ReadLockAgain && is_last(file, step.thread, &step.operation) {
            lines.push(format!(
                "This run assumes that {thread}, which reads already, waits behind a writer where it locks again for reading; {place}"
            ));
        }
    }
    lines.extend(memory(file));
    if file.settings.timeouts_anytime {
        lines.extend(time(file));
    }
    lines
}

/// Returns true if `operation` is the last one that `thread` executed.
fn is_last(file: &TraceFile, thread: u32, operation: &Operation) -> bool {
    let last = file.steps.iter().rfind(|step| step.thread == thread);
    last.is_some_and(|step| step.operation == *operation)
}

/// Returns the sentence about old values, if the run reads any.
fn memory(file: &TraceFile) -> Option<String> {
    (!old_values::notes(file).is_empty()).then(|| {
        let mut text =
            "This run assumes weak memory: the orders of its atomic accesses and fences allow the old values that it reads"
                .to_owned();
        if file.front_end == FrontEnd::Rust {
            text.push_str(
                ". The count of std's Arc is not under control: if only the count forbids an old value, as in a destructor of \
                 the last owner, use raddle::loom::sync::Arc",
            );
        }
        text
    })
}

/// Returns the sentence about time, if the run has waits with a time limit.
fn time(file: &TraceFile) -> Option<String> {
    let names = Names(file);
    let mut waits: Vec<(u32, LocationId)> = Vec::new();
    for step in &file.steps {
        let operation = &step.operation;
        let wait = (step.thread, operation.location);
        let timed = operation.kind.info().timed && operation.argument != Operation::UNTIMED;
        if timed && !waits.contains(&wait) {
            waits.push(wait);
        }
    }
    let shown: Vec<String> = waits
        .iter()
        .take(MOST)
        .map(|&(thread, location)| {
            let place = Place::parse(&names.location(location));
            format!("{} at {}", names.thread(ThreadId(thread)), place.lines(false))
        })
        .collect();
    let more = waits.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| {
        format!(
            "This run assumes that time limits can end while other {} could run, which are slow then: {}{more}",
            names.nouns(),
            shown.join(", ")
        )
    })
}
