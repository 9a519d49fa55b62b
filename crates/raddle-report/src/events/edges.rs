//! The steps that enabled other steps, except for locks.

use super::{Edge, EdgeKind, Timeline};
use raddle_model::{
    BlockReason, Failure, FrontEnd, Handoff, Holding, Kind, MADE, Notifies, ObjectId, Token, TraceFile,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The known orderings of steps.
#[derive(Default)]
pub(super) struct Orders {
    pub(super) edges: Vec<Edge>,
    /// The waits for conditions, by thread and the step of the wait: the condition, and the step of the
    /// notification (or the one that ended the wait without one, or `None` if it never ended).
    pub(super) waiters: BTreeMap<(u32, u32), (u32, Option<u32>)>,
    /// The step that created each thread, if any.
    pub(super) made_at: Vec<Option<u32>>,
    /// The executed steps of each thread.
    pub(super) own: Vec<Vec<u32>>,
    /// The thread of an object of a join, if known.
    pub(super) joined: BTreeMap<u32, u32>,
}

pub(super) fn follow(timeline: &Timeline, file: &TraceFile) -> Orders {
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); timeline.threads.len()];
    for (step, event) in timeline.events[..timeline.executed].iter().enumerate() {
        if let Some(own) = own.get_mut(event.thread as usize) {
            own.push(step as u32);
        }
    }
    let is_beam = file.front_end == FrontEnd::Beam;
    let made_at = if is_beam { spawned_at(file, timeline) } else { made_at(timeline, &own) };
    let joined = joined(timeline, file, &own);
    let mut orders = Orders { made_at, joined, own, ..Orders::default() };
    threads(timeline, &mut orders);
    conditions(timeline, file, &mut orders);
    if is_beam {
        messages(timeline, &mut orders)
    } else {
        tokens(timeline, &mut orders)
    }
    orders
}

/// Returns the spawn steps. A spawn, or its delivery to another node, creates a process of an Erlang program;
/// timers and deliveries in between are not spawned.
fn spawned_at(file: &TraceFile, timeline: &Timeline) -> Vec<Option<u32>> {
    let made = file.parameters.iter().filter(|(name, _)| name == MADE).map(|&(_, step)| step);
    let made = made.chain(std::iter::repeat(0)).zip(&timeline.threads);
    let step = |(step, name): (i64, &String)| {
        let is_process = !name.starts_with("timer ") && !name.starts_with("delivery ");
        // A file may contain anything.
        let step = u32::try_from(step).ok()?.checked_sub(1)?;
        (is_process && (step as usize) < timeline.executed).then_some(step)
    };
    made.map(step).collect()
}

/// Adds the messages of an Erlang program: a message that was sent to a mailbox since its owner last read it
/// is there at the next read. A message that was there before the owner waited for it is taken without a
/// step; the next step of the owner is after that.
fn messages(timeline: &Timeline, orders: &mut Orders) {
    let mut there: BTreeMap<ObjectId, Vec<u32>> = BTreeMap::new();
    let mut owners: BTreeMap<ObjectId, u32> = BTreeMap::new();
    for (step, event) in timeline.events[..timeline.executed].iter().enumerate() {
        let Some(mailbox) = event.operation.object() else { continue };
        match event.operation.kind.info().handoff {
            Handoff::Gives(Token::Message) => there.entry(mailbox).or_default().push(step as u32),
            Handoff::Takes(Token::Message) => {
                owners.insert(mailbox, event.thread);
                let sent = there.remove(&mailbox).unwrap_or_default().into_iter();
                let edge = |from| Edge { from, to: step as u32, kind: EdgeKind::Send };
                orders.edges.extend(sent.map(edge));
            }
            Handoff::None | Handoff::Gives(_) | Handoff::Takes(_) => {}
        }
    }
    for (mailbox, sent) in there {
        let Some(own) = owners.get(&mailbox).and_then(|&owner| orders.own.get(owner as usize)) else {
            continue;
        };
        for from in sent {
            if let Some(&to) = own.get(own.partition_point(|&step| step <= from)) {
                orders.edges.push(Edge { from, to, kind: EdgeKind::Send });
            }
        }
    }
    let events = &timeline.events;
    orders.edges.retain(|edge| events[edge.from as usize].thread != events[edge.to as usize].thread);
}

/// Returns the creation steps. Threads are numbered in the order of creation, after those that exist from the
/// start.
fn made_at(timeline: &Timeline, own: &[Vec<u32>]) -> Vec<Option<u32>> {
    let executed = timeline.events[..timeline.executed].iter().enumerate();
    let spawns: Vec<u32> = executed
        .filter(|(_, event)| event.operation.kind == Kind::Spawn)
        .map(|(step, _)| step as u32)
        .collect();
    let first = timeline.threads.len().saturating_sub(spawns.len());
    let mut made: Vec<Option<u32>> = vec![None; first];
    made.extend(spawns.into_iter().map(Some));
    made.truncate(timeline.threads.len());
    // A thread that ran before that step was not created by it.
    for (made, own) in made.iter_mut().zip(own) {
        *made = made.filter(|made| own.first().is_none_or(|first| first > made));
    }
    made
}

/// Returns the joined threads. The verdict and the names show some; if only one thread has ended and was not
/// joined otherwise, it is that one.
fn joined(timeline: &Timeline, file: &TraceFile, own: &[Vec<u32>]) -> BTreeMap<u32, u32> {
    let mut joined: BTreeMap<u32, u32> = BTreeMap::new();
    if let Some(Failure::Deadlock { blocked, .. }) = file.verdict.failure() {
        for entry in blocked.iter().filter(|entry| entry.reason == BlockReason::Join) {
            if let (Some(ObjectId(object)), [target]) = (entry.object, &entry.held_by[..]) {
                joined.insert(object, target.0);
            }
        }
    }
    let joins = timeline.events[..timeline.executed].iter().enumerate();
    let joins: Vec<(u32, u32, u32)> = joins
        .filter(|(_, event)| event.operation.kind == Kind::Join)
        .filter_map(|(step, event)| Some((step as u32, event.thread, event.operation.object()?.0)))
        .collect();
    for &(_, _, object) in &joins {
        let name = timeline.object(object);
        let name =
            name.strip_prefix("thread ").filter(|_| !timeline.threads.contains(&name)).unwrap_or(&name);
        let mut same = timeline.threads.iter().enumerate().filter(|(_, thread)| *thread == name);
        if let (Some((thread, _)), None) = (same.next(), same.next()) {
            joined.entry(object).or_insert(thread as u32);
        }
    }
    for &(step, joiner, object) in
        joins.iter().filter(|(_, _, object)| !joined.contains_key(object)).collect::<Vec<_>>()
    {
        let taken: BTreeSet<u32> = joined.values().copied().collect();
        let ended = own.iter().enumerate().filter(|(_, own)| own.last().is_some_and(|&last| last < step));
        let mut ended = ended
            .map(|(thread, _)| thread as u32)
            .filter(|thread| *thread != joiner && !taken.contains(thread));
        if let (Some(thread), None) = (ended.next(), ended.next()) {
            joined.insert(object, thread);
        }
    }
    joined
}

fn threads(timeline: &Timeline, orders: &mut Orders) {
    for (made, own) in orders.made_at.iter().zip(&orders.own) {
        if let (&Some(from), Some(&to)) = (made, own.first()) {
            orders.edges.push(Edge { from, to, kind: EdgeKind::Spawn });
        }
    }
    for (step, event) in timeline.events[..timeline.executed].iter().enumerate() {
        let object = event.operation.object().filter(|_| event.operation.kind == Kind::Join);
        let target = object.and_then(|object| orders.joined.get(&object.0));
        let last = target.and_then(|&target| orders.own.get(target as usize)?.last());
        // A join with a time limit may have ended before.
        if let Some(&from) = last.filter(|&&last| (last as usize) < step) {
            orders.edges.push(Edge { from, to: step as u32, kind: EdgeKind::Join });
        }
    }
}

/// Follows condition variables. Waiters form a queue, and a signal names the one it wakes.
fn conditions(timeline: &Timeline, file: &TraceFile, orders: &mut Orders) {
    let mut queues: BTreeMap<u32, VecDeque<(u32, u32)>> = BTreeMap::new();
    let mut woken: BTreeMap<u32, u32> = BTreeMap::new();
    let mut picks = file.picks.iter().peekable();
    for (step, event) in timeline.events[..timeline.executed].iter().enumerate() {
        let mut pick = 0;
        while let Some(&&(_, _, value)) = picks.peek().filter(|&&&(at, ..)| at as usize <= step) {
            pick = value as usize;
            picks.next();
        }
        let step = step as u32;
        let Some(ObjectId(object)) = event.operation.object() else { continue };
        let info = event.operation.kind.info();
        if info.notifies != Notifies::None {
            let queue = queues.entry(object).or_default();
            let wakes = if info.notifies == Notifies::One { pick..pick + 1 } else { 0..queue.len() };
            for (thread, since) in queue.drain(wakes.start.min(queue.len())..wakes.end.min(queue.len())) {
                woken.insert(thread, step);
                orders.waiters.insert((thread, since), (object, Some(step)));
            }
        }
        match info.holding {
            Holding::GivesBackToWait => queues.entry(object).or_default().push_back((event.thread, step)),
            Holding::TakesBack => match woken.remove(&event.thread) {
                Some(from) => orders.edges.push(Edge { from, to: step, kind: EdgeKind::Signal }),
                // It was not woken: it timed out.
                None => queues.iter_mut().for_each(|(&condition, queue)| {
                    if let Some(index) = queue.iter().position(|(thread, _)| *thread == event.thread) {
                        let since = queue.remove(index).map_or(step, |(_, since)| since);
                        orders.waiters.insert((event.thread, since), (condition, Some(step)));
                    }
                }),
            },
            Holding::None
            | Holding::Takes(_)
            | Holding::Tries(_)
            | Holding::GivesBack
            | Holding::Downgrades => {}
            Holding::BeginsOnce | Holding::AwaitsOnce | Holding::EndsOnce => {}
        }
    }
    for (condition, queue) in queues {
        orders.waiters.extend(queue.into_iter().map(|waiter| (waiter, (condition, None))));
    }
}

/// Follows semaphores, channels and tokens: a put enables a take. The matching put is known only for
/// channels; for the others it is the latest. Attempts on a channel may have failed, so nothing is recorded
/// for it.
fn tokens(timeline: &Timeline, orders: &mut Orders) {
    let executed = &timeline.events[..timeline.executed];
    let tried = executed.iter().filter(|event| {
        let info = event.operation.kind.info();
        info.attempt
            && matches!(info.handoff, Handoff::Gives(Token::Message) | Handoff::Takes(Token::Message))
    });
    let tried: BTreeSet<ObjectId> = tried.filter_map(|event| event.operation.object()).collect();
    let mut there: BTreeMap<ObjectId, VecDeque<u32>> = BTreeMap::new();
    for (step, event) in executed.iter().enumerate() {
        let Some(object) = event.operation.object().filter(|object| !tried.contains(object)) else {
            continue;
        };
        let tokens = there.entry(object).or_default();
        let info = event.operation.kind.info();
        let (from, kind) = match info.handoff {
            Handoff::Gives(Token::Permit | Token::Message) => {
                tokens.push_back(step as u32);
                continue;
            }
            Handoff::Gives(Token::Wakeup) => {
                *tokens = VecDeque::from([step as u32]);
                continue;
            }
            // It may have failed.
            Handoff::Takes(_) if info.attempt => continue,
            Handoff::Takes(Token::Permit) => (tokens.pop_back(), EdgeKind::Post),
            Handoff::Takes(Token::Message) => (tokens.pop_front(), EdgeKind::Send),
            Handoff::Takes(Token::Wakeup) => (tokens.pop_back(), EdgeKind::Unpark),
            Handoff::None
            | Handoff::Gives(Token::Initialisation | Token::Closing)
            | Handoff::Takes(Token::Initialisation | Token::Closing) => continue,
        };
        if let Some(from) = from.filter(|&from| executed[from as usize].thread != event.thread) {
            orders.edges.push(Edge { from, to: step as u32, kind });
        }
    }
}
