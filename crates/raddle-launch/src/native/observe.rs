//! Facts about a run that is made to be shown: values, callers, call stacks, start functions and the names of objects.

use raddle_model::native::RunResult;
use raddle_model::{
    Access, Details, Failure, LocationId, Stack, ThreadId, TraceFile, frames, native, user_frame,
};
use raddle_symbols::Symbols;
use raddle_symbols::runs::{locate_of, name_objects};

/// The thread of a test in its harness.
const TEST: usize = 1;

/// Adds to `run` what `shown`, the same run, tells beyond it.
pub(super) fn add(run: &mut TraceFile, shown: RunResult, symbols: &mut Symbols) {
    let Some(mut again) = shown.trace.filter(|again| is_same(run, again)) else { return };
    let own = run.environment.directory.clone();
    let names = name_objects(symbols, &shown.memory, own.as_deref());
    for (object, name) in names {
        let Some(text) = run.objects.get_mut(object as usize) else { continue };
        for cell in again.values.cells.iter_mut().filter(|cell| cell.name == *text) {
            cell.name.clear();
        }
        *text = name;
    }
    run.values = std::mem::take(&mut again.values);
    let mut plain = run.locations.clone();
    locate_of(symbols, &mut plain, own.as_deref());
    locate_of(symbols, &mut again.locations, own.as_deref());
    name_block(run, &again);
    run.details = Details { reason: run.details.reason.take(), ..details(run, &again, &plain) };
}

/// Names the places where the block of a failure was allocated and freed by those of `again`, which have callers. A place of a
/// step keeps its name.
fn name_block(run: &mut TraceFile, again: &TraceFile) {
    let block = |file: &TraceFile| match file.verdict.failure() {
        Some(Failure::UseAfterFree { block, .. } | Failure::DoubleFree { block, .. }) => {
            Some([block.allocated_at, block.freed_at])
        }
        _ => None,
    };
    let (Some(own), Some(known)) = (block(run), block(again)) else { return };
    for (own, known) in own.into_iter().zip(known) {
        let is_step = run.steps.iter().any(|step| step.operation.location == own);
        if let (false, Some(text)) = (is_step, again.locations.get(known.index()))
            && let Some(place) = run.locations.get_mut(own.index())
        {
            place.clone_from(text);
        }
    }
}

/// Returns true if two runs have the same steps; the locations of one of them may include callers.
fn is_same(run: &TraceFile, again: &TraceFile) -> bool {
    let place = |file: &TraceFile, location: LocationId| {
        let text = file.locations.get(location.index());
        text.and_then(|text| native::way(text).next()).map(|(module, offset)| format!("{module}{offset}"))
    };
    run.steps.len() == again.steps.len()
        && run.steps.iter().zip(&again.steps).all(|(one, other)| {
            let mut operation = other.operation;
            operation.location = one.operation.location;
            one.thread == other.thread
                && one.operation == operation
                && place(run, one.operation.location) == place(again, other.operation.location)
        })
}

/// Returns what the locations of `again`, which have callers, say about the steps and the end of the run, whose own locations are `plain`.
fn details(run: &TraceFile, again: &TraceFile, plain: &[String]) -> Details {
    let text = |location: LocationId| again.locations.get(location.index()).map_or("", |text| &text[..]);
    let mut details = Details { starts: vec![String::new(); run.threads.len()], ..Details::default() };
    let is_library = |location: LocationId| {
        plain.get(location.index()).is_some_and(|text| frames(text).all(|frame| frame.is_library()))
    };
    for (step, ((thread, location), (_, own))) in places(again).zip(places(run)).enumerate() {
        let (way, user) = (text(location), user_frame(text(location)));
        if user.line.is_none() || user.is_library() {
            continue;
        }
        if is_library(own) {
            details.callers.push((step as u32, user.place().to_owned()));
        }
        if let Some(start) = details.starts.get_mut(thread as usize).filter(|start| start.is_empty()) {
            let outermost = frames(way).filter(|frame| !frame.is_library()).last();
            *start = match outermost.and_then(|frame| Some((frame.function?, frame.place()))) {
                Some(("operator()", place)) => format!("lambda {place}"),
                // The function around a closure has its name in front.
                Some((function, place)) if function.ends_with("{closure}") => format!("closure {place}"),
                Some((function, _)) => function.to_owned(),
                None => String::new(),
            };
        }
    }
    // A thread that has a name is known by it.
    for (start, name) in details.starts.iter_mut().zip(&run.threads) {
        let is_numbered = name.strip_prefix('T').is_some_and(|number| number.parse::<u32>().is_ok());
        if !is_numbered {
            start.clear();
        }
    }
    if run.environment.test.is_some()
        && let Some(start) = details.starts.get_mut(TEST)
    {
        start.clear();
    }
    details.stacks = stacks(again, &text);
    details
}

/// The thread and location of every step, then of every wait of a deadlock.
fn places(run: &TraceFile) -> impl Iterator<Item = (u32, LocationId)> {
    let waits = match run.verdict.failure() {
        Some(Failure::Deadlock { blocked, .. }) => &blocked[..],
        _ => &[],
    };
    let steps = run.steps.iter().map(|step| (step.thread, step.operation.location));
    steps.chain(waits.iter().map(|entry| (entry.thread.0, entry.location)))
}

/// The call stacks of a failure that is about memory.
fn stacks<'a>(again: &TraceFile, text: &dyn Fn(LocationId) -> &'a str) -> Vec<Stack> {
    let thread = |thread: ThreadId| again.threads.get(thread.index()).map_or("?", |name| name);
    let stack = |what: &str, by: ThreadId, location: LocationId| {
        let way: Vec<_> = frames(text(location)).collect();
        Stack {
            title: format!("{what} by {}:", thread(by)),
            frames: way.iter().map(|frame| frame.text.to_owned()).collect(),
            library: way.iter().map(|frame| frame.is_library()).collect(),
        }
    };
    match again.verdict.failure() {
        Some(Failure::UseAfterFree { thread, location, access, block, .. }) => {
            let what = if *access == Access::Write { "written" } else { "read" };
            vec![
                stack(what, *thread, *location),
                stack("freed", block.freed_by, block.freed_at),
                stack("allocated", block.allocated_by, block.allocated_at),
            ]
        }
        Some(Failure::DoubleFree { thread, location, block }) => vec![
            stack("freed again", *thread, *location),
            stack("freed", block.freed_by, block.freed_at),
            stack("allocated", block.allocated_by, block.allocated_at),
        ],
        Some(Failure::Signal { thread, location, signal, .. }) => {
            vec![stack(&format!("{signal} raised"), *thread, *location)]
        }
        _ => Vec::new(),
    }
}
