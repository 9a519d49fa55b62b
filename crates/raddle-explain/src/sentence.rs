//! An order of two operations in a sentence.

use crate::explain::Explanation;
use crate::orders::{Repair, old_read};
use crate::swap::Pair;
use raddle_model::native::ALL_FILES;
use raddle_model::{
    Blocked, CALLED, Failure, FrontEnd, MemoryOrder, NO_LOCATION, ObjectId, TraceFile, TraceStep,
    brief_object, frames, is_address, user_frame,
};
use std::borrow::Cow;

/// Returns a sentence about the order, such as "thread T2 read 100 from `balance` at bank.c:14 before T1
/// wrote 110 to it at bank.c:15", or without the values if they are not known. The names are those of `run`.
pub fn sentence(run: &TraceFile, found: &Explanation, pair: Pair) -> String {
    let order = order(run, found, pair);
    format!("{}{order}", noun(run, &order))
}

/// Returns what [`sentence`] does, without the word before the name of the thread.
pub(crate) fn order(run: &TraceFile, found: &Explanation, pair: Pair) -> String {
    let [first, second] = [pair.first, pair.second].map(|step| &found.steps[step]);
    let mut common: Vec<ObjectId> =
        objects(first).filter(|object| objects(second).any(|other| other == *object)).collect();
    // What waits for one of many files touches all of them; a file itself says more.
    let is_all = |object: &ObjectId| run.objects.get(object.index()).is_some_and(|name| name == ALL_FILES);
    if common.len() > 1 {
        common.retain(|object| !is_all(object));
    }
    let by_all = common.iter().all(is_all);
    let changes = [pair.first, pair.second].map(|step| change(run, step, &common));
    let common_name = match &changes {
        // A variable may be a part of the object; then it is named only if both touched the same.
        [Some(one), Some(other)] if one.name == other.name => Some(&one.name),
        [Some(known), None] | [None, Some(known)] if common.len() == 1 && known.is_object => {
            Some(&known.name)
        }
        _ => None,
    };
    if let Some(name) = common_name {
        let [one, other] = &changes;
        let action = |change: &Option<Change>, step: usize, object: &str| match change {
            Some(change) => placed(run, found, step, &change.words(object)),
            None => action(run, found, step, object),
        };
        let first = action(one, pair.first, &format!("`{name}`"));
        return format!("{first} before {}", action(other, pair.second, "it"));
    }
    let named = |step: &TraceStep| {
        // The order matters for the objects that both touch.
        let mut touched: Vec<ObjectId> =
            objects(step).filter(|object| by_all || common.contains(object)).collect();
        if touched.len() > 1 {
            touched.retain(|object| !is_all(object));
        }
        let names = touched.into_iter().map(|object| format!("`{}`", object_name(run, object)));
        names.collect::<Vec<_>>().join(" and ")
    };
    let again = match &common[..] {
        _ if by_all => named(second),
        [_] => "it".to_owned(),
        _ => "them".to_owned(),
    };
    let first = action(run, found, pair.first, &named(first));
    format!("{first} before {}", action(run, found, pair.second, &again))
}

/// Returns the old value that a step has read and the memory orders that allow it, in two sentences.
pub fn too_weak(run: &TraceFile, found: &Explanation, repair: &Repair) -> Option<[String; 2]> {
    let old = old_read(run)?;
    let step = &run.steps[old];
    let object = step.operation.object()?;
    let read = match change(run, old, &[object]) {
        Some(change) => {
            let name = format!("`{}`", change.name);
            placed(run, found, old, &Change { written: None, ..change }.words(&name))
        }
        None => action(run, found, old, &format!("`{}`", object_name(run, object))),
    };
    let spelled = |order: MemoryOrder| match (run.front_end, order) {
        (FrontEnd::Rust, MemoryOrder::SequentiallyConsistent) => "SeqCst".to_owned(),
        (FrontEnd::Rust, MemoryOrder::AcquireRelease) => "AcqRel".to_owned(),
        (FrontEnd::Rust, order) => {
            let word = order.keyword();
            word[..1].to_uppercase() + &word[1..]
        }
        (_, order) => order.keyword().to_owned(),
    };
    let weak = |&(index, _): &(usize, MemoryOrder)| {
        let step = &run.steps[index];
        let thread = run.threads.get(step.thread as usize).map_or("?", |name| name);
        let object = step.operation.object().map_or(Cow::Borrowed(""), |object| object_name(run, object));
        let kind = step.operation.kind;
        let access = match (kind.reads_memory(), kind.writes_memory()) {
            (false, false) => kind.info().verb.to_owned(),
            (true, false) => format!("load of `{object}`"),
            (false, true) => format!("store to `{object}`"),
            (true, true) => format!("update of `{object}`"),
        };
        format!("{thread}'s {access} at {}", place_of(run, found, index).unwrap_or("?"))
    };
    let own = |&(index, _): &(usize, MemoryOrder)| {
        run.steps[index].operation.memory_order().map_or_else(String::new, spelled)
    };
    let all = listed(repair.changes.iter().map(weak));
    let mut own: Vec<String> = repair.changes.iter().map(own).collect();
    let mut wanted: Vec<String> = repair.changes.iter().map(|&(_, order)| spelled(order)).collect();
    for orders in [&mut own, &mut wanted] {
        if orders.iter().all(|order| *order == orders[0]) {
            orders.truncate(1);
        }
    }
    let verb = if repair.changes.len() == 1 { "is" } else { "are" };
    let respectively = |orders: &[String]| if orders.len() > 1 { ", respectively," } else { "" };
    let (own_order, wanted_order) = (respectively(&own), respectively(&wanted));
    let own = format!("{verb} {}{}", listed(own.iter().cloned()), own_order.trim_end_matches(','));
    let runs = match repair.failed_before {
        0 => String::new(),
        failed => format!(", and so do {} random runs ({failed} of them fail without)", repair.runs),
    };
    Some([
        format!("{read}, an old value: {all} {own}."),
        format!("With {}{wanted_order} this run passes{runs}.", listed(wanted.iter().cloned())),
    ])
}

/// Returns words with commas and an "and".
fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match &words[..] {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Returns the word before a sentence that begins with the name of a thread; empty if the name begins with
/// it.
fn noun(run: &TraceFile, sentence: &str) -> String {
    let noun = run.front_end.thread_noun();
    if sentence.starts_with(noun) { String::new() } else { format!("{noun} ") }
}

/// The values that a step read from and wrote to a variable.
struct Change {
    name: String,
    /// True if the variable is a whole object.
    is_object: bool,
    read: Option<String>,
    written: Option<String>,
}

/// Returns the values of a step for one of these objects, if known. A step that the run did not reach has
/// none.
fn change(run: &TraceFile, step: usize, common: &[ObjectId]) -> Option<Change> {
    let (cell, value) = run.values.of(step).find(|(cell, _)| common.contains(&cell.object))?;
    let is_object = cell.name.is_empty();
    let name = if is_object { object_name(run, cell.object).into_owned() } else { cell.name.clone() };
    // Which address a pointer has says nothing.
    let text = |value| Some(cell.text(value)).filter(|text| !is_address(text));
    let [read, written] = [value.read, value.written].map(|value| value.and_then(text));
    (read.is_some() || written.is_some()).then_some(Change { name, is_object, read, written })
}

impl Change {
    fn words(&self, object: &str) -> String {
        match (&self.read, &self.written) {
            (Some(read), Some(written)) => format!("updated {object} from {read} to {written}"),
            (_, Some(written)) => format!("wrote {written} to {object}"),
            (Some(read), _) => format!("read {read} from {object}"),
            (None, None) => format!("touched {object}"),
        }
    }
}

/// Returns the place of an operation as short as possible: `bank.c:14` of `add at bank.c:14`, and `line 7` of `line 7: x = 1`. Of
/// functions inlined into each other it is the innermost that is in no header: the caller of a wrapper says more than the
/// wrapper.
pub fn place(text: &str) -> &str {
    if let Some((line, _)) = text.split_once(": ").filter(|(line, _)| line.starts_with("line ")) {
        return line;
    }
    let is_header = |file: &str| {
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        ["h", "hh", "hpp", "hxx", "inc", "inl"].contains(&ending)
    };
    let inlined = text.split(CALLED).find(|part| !user_frame(part).is_library()).unwrap_or(text);
    let source = frames(inlined).find(|frame| !frame.is_library() && !frame.file.is_some_and(is_header));
    source.unwrap_or_else(|| user_frame(inlined)).place()
}

fn objects(step: &TraceStep) -> impl Iterator<Item = ObjectId> {
    step.operation.objects().map(|(object, _)| object)
}

/// Returns the name of an object without its creation site, which is too long for a sentence.
fn object_name(run: &TraceFile, object: ObjectId) -> Cow<'_, str> {
    let name = run.objects.get(object.index()).map_or("?", |name| name);
    brief_object(name, object.0)
}

fn action(run: &TraceFile, found: &Explanation, step: usize, objects: &str) -> String {
    let gap = if objects.is_empty() { "" } else { " " };
    placed(run, found, step, &format!("{}{gap}{objects}", found.steps[step].operation.kind.info().past))
}

/// Returns the thread, the action and the location of a step of the explanation.
fn placed(run: &TraceFile, found: &Explanation, step: usize, action: &str) -> String {
    let thread = run.threads.get(found.steps[step].thread as usize).map_or("?", |name| name);
    let at = place_of(run, found, step).map_or_else(String::new, |place| format!(" at {place}"));
    format!("{thread} {action}{at}")
}

/// Returns the user's line of a step of the explanation: that of the call if the step is in a library.
pub(crate) fn place_of<'a>(run: &'a TraceFile, found: &Explanation, step: usize) -> Option<&'a str> {
    let caller = index(run, &found.steps, step).map_or("", |step| run.details.caller(step as usize));
    if !caller.is_empty() {
        return Some(caller);
    }
    let location = found.steps[step].operation.location;
    let text = run.locations.get(location.index())?;
    // A step of a library that the run did not reach has the line of one that it did.
    if user_frame(text).is_library() {
        let thread = found.steps[step].thread;
        let same = |thread: Option<u32>| {
            let steps = run.steps.iter().enumerate();
            let mut same = steps.filter(|(_, step)| {
                step.operation.location == location && thread.is_none_or(|thread| step.thread == thread)
            });
            same.find_map(|(step, _)| Some(run.details.caller(step)).filter(|caller| !caller.is_empty()))
        };
        if let Some(caller) = same(Some(thread)).or_else(|| same(None)) {
            return Some(caller);
        }
    }
    (text != NO_LOCATION).then(|| place(text))
}

/// Returns the number of a step of the explanation in `run`. What the run has not come to is the wait of a thread at its end,
/// counted after the last step, or not in the run.
pub(crate) fn index(run: &TraceFile, steps: &[TraceStep], step: usize) -> Option<u32> {
    if step < run.steps.len() {
        return Some(step as u32);
    }
    let Some(Failure::Deadlock { blocked, .. }) = run.verdict.failure() else { return None };
    let TraceStep { thread, operation } = steps.get(step)?;
    let waits = |entry: &Blocked| {
        entry.thread.0 == *thread
            && entry.location == operation.location
            && operation.objects().any(|(object, _)| Some(object) == entry.object)
    };
    Some((run.steps.len() + blocked.iter().position(waits)?) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_short() {
        assert_eq!(place("add at bank.c:14"), "bank.c:14");
        assert_eq!(place("push at a.c:3, inlined into main at b.c:7"), "a.c:3");
        assert_eq!(place("push at a.h:3, called by main at b.c:7"), "a.h:3");
        assert_eq!(place("push at a.h:3, inlined into main at b.c:7"), "b.c:7");
        assert_eq!(place("push at a.h:3, inlined into pop at b.hpp:7"), "a.h:3");
        assert_eq!(place("line 7: x = 1"), "line 7");
        assert_eq!(place("tests/bank.rs:14:9"), "tests/bank.rs:14:9");
    }
}
