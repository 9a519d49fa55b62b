//! The end of a run in sentences: the failure, the wait-for cycle, and the lock holders.

use super::names::Names;
use super::wait_for::changer;
use crate::operations::acquisitions;
use crate::race::{self, Words};
use raddle_model::{
    Access, BlockReason, Blocked, Failure, FreedBlock, Kind, ObjectId, Panicked, TraceFile, Verdict,
};

/// Returns the outcome of the run, a line each. A deadlock includes where each lock was acquired, and which
/// thread last changed the futex words that threads wait on.
pub fn verdict(file: &TraceFile) -> Vec<String> {
    let (names, mut lines) = (Names(file), sentences(file));
    if let Some(Failure::Deadlock { blocked, .. }) = file.verdict.failure() {
        for (holder, object, location) in acquisitions(file, blocked) {
            let (holder, object) = (names.thread(holder), names.short_object(object));
            lines.push(format!("  {holder} took {object}; {}", names.folded(location)));
        }
        for entry in blocked {
            let Some((_, by, step)) = changer(file, blocked, entry) else { continue };
            let (thread, by) = (names.thread(entry.thread), names.thread(by));
            lines.push(format!(
                "  what {thread} waits on was last changed by {by}; {}",
                names.folded(file.steps[step].operation.location)
            ));
        }
    }
    lines
}

/// Returns the failure, the waits and the lock holders: a line each.
pub fn sentences(file: &TraceFile) -> Vec<String> {
    let names = Names(file);
    match &file.verdict {
        Verdict::Passed => vec!["passed: the program ended and nothing was wrong".to_owned()],
        Verdict::CutOff => {
            vec!["cut off: the run was given up and says nothing about the program".to_owned()]
        }
        Verdict::Inconclusive { limit } => {
            vec![format!("inconclusive: the run did not end within {limit} steps (--step-limit)")]
        }
        Verdict::Failed { failure } => names.failure(failure),
    }
}

/// Returns a message in a line that ends with `by`, and one more for each further line of the message.
fn said(begin: &str, message: &str, by: &str) -> Vec<String> {
    let mut lines = message.lines();
    let head = format!("{begin}{}{by}", lines.next().unwrap_or("it says nothing"));
    [head].into_iter().chain(lines.map(|line| format!("  {line}"))).collect()
}

fn panicked(begin: &str, panic: &Panicked) -> Vec<String> {
    said(begin, &panic.message, &format!("; thread {}, {}", panic.thread, panic.place))
}

impl Names<'_> {
    fn failure(&self, failure: &Failure) -> Vec<String> {
        match failure {
            Failure::Assertion { thread, location, message } => {
                // The statement is often part of the message already.
                let place = self.folded(*location);
                let place = match place.split_once(": ") {
                    Some((line, statement)) if message.contains(statement) => line,
                    _ => &place,
                };
                let thread = format!("{} {}", self.noun(), self.thread(*thread));
                match self.has_own_place(message) {
                    true => said("assertion: ", message, &format!("; {thread}")),
                    false => said("assertion: ", message, &format!("; {thread}, {place}")),
                }
            }
            Failure::Deadlock { blocked, cycle } => {
                let blocked: Vec<&Blocked> =
                    blocked.iter().filter(|entry| self.harness() != Some(entry.thread.0)).collect();
                let (count, noun) = (blocked.len(), self.noun());
                let mut lines = vec![format!("deadlock: {count} {} wait and none can go on", self.nouns())];
                if let [_] = blocked[..] {
                    lines[0] = format!("deadlock: one {noun} waits and nothing can wake it");
                }
                lines.extend(blocked.iter().map(|entry| format!("  {}", self.blocked(entry))));
                if let Some(first) = cycle.first() {
                    let ring: Vec<String> =
                        cycle.iter().chain([first]).map(|&thread| self.thread(thread)).collect();
                    lines.push(format!("  each waits for the next: {}", ring.join(" -> ")));
                }
                lines
            }
            Failure::StepLimit { limit, spinning } => {
                let mut lines = vec![format!(
                    "step limit: the run did not end within {limit} steps; --step-limit sets the limit"
                )];
                if !spinning.is_empty() {
                    lines.push(format!("  spinning at the end: {}", self.threads(spinning)));
                }
                lines
            }
            Failure::TimeLimit { limit } => {
                let limit = std::time::Duration::from_nanos(*limit);
                vec![format!("time limit: the run did not end within {limit:?} of virtual time")]
            }
            Failure::Misuse { thread, object, location, message } => vec![format!(
                "misuse of {}: {message}; thread {}, {}",
                self.object(*object),
                self.thread(*thread),
                self.folded(*location)
            )],
            Failure::DataRace { object, first, second } => {
                let words = Words {
                    thread: &|thread| self.thread(thread),
                    object: &|object| self.object(object),
                    location: &|location| self.folded(location),
                };
                race::sentences(self.0, &words, *object, first, second)
            }
            Failure::Output { file, line, byte, lengths: (found, expected) } => vec![
                format!("output: the standard output is not the content of {file}"),
                format!("  the first difference is in line {line}, after {byte} bytes that are the same"),
                format!("  it has {found} bytes, expected are {expected}"),
            ],
            Failure::Exit { status } => vec![format!("exit: the program ended with status {status}")],
            Failure::Panic { last, before } => {
                let mut lines = panicked("panic: ", last);
                before.iter().for_each(|panic| lines.extend(panicked("  before: ", panic)));
                lines
            }
            Failure::Signal { thread, location, signal, address } => {
                let what = match address {
                    Some(address) => format!(" for an access to address {address:#x}"),
                    None => String::new(),
                };
                let (thread, place) = (self.thread(*thread), self.folded(*location));
                vec![format!("{}: thread {thread} got {signal}{what}; {place}", failure.kind())]
            }
            Failure::UseAfterFree { thread, location, access, offset, block } => {
                let does = if *access == Access::Write { "writes to" } else { "reads" };
                let mut lines = vec![format!(
                    "use after free: thread {} {does} byte {offset} of a freed block; {}",
                    self.thread(*thread),
                    self.folded(*location)
                )];
                lines.extend(self.block(block));
                lines
            }
            Failure::DoubleFree { thread, location, block } => {
                let (thread, place) = (self.thread(*thread), self.folded(*location));
                let mut lines = vec![format!("double free: thread {thread} frees a freed block; {place}")];
                lines.extend(self.block(block));
                lines
            }
            other => vec![format!("failed: {}", other.kind())],
        }
    }

    fn block(&self, block: &FreedBlock) -> [String; 3] {
        [
            format!("  the block has {} bytes and begins at {:#x}", block.size, block.address),
            format!(
                "  allocated by {}, {}",
                self.thread(block.allocated_by),
                self.folded(block.allocated_at)
            ),
            format!("  freed by {}, {}", self.thread(block.freed_by), self.folded(block.freed_at)),
        ]
    }

    /// Returns true if a thread waits behind a writer for a lock that it holds for reading.
    fn reads_again(&self, entry: &Blocked) -> bool {
        let last = self.0.steps.iter().rfind(|step| step.thread == entry.thread.0);
        last.is_some_and(|step| step.operation.kind == Kind::ReadLockAgain)
    }

    fn blocked(&self, entry: &Blocked) -> String {
        let place = self.location(entry.location);
        // The place of a receive tells which messages it takes.
        let receive = place.strip_prefix("receive ").and_then(|rest| rest.rsplit_once(" at "));
        if let (BlockReason::Mailbox, Some((patterns, place))) = (entry.reason, receive) {
            return format!("{} waits for {patterns}; {place}", self.thread(entry.thread));
        }
        let (what, held) = (waited_for(self, entry, &|object| self.object(object)), held_by(self, entry));
        format!("{} waits for {what}{held}; {}", self.thread(entry.thread), self.folded(entry.location))
    }
}

/// Returns who holds what a thread waits for: `, held by T2`.
fn held_by(names: &Names<'_>, entry: &Blocked) -> String {
    match (entry.reason, &entry.held_by[..]) {
        (_, []) => String::new(),
        (BlockReason::ReadWriteLock, _) if names.reads_again(entry) => String::new(),
        (BlockReason::Mutex | BlockReason::ReadWriteLock, threads) => {
            format!(", held by {}", names.threads(threads))
        }
        _ => String::new(),
    }
}

/// Returns what a thread waits for: `mutex m`.
pub(super) fn waited_for(names: &Names<'_>, entry: &Blocked, name: &dyn Fn(ObjectId) -> String) -> String {
    let object = entry.object.map_or_else(|| "nothing known".to_owned(), name);
    match entry.reason {
        BlockReason::Mutex => format!("mutex {object}"),
        BlockReason::ReadWriteLock if names.reads_again(entry) => {
            format!("read-write lock {object} again, behind the writer {}", names.threads(&entry.held_by))
        }
        BlockReason::ReadWriteLock => format!("read-write lock {object}"),
        BlockReason::Condition => format!("a signal of condition {object}"),
        BlockReason::Semaphore => format!("semaphore {object}, which is zero"),
        BlockReason::Barrier => format!("others to arrive at barrier {object}"),
        BlockReason::Once => {
            format!("the initialisation {object}, run by {}", names.threads(&entry.held_by))
        }
        BlockReason::Join => format!("thread {} to end", names.threads(&entry.held_by)),
        BlockReason::Channel => format!("the other side of channel {object}"),
        BlockReason::Park => "being unparked".to_owned(),
        BlockReason::Mailbox => {
            let place = names.location(entry.location);
            let receive = place.strip_prefix("receive ").and_then(|rest| rest.rsplit_once(" at "));
            receive.map_or_else(
                || "a message that it is ready to take".to_owned(),
                |(patterns, _)| patterns.to_owned(),
            )
        }
        BlockReason::Descriptor => format!("{object} to be ready"),
    }
}
