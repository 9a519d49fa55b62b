//! A deadlock as a picture: the cycle, and who waits for what.

use super::names::{Names, place};
use super::verdict::waited_for;
use super::wait_for::{cycle, waits};
use raddle_model::{BlockReason, TraceFile};

/// Returns the wait-for cycle of a deadlock and a line for each thread that waits; nothing if the run did not end in one.
pub(crate) fn picture(file: &TraceFile) -> Vec<String> {
    let (names, waits) = (Names(file), waits(file));
    let label = |index: usize| {
        waits[index].object.map_or_else(|| "?".to_owned(), |object| names.brief_object(object))
    };
    let ring = cycle(&waits);
    let mut lines = Vec::new();
    if let Some(&first) = ring.first() {
        let thread = |index: usize| names.thread(waits[index].entry.thread);
        let arrows = ring.iter().map(|&index| format!("{} --{}--> ", thread(index), label(index)));
        lines.push(format!("  {}{}", arrows.collect::<String>(), thread(first)));
        lines.push(String::new());
    }
    // Those of the cycle come first, in its order.
    let rest = (0..waits.len()).filter(|index| !ring.contains(index));
    for index in ring.iter().copied().chain(rest) {
        let wait = &waits[index];
        let what = match (wait.entry.reason, wait.object) {
            (BlockReason::Park, Some(_)) if !wait.holders.is_empty() => label(index),
            _ => waited_for(&names, wait.entry, &|object| names.brief_object(object)),
        };
        // The user's line that called, if the step is in a library.
        let place = |step: usize, location| match file.details.caller(step) {
            "" => place(&names, location),
            caller => caller.to_owned(),
        };
        let at = place(file.steps.len() + position(file, wait.entry.thread.0), wait.entry.location);
        let holders = wait.holders.iter().filter_map(|&(thread, step)| {
            let took = place(step?, file.steps[step?].operation.location);
            Some(format!("{} took at {took}", names.thread(thread)))
        });
        let holders: Vec<String> = holders.collect();
        let held = if holders.is_empty() { String::new() } else { format!(", which {}", holders.join(", ")) };
        lines.push(format!("  {} waits at {at} for {what}{held}", names.thread(wait.entry.thread)));
    }
    lines
}

/// The position of a thread among all that wait.
fn position(file: &TraceFile, thread: u32) -> usize {
    let Some(raddle_model::Failure::Deadlock { blocked, .. }) = file.verdict.failure() else { return 0 };
    blocked.iter().position(|entry| entry.thread.0 == thread).unwrap_or(blocked.len())
}
