//! Texts of operations, and their effects on locks.

use raddle_model::native::ALL_FILES;
use raddle_model::{Blocked, Holding, Kind, LocationId, Notifies, ObjectId, ThreadId, TraceFile};

/// Returns the holders of the objects that the threads of a deadlock wait for, and where they acquired them;
/// each hold once.
pub(crate) fn acquisitions(file: &TraceFile, blocked: &[Blocked]) -> Vec<(ThreadId, ObjectId, LocationId)> {
    let mut found: Vec<(ThreadId, ObjectId, LocationId)> = Vec::new();
    for entry in blocked {
        let Some(object) = entry.object else { continue };
        for &holder in &entry.held_by {
            let known = found.iter().any(|&(thread, held, _)| (thread, held) == (holder, object));
            if let Some(step) = taken_at(file, holder, object).filter(|_| !known) {
                found.push((holder, object, file.steps[step].operation.location));
            }
        }
    }
    found
}

/// Returns the step by which `thread` acquired `object`, which it holds at the end of the run: its first acquisition
/// since its last release.
pub(crate) fn taken_at(file: &TraceFile, thread: ThreadId, object: ObjectId) -> Option<usize> {
    let mut taken = None;
    let own = file.steps.iter().enumerate().filter(|(_, step)| step.thread == thread.0);
    for (index, operation) in own.map(|(index, step)| (index, &step.operation)) {
        if !operation.objects().any(|(touched, _)| touched == object) {
            continue;
        }
        match operation.kind.info().holding {
            Holding::Takes(_) | Holding::Tries(_) | Holding::TakesBack | Holding::BeginsOnce => {
                taken = taken.or(Some(index));
            }
            Holding::GivesBack | Holding::GivesBackToWait | Holding::EndsOnce => taken = None,
            Holding::None | Holding::Downgrades | Holding::AwaitsOnce => {}
        }
    }
    taken
}

/// Removes the object that stands for all files, which a change of one file touches too.
pub(crate) fn without_all_files(objects: &mut Vec<String>) {
    if objects.len() > 1 {
        objects.retain(|name| name != ALL_FILES);
    }
}

/// Returns the verb of an operation, to be followed by its object.
pub fn verb(kind: Kind) -> &'static str {
    kind.info().verb
}

/// Returns the text of a decision that the strategy made for a step: value number `value`, from 0, of `arity`.
pub(crate) fn answer(kind: Kind, arity: u32, value: u32) -> String {
    if kind == Kind::Choose {
        return value.to_string();
    }
    if kind == Kind::Deliver {
        // Native programs deliver requests in one way or two, and what follows in three ways or four.
        let way = match (arity, value) {
            (_, 0) => "all",
            (2, _) => "refused",
            (_, 1) => "the first byte",
            (_, 2) => "all but the last byte",
            _ => "a reset instead",
        };
        return way.to_owned();
    }
    let among = if kind.info().notifies == Notifies::One { "waiter" } else { "choice" };
    format!("{among} {} of {arity}", value + 1)
}
