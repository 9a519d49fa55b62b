//! Words for operations, and what they did to locks.

use raddle_model::{Blocked, Kind, LocationId, ObjectId, Operation, ThreadId, TraceFile};

/// Who holds what the threads of a deadlock wait for, and where they took it; each hold once.
pub fn acquisitions(file: &TraceFile, blocked: &[Blocked]) -> Vec<(ThreadId, ObjectId, LocationId)> {
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
        match operation.kind {
            Kind::Lock
            | Kind::TryLock
            | Kind::ReadLock
            | Kind::WriteLock
            | Kind::ConditionReacquire
            | Kind::OnceBegin => taken = taken.or(Some(operation.location)),
            Kind::Unlock | Kind::ReadWriteUnlock | Kind::ConditionWait | Kind::OnceEnd => taken = None,
            _ => {}
        }
    }
    taken
}

/// What an operation of an Erlang program does, to what, and on which line. If it is one of a library, `caller` is the line of the program that it was
/// made for, or nothing.
pub fn act(file: &TraceFile, operation: &Operation, caller: &str) -> String {
    let name = |names: &[String], index: usize| names.get(index).map_or("?".to_owned(), Clone::clone);
    let mut objects: Vec<String> =
        operation.objects().map(|(object, _)| name(&file.objects, object.index())).collect();
    // What is touched besides says what the operation depends on, not what it does.
    objects.truncate(1);
    if matches!(operation.kind, Kind::Spawn | Kind::Yield) {
        objects.clear();
    }
    let gap = if objects.is_empty() { "" } else { " " };
    let place = name(&file.locations, operation.location.index());
    // What is received there is told where somebody waits for it in vain.
    let place = place.rsplit_once(" at ").map_or(&place[..], |(_, place)| place);
    let place = if caller.is_empty() { place.to_owned() } else { format!("{caller} ({place})") };
    format!("{}{gap}{} at {place}", verb(operation.kind), objects.join(", "))
}

/// A kind of operation in a report, to be followed by its object.
pub fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::ReadModifyWrite => "update",
        Kind::Lock => "lock",
        Kind::TryLock => "try to lock",
        Kind::Unlock => "unlock",
        Kind::ReadLock => "lock for reading",
        Kind::WriteLock => "lock for writing",
        Kind::ReadWriteUnlock => "unlock",
        Kind::ConditionWait => "wait",
        Kind::ConditionReacquire => "lock again",
        Kind::Signal => "notify one",
        Kind::Broadcast => "notify all",
        Kind::SemaphoreWait => "acquire",
        Kind::SemaphoreTryWait => "try to acquire",
        Kind::SemaphorePost => "release",
        Kind::Barrier => "arrive",
        Kind::OnceBegin => "begin once",
        Kind::OnceEnd => "end once",
        Kind::Spawn => "spawn",
        Kind::Join => "join",
        Kind::Yield => "yield",
        Kind::Sleep => "sleep",
        Kind::Choose => "choose",
        Kind::Fence => "fence",
        Kind::Destroy => "destroy",
        Kind::Exit => "exit",
        Kind::TryReadLock => "try to lock for reading",
        Kind::TryWriteLock => "try to lock for writing",
        Kind::OnceTry => "look at once",
        Kind::Send => "send",
        Kind::TrySend => "try to send",
        Kind::SendEnd => "end send",
        Kind::ReceiveBegin => "begin receive",
        Kind::Receive => "receive",
        Kind::TryReceive => "try to receive",
        Kind::Close => "close",
        Kind::Park => "park",
        Kind::Unpark => "unpark",
        Kind::Downgrade => "downgrade",
        Kind::OnceWait => "wait for once",
        _ => "step",
    }
}
