//! The waits of threads.

use super::edges::Orders;
use super::locks::{Hold, Locks};
use super::{DisplayEvent, Span, Timeline};
use raddle_model::{BlockReason, Failure, Holding, Kind, LockMode, TraceFile};
use std::collections::BTreeMap;

/// Follows the waits: a thread waits between its last step and the next one, as long as that one is not
/// enabled.
pub(super) fn follow(timeline: &Timeline, file: &TraceFile, locks: &Locks, orders: &Orders) -> Vec<Span> {
    let mut by_object: BTreeMap<u32, Vec<Hold>> = BTreeMap::new();
    for hold in &locks.holds {
        by_object.entry(hold.span.object.unwrap_or(u32::MAX)).or_default().push(*hold);
    }
    let mut waits = Vec::new();
    for (&(thread, from), &(condition, to)) in &orders.waiters {
        let to = to.unwrap_or(timeline.events.len() as u32);
        waits.push(Span { from, to, thread, object: Some(condition) });
    }
    for (thread, own) in orders.own.iter().enumerate() {
        let mut before = orders.made_at[thread];
        for &step in own {
            let event = &timeline.events[step as usize];
            between(before.unwrap_or(0), step, event, &by_object, orders, &mut waits);
            before = Some(step);
        }
    }
    for event in &timeline.events[timeline.executed..] {
        at_the_end(timeline, file, event, &by_object, orders, &mut waits);
    }
    waits.retain(|wait| wait.from < wait.to);
    waits.sort_unstable();
    waits
}

/// Adds the waits of a thread for its step `event`, since the step before it.
fn between(
    before: u32,
    step: u32,
    event: &DisplayEvent,
    holds: &BTreeMap<u32, Vec<Hold>>,
    orders: &Orders,
    waits: &mut Vec<Span>,
) {
    let Some(object) = event.operation.object().map(|object| object.0) else { return };
    let thread = event.thread;
    match event.operation.kind.info().holding {
        Holding::Takes(mode) => {
            while_held(before, step, thread, object, mode == LockMode::Shared, holds, waits);
        }
        Holding::BeginsOnce => while_held(before, step, thread, object, false, holds, waits),
        Holding::TakesBack => {
            // First it waits for a notification, then for the mutex.
            let woken = orders.waiters.get(&(thread, before)).and_then(|&(_, woken)| woken);
            let before = woken.unwrap_or(before);
            while_held(before, step, thread, object, false, holds, waits);
        }
        Holding::None if event.operation.kind == Kind::Join => {
            let target =
                orders.joined.get(&object).and_then(|&target| orders.own.get(target as usize)?.last());
            if let Some(&last) = target {
                waits.push(Span { from: before, to: last.min(step), thread, object: Some(object) });
            }
        }
        Holding::None | Holding::Tries(_) | Holding::GivesBack | Holding::GivesBackToWait => {}
        Holding::Downgrades | Holding::AwaitsOnce | Holding::EndsOnce => {}
    }
}

/// Returns one wait for a lock, from when another thread first held it to when it was last released. Short
/// times in between in which it was free are omitted: with many waiters there would be too many to read.
fn while_held(
    from: u32,
    to: u32,
    thread: u32,
    object: u32,
    is_reader: bool,
    holds: &BTreeMap<u32, Vec<Hold>>,
    waits: &mut Vec<Span>,
) {
    let Some(holds) = holds.get(&object) else { return };
    let end = holds.partition_point(|hold| hold.span.from < to);
    let overlapping = holds[..end].iter().rev().take_while(|hold| hold.span.to > from);
    let others = overlapping.filter(|hold| hold.span.thread != thread && !(is_reader && hold.is_shared));
    let whole = others.fold(None, |whole: Option<(u32, u32)>, hold| {
        let (first, last) = whole.unwrap_or((u32::MAX, 0));
        Some((first.min(hold.span.from.max(from)), last.max(hold.span.to.min(to))))
    });
    if let Some((from, to)) = whole {
        waits.push(Span { from, to, thread, object: Some(object) });
    }
}

/// Returns the wait in which the run ends. The awaited object has not changed since the last step that
/// touched it.
fn at_the_end(
    timeline: &Timeline,
    file: &TraceFile,
    event: &DisplayEvent,
    holds: &BTreeMap<u32, Vec<Hold>>,
    orders: &Orders,
    waits: &mut Vec<Span>,
) {
    let Some(Failure::Deadlock { blocked, .. }) = file.verdict.failure() else { return };
    let Some(entry) = blocked.iter().find(|entry| entry.thread.0 == event.thread) else { return };
    let (thread, end) = (event.thread, timeline.events.len() as u32);
    let own = orders.own.get(thread as usize).and_then(|own| own.last().copied());
    let own = own.or(orders.made_at.get(thread as usize).copied().flatten()).unwrap_or(0);
    let object = entry.object.map(|object| object.0);
    match (entry.reason, object) {
        // The queues of conditions already show it.
        (BlockReason::Condition, _)
            if orders.waiters.get(&(thread, own)).is_some_and(|wait| wait.1.is_none()) => {}
        (BlockReason::Mutex | BlockReason::ReadWriteLock, Some(object)) if holds.contains_key(&object) => {
            while_held(own, end, thread, object, false, holds, waits);
        }
        (BlockReason::Join | BlockReason::Barrier | BlockReason::Condition, object) => {
            waits.push(Span { from: own, to: end, thread, object });
        }
        (_, object) => {
            let touched = timeline.events[..timeline.executed]
                .iter()
                .rposition(|event| event.operation.objects().any(|(touched, _)| Some(touched.0) == object));
            let from = own.max(touched.map_or(0, |step| step as u32));
            waits.push(Span { from, to: end, thread, object });
        }
    }
}
