//! The steps of a failing run that matter for the failure.

use crate::events::Timeline;
use crate::failure_report::ConflictPair;
use raddle_model::{Holding, ObjectId, TextFrame, frames, is_standard};
use std::collections::{BTreeMap, BTreeSet};

/// With more steps on the objects that matter, only those of the pairs are shown.
const MOST: usize = 30;

/// Returns the steps that matter, or nothing if it is not known which do: those of `pairs`, what their threads did to the same
/// objects, what the threads of a deadlock wait for, and where it was taken.
pub(crate) fn relevant(run: &Timeline, pairs: &[ConflictPair]) -> Option<BTreeSet<usize>> {
    let marked: BTreeSet<usize> =
        pairs.iter().flat_map(|pair| [pair.first as usize, pair.second as usize]).collect();
    let mut steps: BTreeSet<usize> = marked.iter().copied().filter(|&step| step < run.events.len()).collect();
    let threads: BTreeSet<u32> = steps.iter().map(|&step| run.events[step].thread).collect();
    let mut objects: BTreeSet<ObjectId> = BTreeSet::new();
    for pair in pairs {
        let of = |step: u32| run.events.get(step as usize).map(|event| event.operation.objects());
        let (Some(first), Some(second)) = (of(pair.first), of(pair.second)) else { continue };
        let second: BTreeSet<ObjectId> = second.map(|(object, _)| object).collect();
        objects.extend(first.map(|(object, _)| object).filter(|object| second.contains(object)));
    }
    let touches = |step: &usize| {
        let event = &run.events[*step];
        threads.contains(&event.thread)
            && event.operation.objects().any(|(object, _)| objects.contains(&object))
    };
    let around: Vec<usize> = (0..run.executed).filter(touches).collect();
    if around.len() <= MOST {
        steps.extend(around);
    }
    // An interruption has no object of its own.
    if objects.is_empty() && !pairs.is_empty() {
        steps.extend(shared(run, &threads));
    }
    // What a thread did while it held a lock that matters is what the lock is for.
    let taken = run.holds.iter().filter(|hold| steps.contains(&(hold.from as usize)));
    let inside = taken.flat_map(|hold| {
        let end = (hold.to as usize).min(run.executed);
        (hold.from as usize + 1..end).filter(|&step| run.events[step].thread == hold.thread)
    });
    let inside: Vec<usize> =
        inside.filter(|&step| run.events[step].operation.kind.accesses_memory()).collect();
    if steps.len() + inside.len() <= MOST {
        steps.extend(inside);
    }
    // An old value that was read explains what could not happen under sequential consistency.
    let noted = (0..run.executed).filter(|&step| run.events[step].note.is_some()).take(MOST);
    steps.extend(noted);
    // The access that fails is the last step.
    if !pairs.is_empty() && matches!(run.failure, Some("use-after-free" | "signal")) {
        steps.extend(run.executed.checked_sub(1));
    }
    let waiting = run.executed..run.events.len();
    let is_blocked = |thread: u32| run.events[waiting.clone()].iter().any(|event| event.thread == thread);
    let end = run.events.len() as u32;
    for hold in run.holds.iter().filter(|hold| hold.to == end && is_blocked(hold.thread)) {
        steps.insert(hold.from as usize);
    }
    if pairs.is_empty() {
        steps.extend(latest_on_waited(run));
    }
    // What was taken and given back in between does not matter.
    steps.retain(|step| {
        run.events[*step].operation.kind.info().holding != Holding::GivesBack || marked.contains(step)
    });
    steps.extend(waiting.filter(|&step| Some(run.events[step].thread) != run.harness));
    (!steps.is_empty() && (!pairs.is_empty() || run.failure == Some("deadlock"))).then_some(steps)
}

/// Returns what the code of the user itself, and not a library, did to memory that several of `threads` touch and one writes.
fn shared(run: &Timeline, threads: &BTreeSet<u32>) -> Vec<usize> {
    let is_of_the_user = |step: &usize| {
        let Some(place) = run.place(&run.events[*step]) else { return false };
        let mut inside = frames(&place.text).take_while(TextFrame::is_library);
        !place.is_library() && inside.all(|frame| frame.file.is_some_and(is_standard))
    };
    let is_counter = |object: ObjectId| {
        let name = run.object(object.0);
        [".strong", ".weak", "std::"].iter().any(|part| name.contains(part))
    };
    let own: Vec<usize> = (0..run.executed)
        .filter(|&step| threads.contains(&run.events[step].thread) && is_of_the_user(&step))
        .collect();
    let mut touched: BTreeMap<ObjectId, (BTreeSet<u32>, bool)> = BTreeMap::new();
    for event in own.iter().map(|&step| &run.events[step]) {
        for (object, writes) in event.operation.objects() {
            let (threads, is_written) = touched.entry(object).or_default();
            threads.insert(event.thread);
            *is_written |= writes;
        }
    }
    touched.retain(|&object, (threads, is_written)| threads.len() > 1 && *is_written && !is_counter(object));
    let is_shared =
        |step: &usize| run.events[*step].operation.objects().any(|(object, _)| touched.contains_key(&object));
    let shared: Vec<usize> = own.into_iter().filter(is_shared).collect();
    if shared.len() <= MOST { shared } else { Vec::new() }
}

/// Returns the latest steps on the objects that threads of a deadlock wait for, apart from those that only give back.
fn latest_on_waited(run: &Timeline) -> Vec<usize> {
    const MOST: usize = 10;
    let waits = run.events[run.executed..].iter().filter(|event| Some(event.thread) != run.harness);
    let waited: BTreeSet<ObjectId> =
        waits.flat_map(|event| event.operation.objects()).map(|(object, _)| object).collect();
    let touches = |step: &usize| {
        let operation = run.events[*step].operation;
        operation.kind.info().holding != Holding::GivesBack
            && operation.objects().any(|(object, _)| waited.contains(&object))
    };
    (0..run.executed).rev().filter(touches).take(MOST).collect()
}
