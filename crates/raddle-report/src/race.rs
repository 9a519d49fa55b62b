//! A data race in sentences.

use raddle_model::{Access, MemoryOrder, ObjectId, Operation, RacingAccess, ThreadId, TraceFile};

/// Names for the sentences.
pub(crate) struct Words<'a> {
    pub(crate) thread: &'a dyn Fn(ThreadId) -> String,
    pub(crate) object: &'a dyn Fn(ObjectId) -> String,
    pub(crate) location: &'a dyn Fn(raddle_model::LocationId) -> String,
}

/// Returns both accesses, and why they are unordered.
pub(crate) fn sentences(
    file: &TraceFile,
    words: &Words<'_>,
    object: ObjectId,
    first: &RacingAccess,
    second: &RacingAccess,
) -> Vec<String> {
    let access = |access: &RacingAccess| {
        let verb = if access.access == Access::Read { "reads" } else { "writes" };
        let how = match access.order {
            MemoryOrder::Plain => String::new(),
            order => format!(" ({})", order.name()),
        };
        let (thread, place) = ((words.thread)(access.thread), (words.location)(access.location));
        format!("  step {}: {thread} {verb} it{how}; {place}", access.step + 1)
    };
    let reason = unfinished(file, first, second).map_or_else(
        || {
            let [from, to] = [first.thread, second.thread].map(words.thread);
            format!(
                "  nothing that {from} did since and {to} did before orders them: no lock, join, channel, release and \
                 acquire, or the like"
            )
        },
        |(write, read)| {
            let step = |step: usize| {
                let operation = &file.steps[step].operation;
                let order = operation.memory_order().map_or("", MemoryOrder::name);
                (step + 1, order, (words.location)(operation.location))
            };
            let (write, how_written, written_at) = step(write);
            let (read, how_read, read_at) = step(read);
            format!(
                "  step {read} ({how_read}; {read_at}) reads what step {write} ({how_written}; {written_at}) wrote, but that \
                 orders nothing without a release there and an acquire here"
            )
        },
    );
    let headline =
        format!("data race on {}: neither of two accesses happens before the other", (words.object)(object));
    vec![headline, access(first), access(second), reason]
}

/// Returns the last atomic read by which the second thread could have learned of the first access and did
/// not: the step of the value it reads, and its own.
fn unfinished(file: &TraceFile, first: &RacingAccess, second: &RacingAccess) -> Option<(usize, usize)> {
    let (from, to) = (first.step as usize + 1, (second.step as usize).min(file.steps.len()));
    let atomic = |operation: &Operation| {
        operation.kind.is_memory()
            && operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain)
    };
    (from..to).rev().find_map(|read| {
        let step = &file.steps[read];
        let reads = step.thread == second.thread.0 && step.operation.kind.reads_memory();
        if !reads || !atomic(&step.operation) {
            return None;
        }
        let object = step.operation.object()?;
        let write = (from..read).rev().find(|&write| {
            let operation = &file.steps[write].operation;
            atomic(operation) && operation.kind.writes_memory() && operation.object() == Some(object)
        })?;
        (file.steps[write].thread == first.thread.0).then_some((write, read))
    })
}
