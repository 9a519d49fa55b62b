//! An explanation in the short form that a failure report begins with.

use crate::explain::{Explanation, Interruption};
use crate::sentence::{index, order, place_of, too_weak};
use crate::swap::Pair;
use raddle_model::{
    BlockReason, Blocked, Failure, Notifies, Reads, Reason, TraceFile, TraceStep, dependent, user_frame,
};

/// The most swapped pairs that are named.
const MOST: usize = 3;

/// Returns the reason why `run` fails, which `found` explains, or nothing if no order was found that matters.
pub fn reason(run: &TraceFile, found: &Explanation) -> Option<Reason> {
    let found = &without_panic_count(run, found);
    let repair = found.repair.as_ref().and_then(|repair| too_weak(run, found, repair));
    if let (Some(interruption), None) = (found.interruption, &repair) {
        return interrupted(run, found, interruption);
    }
    if found.swapped.is_empty() && found.constraints.is_empty() && !found.always && repair.is_none() {
        return None;
    }
    let step = |step: usize| index(run, &found.steps, step);
    let pair = |pair: &Pair| Some((step(pair.first)?, step(pair.second)?));
    let steps = |pairs: &[Pair]| pairs.iter().filter_map(pair).collect();
    let depth = if found.always { Some(0) } else { found.smallest.then_some(found.constraints.len() as u32) };
    Some(Reason {
        kind: if repair.is_some() { Some("memory order too weak".to_owned()) } else { kind(run, found) },
        why: repair.map_or_else(|| why(run, found), Vec::from),
        depth,
        swapped: steps(&found.swapped),
        sufficient: steps(&found.constraints),
    })
}

/// Returns the reason of a failure that an interruption causes: the lines of the user around it, and those that run there.
fn interrupted(run: &TraceFile, found: &Explanation, interruption: Interruption) -> Option<Reason> {
    let Interruption { before, after } = interruption;
    let has_place = |step: &usize| user_place(run, found, *step).is_some();
    let thread = |step: &usize| run.steps[*step].thread;
    let is_own = |step: &usize| thread(step) == thread(&before);
    let until: Vec<usize> = (0..=before).rev().filter(is_own).filter(has_place).collect();
    // Without the interruption, the thread goes on up to its next one.
    let own: Vec<usize> = (after..run.steps.len()).take_while(is_own).filter(has_place).collect();
    let mut others: Vec<usize> = (before + 1..after).filter(has_place).collect();
    let other = thread(others.first()?);
    others.retain(|step| thread(step) == other);
    let conflict = conflict(run, &others, &own);
    let (first, second) = conflict.or_else(|| Some((*others.first()?, *own.first()?)))?;
    // Lines that touch the same object say more than those of a runtime that polls a task.
    let is_there = |step: &&usize| conflict.is_none_or(|(first, _)| have_common(run, first, **step));
    let from = *until.iter().find(is_there).or(until.first())?;
    let (begin, end) = (*others.iter().find(is_there)?, *others.iter().rfind(is_there)?);
    let name = |thread: u32| run.threads.get(thread as usize).map_or("?", |name| name);
    let [from, to, begin, end] =
        [from, second, begin, end].map(|step| user_place(run, found, step).unwrap_or("?"));
    let (own, other) = (name(thread(&before)), name(other));
    let gap = if from == to { format!("at {from}") } else { format!("between {from} and {to}") };
    let meanwhile = if begin == end { format!("at {begin}") } else { format!("from {begin} to {end}") };
    let swapped = (first as u32, second as u32);
    Some(Reason {
        why: vec![
            format!("{own} was interrupted {gap}; meanwhile {other} ran {meanwhile}."),
            format!("If {own} goes on without this interruption, the run passes."),
        ],
        swapped: vec![swapped],
        ..Reason::default()
    })
}

/// Returns the first of `own` that depends on one of `others`, after the first of those.
fn conflict(run: &TraceFile, others: &[usize], own: &[usize]) -> Option<(usize, usize)> {
    let operation = |step: usize| &run.steps[step].operation;
    own.iter().find_map(|&own| {
        let depends = |other: &&usize| dependent(operation(**other), operation(own), Reads::Independent);
        Some((*others.iter().find(depends)?, own))
    })
}

/// Returns true if two steps touch a common object.
fn have_common(run: &TraceFile, one: usize, other: usize) -> bool {
    let objects = |step: usize| run.steps[step].operation.objects().map(|(object, _)| object);
    objects(one).any(|object| objects(other).any(|touched| touched == object))
}

/// Returns the user's line of a step, or nothing if a library took it by itself.
fn user_place<'a>(run: &'a TraceFile, found: &Explanation, step: usize) -> Option<&'a str> {
    let text = run.locations.get(run.steps[step].operation.location.index())?;
    let is_known = !run.details.caller(step).is_empty() || !user_frame(text).is_library();
    place_of(run, found, step).filter(|_| is_known)
}

/// Returns the explanation without pairs at the counter of panics in Rust's standard library, which differs because one of the runs
/// panics, unless there are no others.
fn without_panic_count(run: &TraceFile, found: &Explanation) -> Explanation {
    let is_counter = |step: usize| {
        let object = found.steps.get(step).and_then(|step| step.operation.object());
        let name = object.and_then(|object| run.objects.get(object.index()));
        name.is_some_and(|name| name.starts_with("std::panicking::panic_count::"))
    };
    let mut found = found.clone();
    let others = |pairs: &[Pair]| -> Vec<Pair> {
        pairs.iter().copied().filter(|pair| !is_counter(pair.first) && !is_counter(pair.second)).collect()
    };
    let swapped = others(&found.swapped);
    if !swapped.is_empty() {
        found.swapped = swapped;
    }
    found
}

fn why(run: &TraceFile, found: &Explanation) -> Vec<String> {
    let names = |pair: &Pair| {
        let later = &found.steps[pair.second];
        let thread = run.threads.get(later.thread as usize).map_or("?", |name| name);
        (thread.to_owned(), later.operation.kind.info().verb)
    };
    match &found.swapped[..] {
        // That nothing orders two accesses holds in every order.
        [] if found.always && matches!(run.verdict.failure(), Some(Failure::DataRace { .. })) => Vec::new(),
        [] if found.always => vec!["It fails in every order of operations that was tried.".to_owned()],
        [] => {
            let orders = found.constraints.iter().take(MOST).map(|&pair| order(run, found, pair));
            vec![format!("{}.", orders.collect::<Vec<_>>().join(", and "))]
        }
        [pair] => {
            let (thread, verb) = names(pair);
            let overwritten = overwrites(run, found, *pair).unwrap_or_default();
            vec![
                format!("{}{overwritten}.", order(run, found, *pair)),
                format!("If {thread}'s {verb} comes first, the run passes."),
            ]
        }
        pairs => {
            let orders = pairs.iter().take(MOST).map(|&pair| order(run, found, pair));
            let more = pairs.len().saturating_sub(MOST);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            vec![
                format!("{}{more}.", orders.collect::<Vec<_>>().join(", and ")),
                "In the other order, the run passes.".to_owned(),
            ]
        }
    }
}

/// Says that the earlier thread then changed what the later one of `pair` wrote, if that is part of the reason.
fn overwrites(run: &TraceFile, found: &Explanation, pair: Pair) -> Option<String> {
    let [first, second] = [pair.first, pair.second].map(|step| &found.steps[step]);
    if !second.operation.kind.writes_memory() {
        return None;
    }
    let next = found.constraints.iter().find(|next| next.first == pair.second)?;
    let third = &found.steps[next.second];
    let is_own = third.thread == first.thread && third.operation.kind.writes_memory();
    let is_same = third.operation.object() == second.operation.object();
    let place = place_of(run, found, next.second)?;
    (is_own && is_same).then(|| format!(", then overwrote it at {place}"))
}

/// Returns the kind of bug, if the orders that are sufficient tell it.
fn kind(run: &TraceFile, found: &Explanation) -> Option<String> {
    let kind = match run.verdict.failure()? {
        Failure::Deadlock { blocked, cycle } => {
            let of_cycle = blocked.iter().filter(|entry| cycle.contains(&entry.thread));
            let is_lock = |entry: &Blocked| {
                matches!(entry.reason, BlockReason::Mutex | BlockReason::ReadWriteLock | BlockReason::Park)
            };
            match cycle.len() {
                0 if blocked.iter().any(|entry| was_notified(run, entry)) => "lost wake-up",
                0 => return None,
                1 => "self-deadlock",
                _ if of_cycle.into_iter().all(is_lock) => "lock-order inversion",
                _ => return None,
            }
        }
        Failure::DataRace { .. } => "data race",
        _ => match found.idiom? {
            1 | 6 => "order violation",
            2 | 3 => "atomicity violation",
            _ => "atomicity violation on two objects",
        },
    };
    Some(kind.to_owned())
}

/// Returns true if the condition that a thread waits for was notified before it waited.
fn was_notified(run: &TraceFile, entry: &Blocked) -> bool {
    let notifies = |step: &TraceStep| {
        let kind = step.operation.kind;
        kind.info().notifies != Notifies::None && step.operation.object() == entry.object
    };
    entry.reason == BlockReason::Condition && run.steps.iter().any(notifies)
}
