//! The wait-for graph at the end of a deadlock.

use super::names::Names;
use crate::operations::taken_at;
use raddle_model::{
    BlockReason, Blocked, Failure, Kind, MemoryOrder, ObjectId, Operation, ThreadId, TraceFile,
};

/// The state of a parked thread in Rust's standard library.
const PARKED: u64 = u32::MAX as u64;

/// A thread that waits at the end of a run.
pub(crate) struct Wait<'a> {
    pub(crate) entry: &'a Blocked,
    /// The object that it waits for: of a futex, the word that it looked at.
    pub(crate) object: Option<ObjectId>,
    /// The threads that it waits for, as far as they are known, each with the step by which it took the object.
    pub(crate) holders: Vec<(ThreadId, Option<usize>)>,
}

/// Returns the waits of a deadlock, without that of a test's harness.
pub(crate) fn waits(file: &TraceFile) -> Vec<Wait<'_>> {
    let Some(Failure::Deadlock { blocked, .. }) = file.verdict.failure() else { return Vec::new() };
    let own = blocked.iter().filter(|entry| Names(file).harness() != Some(entry.thread.0));
    own.map(|entry| {
        let changed = changer(file, blocked, entry);
        let object = changed.map(|(word, ..)| word).or(entry.object);
        let holders = match (&entry.held_by[..], changed) {
            ([], Some((_, thread, step))) => vec![(thread, Some(step))],
            (holders, _) => {
                let taken = |thread| taken_at(file, thread, entry.object?);
                holders.iter().map(|&thread| (thread, taken(thread))).collect()
            }
        };
        Wait { entry, object, holders }
    })
    .collect()
}

/// Returns the threads that wait for each other, each for the next, as indices of `waits`; nothing if there are none.
pub(crate) fn cycle(waits: &[Wait<'_>]) -> Vec<usize> {
    let next = |index: usize| {
        let holder = waits[index].holders.first()?.0;
        waits.iter().position(|wait| wait.entry.thread == holder)
    };
    for first in 0..waits.len() {
        let mut ring = vec![first];
        while let Some(index) = next(ring[ring.len() - 1]).filter(|_| ring.len() <= waits.len()) {
            if index == first {
                return ring;
            }
            ring.push(index);
        }
    }
    Vec::new()
}

/// Returns the word that a thread waits on by a futex, who changed it last and in which step, as far as instrumented code did: often
/// the thread that has the lock. Others that wait on the same word have at most marked it as contended.
pub(crate) fn changer(
    file: &TraceFile,
    blocked: &[Blocked],
    entry: &Blocked,
) -> Option<(ObjectId, ThreadId, usize)> {
    // A futex is looked at in the step before the wait, at the same location.
    let word = |entry: &Blocked| {
        let at = file.steps.iter().rposition(|step| step.thread == entry.thread.0)?;
        let look = file.steps[at].operation;
        let is_look =
            entry.reason == BlockReason::Park && look.kind == Kind::Read && look.location == entry.location;
        // The waiting thread has written that it is parked: the word is no lock.
        let is_parked = file.values.of(at).any(|(_, value)| value.read == Some(PARKED));
        (is_look && !is_parked).then_some(look.object()?)
    };
    let own = word(entry)?;
    let waits =
        |thread: u32| blocked.iter().any(|other| other.thread.0 == thread && word(other) == Some(own));
    let changes = |operation: &Operation| {
        operation.kind.writes_memory()
            && operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain)
            && operation.objects().any(|(object, _)| object == own)
    };
    let change = file.steps.iter().rposition(|step| changes(&step.operation) && !waits(step.thread))?;
    Some((own, ThreadId(file.steps[change].thread), change))
}

/// Returns the steps by which the threads that others wait for took what they hold.
pub(crate) fn taken(file: &TraceFile) -> Vec<usize> {
    waits(file).iter().flat_map(|wait| wait.holders.iter().filter_map(|&(_, step)| step)).collect()
}
