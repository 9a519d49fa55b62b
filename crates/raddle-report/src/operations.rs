//! Words for operations, and what they did to locks.

use raddle_model::{Blocked, Holding, Kind, LocationId, Notifies, ObjectId, ThreadId, TraceFile};

/// Who holds what the threads of a deadlock wait for, and where they took it; each hold once.
pub(crate) fn acquisitions(file: &TraceFile, blocked: &[Blocked]) -> Vec<(ThreadId, ObjectId, LocationId)> {
    let mut found: Vec<(ThreadId, ObjectId, LocationId)> = Vec::new();
    for entry in blocked {
        let Some(object) = entry.object else { continue };
        for &holder in &entry.held_by {
            let told = found.iter().any(|&(thread, held, _)| (thread, held) == (holder, object));
            if let Some(location) = taken_at(file, holder, object).filter(|_| !told) {
                found.push((holder, object, location));
            }
        }
    }
    found
}

/// Where `thread` took `object`, which it holds at the end of the run: its first acquisition since it last let go.
fn taken_at(file: &TraceFile, thread: ThreadId, object: ObjectId) -> Option<LocationId> {
    let mut taken = None;
    let own = file.steps.iter().filter(|step| step.thread == thread.0);
    for operation in own.map(|step| &step.operation) {
        if !operation.objects().any(|(touched, _)| touched == object) {
            continue;
        }
        match operation.kind.info().holding {
            Holding::Takes(_) | Holding::Tries(_) | Holding::TakesBack | Holding::BeginsOnce => {
                taken = taken.or(Some(operation.location));
            }
            Holding::GivesBack | Holding::GivesBackToWait | Holding::EndsOnce => taken = None,
            Holding::None | Holding::Downgrades | Holding::AwaitsOnce => {}
        }
    }
    taken
}

/// A kind of operation in a report, to be followed by its object.
pub fn verb(kind: Kind) -> &'static str {
    kind.info().verb
}

/// Returns the text of a decision that the strategy made for a step: value number `value`, from 0, of `arity`.
pub(crate) fn answer(kind: Kind, arity: u32, value: u32) -> String {
    if kind == Kind::Choose {
        return value.to_string();
    }
    let among = if kind.info().notifies == Notifies::One { "waiter" } else { "choice" };
    format!("{among} {} of {arity}", value + 1)
}
