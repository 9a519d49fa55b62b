//! The end of a failing run in the few lines that a report begins with.

use super::names::{Names, place};
use super::picture::picture;
use super::verdict::sentences;
use raddle_model::{Access, Failure, LocationId, Panicked, TraceFile, Verdict};

/// Returns what was wrong: one line, and for a deadlock its picture.
pub(crate) fn summary(file: &TraceFile) -> Vec<String> {
    let names = Names(file);
    let Verdict::Failed { failure } = &file.verdict else { return sentences(file) };
    let at = |location: LocationId| place(&names, location);
    match failure {
        Failure::Assertion { thread, location, message } => {
            // The message of C's `assert` begins with its own file and line.
            let message = message
                .split_once(": assertion `")
                .map_or_else(|| message.clone(), |(_, rest)| format!("assertion `{rest}"));
            let prefix = if message.starts_with("assert") { "" } else { "assertion: " };
            let place = match names.location(*location).split_once(": ") {
                Some((line, statement)) if message.contains(statement) => line.to_owned(),
                _ => at(*location),
            };
            let by = match names.has_own_place(&message) {
                true => format!(", {} {}", names.noun(), names.thread(*thread)),
                false => format!(" at {place}, {} {}", names.noun(), names.thread(*thread)),
            };
            vec![format!("{prefix}{}{by}", joined(&message))]
        }
        Failure::Panic { last, before } => {
            let panicked =
                |panic: &Panicked| format!("panicked at {}: {}", panic.place, joined(&panic.message));
            let before = before.iter().map(|panic| format!("  before: {}", panicked(panic)));
            [panicked(last)].into_iter().chain(before).collect()
        }
        Failure::Deadlock { .. } => {
            let head = sentences(file).into_iter().next();
            head.into_iter().chain([String::new()]).chain(picture(file)).collect()
        }
        Failure::UseAfterFree { thread, location, access, offset, block } => {
            let does = if *access == Access::Write { "writes to" } else { "reads" };
            let thread = names.thread(*thread);
            let size = block.size;
            vec![format!(
                "use after free: {thread} {does} byte {offset} of a freed block of {size} bytes at {}",
                at(*location)
            )]
        }
        Failure::DoubleFree { thread, location, block } => {
            let thread = names.thread(*thread);
            vec![format!(
                "double free: {thread} frees a freed block of {} bytes at {}",
                block.size,
                at(*location)
            )]
        }
        Failure::DataRace { object, .. } => {
            vec![format!("data race on {}: nothing orders two accesses", names.brief_object(*object))]
        }
        _ => sentences(file),
    }
}

/// Returns why a run fails as far as its end alone shows it.
pub(crate) fn why(file: &TraceFile) -> Vec<String> {
    let names = Names(file);
    let at = |location: LocationId| place(&names, location);
    match file.verdict.failure() {
        Some(Failure::UseAfterFree { thread, location, access, block, .. }) => {
            let did = if *access == Access::Write { "wrote to" } else { "read" };
            vec![format!(
                "{} freed the block at {} before {} {did} it at {}.",
                names.thread(block.freed_by),
                at(block.freed_at),
                names.thread(*thread),
                at(*location)
            )]
        }
        Some(Failure::DoubleFree { thread, location, block }) => vec![format!(
            "{} freed the block at {}, then {} freed it again at {}.",
            names.thread(block.freed_by),
            at(block.freed_at),
            names.thread(*thread),
            at(*location)
        )],
        Some(Failure::DataRace { .. }) => {
            let lines = sentences(file);
            lines.iter().skip(1).map(|line| line.trim().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// The lines of a message in one.
fn joined(message: &str) -> String {
    /// A longer message is cut off.
    const MOST: usize = 300;
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let head = lines.next().unwrap_or("it says nothing").to_owned();
    let rest: Vec<&str> = lines.collect();
    let whole = if rest.is_empty() { head } else { format!("{head}: {}", rest.join(", ")) };
    if whole.chars().count() <= MOST { whole } else { whole.chars().take(MOST).collect::<String>() + " ..." }
}

/// Returns the output of a program without the lines that repeat its panic.
pub(crate) fn output(file: &TraceFile, output: &str) -> String {
    let Some(Failure::Panic { last, before }) = file.verdict.failure() else { return output.to_owned() };
    let mut said: Vec<&str> = Vec::new();
    for panic in before.iter().chain([last]) {
        said.extend(panic.message.lines().map(str::trim));
    }
    let repeats = |line: &str| {
        let line = line.trim();
        said.contains(&line)
            || line.starts_with("note: run with `RUST_BACKTRACE=1`")
            || line.starts_with("thread '") && line.contains(" panicked at ")
    };
    let kept = output.lines().filter(|line| !repeats(line));
    kept.map(|line| format!("{line}\n")).collect::<String>().trim_start_matches('\n').to_owned()
}
