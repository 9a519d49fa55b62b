//! One recorded run as a list of events for display. Every format of `raddle report` is based on it.
//!
//! A failure file records which thread did what in which order. The holders of locks, waits and enabling
//! steps follow from that, and are computed here, once, as far as the file allows: whether an attempt at a
//! lock succeeded follows from its holder, and waits are known for locks, conditions, joins, and at the end
//! of a deadlock.

mod edges;
mod locks;
mod place;
mod waits;

pub use place::Place;

use crate::old_values;
use crate::operations::{answer, verb, without_all_files};
use crate::run_text::names::Names;
use crate::run_text::verdict;
use crate::values::{ShownValue, beside, shown_values};
use raddle_model::{
    Access, BlockReason, Failure, FrontEnd, Holding, Kind, LocationId, ObjectId, Operation, SEQUENTIAL_ORDER,
    TraceFile, is_address,
};
use std::collections::BTreeSet;

/// A run for display. Numbers of steps are indices into `events`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// A name for every thread.
    pub threads: Vec<String>,
    /// A name for every object.
    pub objects: Vec<String>,
    /// Every code location.
    pub places: Vec<Place>,
    /// The steps in order; then, for each thread of a deadlock, the one that it waits to take.
    pub events: Vec<DisplayEvent>,
    /// The number of executed events.
    pub executed: usize,
    /// The steps that enabled others, in the order of the later ones.
    pub edges: Vec<Edge>,
    /// The holds of locks, in the order of their beginnings.
    pub holds: Vec<Span>,
    /// The waits, in the order of their beginnings.
    pub waits: Vec<Span>,
    /// The kind of failure; `None` if the run passed.
    pub failure: Option<&'static str>,
    /// The outcome of the run, a line each.
    pub message: Vec<String>,
    /// True if statements name only the first object of a step. The other objects of an Erlang process are
    /// dependencies of the step, not its effect.
    pub names_first: bool,
    /// The word for a thread.
    pub noun: &'static str,
    /// The thread of a test's harness, whose steps are not part of the test.
    pub harness: Option<u32>,
}

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisplayEvent {
    /// An index into [`Timeline::threads`].
    pub thread: u32,
    /// The operation, with indices into [`Timeline::places`] and [`Timeline::objects`].
    pub operation: Operation,
    /// False for the next operation of a thread that waits when the run ends.
    pub executed: bool,
    /// True if the previous step was one of another thread.
    pub is_switch: bool,
    /// An additional decision, such as the value of a choice.
    pub answer: Option<String>,
    /// The decision of weak memory in it, such as an old value.
    pub note: Option<String>,
    /// The values read and written, as far as known.
    pub values: Vec<ShownValue>,
    /// True if it releases a lock and its location is where the lock was taken, as for a guard in Rust.
    pub is_at_lock: bool,
}

/// An interval of steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Span {
    /// The first step after which it holds.
    pub from: u32,
    /// The first step after which it no longer holds; the number of events if it holds at the end.
    pub to: u32,
    /// An index into [`Timeline::threads`].
    pub thread: u32,
    /// The object that is held or waited for; `None` if unknown.
    pub object: Option<u32>,
}

/// A step that another one had to wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The later step.
    pub to: u32,
    /// The earlier step.
    pub from: u32,
    /// The connection.
    pub kind: EdgeKind,
}

/// The connection between two steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EdgeKind {
    /// A lock was released and acquired.
    Unlock,
    /// A semaphore was released and acquired.
    Post,
    /// A waiter was notified and continued.
    Signal,
    /// A thread was created and took its first step.
    Spawn,
    /// A thread took its last step and was joined.
    Join,
    /// A value was sent and received.
    Send,
    /// A thread was unparked and continued.
    Unpark,
}

impl EdgeKind {
    /// All kinds, in the order of their numbers in a page.
    pub const ALL: [EdgeKind; 7] = [
        EdgeKind::Unlock,
        EdgeKind::Post,
        EdgeKind::Signal,
        EdgeKind::Spawn,
        EdgeKind::Join,
        EdgeKind::Send,
        EdgeKind::Unpark,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Unlock => "unlock",
            EdgeKind::Post => "post",
            EdgeKind::Signal => "signal",
            EdgeKind::Spawn => "spawn",
            EdgeKind::Join => "join",
            EdgeKind::Send => "send",
            EdgeKind::Unpark => "unpark",
        }
    }
}

impl Timeline {
    /// Returns the timeline of the run of `file`.
    pub fn of(file: &TraceFile) -> Timeline {
        let mut timeline = Timeline {
            threads: file.threads.clone(),
            objects: file.objects.clone(),
            places: file.locations.iter().map(|text| Place::parse(text)).collect(),
            events: executed(file),
            executed: file.steps.len(),
            failure: file.verdict.failure().map(Failure::kind),
            message: verdict(file),
            names_first: file.front_end == FrontEnd::Beam,
            noun: Names(file).noun(),
            harness: Names(file).harness(),
            ..Timeline::default()
        };
        timeline.events.extend(pending(file));
        let locks = locks::follow(&timeline);
        let orders = edges::follow(&timeline, file);
        timeline.waits = waits::follow(&timeline, file, &locks, &orders);
        // A joined object is a thread for the reader.
        for (&object, &thread) in &orders.joined {
            let name = timeline.thread(thread);
            if let Some(object) = timeline.objects.get_mut(object as usize) {
                *object = name;
            }
        }
        timeline.edges = locks.edges;
        timeline.edges.extend(orders.edges);
        timeline.edges.sort_unstable();
        timeline.edges.dedup();
        timeline.holds = locks.holds.into_iter().map(|hold| hold.span).collect();
        timeline.holds.sort_unstable();
        timeline
    }

    /// Returns the name of a thread; a damaged file may lack it.
    pub fn thread(&self, thread: u32) -> String {
        self.threads.get(thread as usize).cloned().unwrap_or_else(|| format!("thread {thread}"))
    }

    /// Returns the name of an object.
    pub fn object(&self, object: u32) -> String {
        self.objects.get(object as usize).cloned().unwrap_or_else(|| format!("object {object}"))
    }

    /// Returns the same without the creation location, which is in the object names of Rust tests.
    pub fn short_object(&self, object: u32) -> String {
        raddle_model::short_object(&self.object(object)).to_owned()
    }

    /// Returns the location of a step.
    pub fn place(&self, event: &DisplayEvent) -> Option<&Place> {
        self.places.get(event.operation.location.index())
    }

    /// Returns the text of a step: the statement of a lab program, otherwise a verb and its objects.
    pub fn statement(&self, event: &DisplayEvent) -> String {
        self.statement_with(event, &|object| self.short_object(object))
    }

    fn statement_with(&self, event: &DisplayEvent, name: &dyn Fn(u32) -> String) -> String {
        let most = match event.operation.kind.info().names_object {
            false => 0,
            true if self.names_first => 1,
            true => usize::MAX,
        };
        let mut objects: Vec<String> = match &event.values[..] {
            [] => {
                let objects = event.operation.objects().map(|(object, _)| name(object.0));
                objects.filter(|name| name != SEQUENTIAL_ORDER).take(most).collect()
            }
            values => values.iter().map(ShownValue::text).collect(),
        };
        // A variable of more than eight bytes is several objects.
        objects.dedup();
        without_all_files(&mut objects);
        let mut text = match self.place(event).and_then(|place| place.statement.as_ref()) {
            Some(statement) => {
                let woken = event.operation.kind == Kind::ConditionReacquire && event.executed;
                let mut text = beside(statement, &event.values) + if woken { " (woken)" } else { "" };
                // Adds the element of an array.
                let elements = objects.iter().filter(|name| name.ends_with(']') && event.values.is_empty());
                for name in elements {
                    if !text.contains(name.as_str()) {
                        text.push_str(&format!(" ({name})"));
                    }
                }
                text
            }
            None => {
                let gap = if objects.is_empty() { "" } else { " " };
                format!("{}{gap}{}", verb(event.operation.kind), objects.join(", "))
            }
        };
        if let Some(answer) = &event.answer {
            text.push_str(&format!(" -> {answer}"));
        }
        if let Some(note) = &event.note {
            text.push_str(&format!(", {note}"));
        }
        text
    }

    /// The name of an object without where it was made and without an address.
    pub fn brief_object(&self, object: u32) -> String {
        raddle_model::brief_object(&self.object(object), object).into_owned()
    }

    /// Returns the text of a step, without addresses.
    pub fn brief_statement(&self, event: &DisplayEvent) -> String {
        let mut event = event.clone();
        for value in &mut event.values {
            if is_address(raddle_model::short_object(&value.name)) {
                value.name = self.brief_object(value.object);
            }
            *value = value.without_addresses();
        }
        self.statement_with(&event, &|object| self.brief_object(object))
    }

    /// Returns the objects that a step touches, by name, each with its access.
    pub fn objects_of(&self, event: &DisplayEvent) -> impl Iterator<Item = (String, Access)> + use<'_> {
        let access = |writes| if writes { Access::Write } else { Access::Read };
        let objects =
            event.operation.objects().map(move |(object, writes)| (self.object(object.0), access(writes)));
        objects.filter(|(name, _)| name != SEQUENTIAL_ORDER)
    }

    /// Returns for every event the objects that its thread holds after it.
    pub fn held(&self) -> Vec<Vec<u32>> {
        let mut ends = self.holds.clone();
        ends.sort_unstable_by_key(|hold| hold.to);
        let (mut begun, mut ended) = (0, 0);
        let mut now: Vec<Vec<u32>> = vec![Vec::new(); self.threads.len()];
        let held = self.events.iter().enumerate().map(|(step, event)| {
            while let Some(hold) = ends.get(ended).filter(|hold| hold.to as usize <= step) {
                if let Some(objects) = now.get_mut(hold.thread as usize) {
                    let held = objects.iter().position(|&object| Some(object) == hold.object);
                    held.map(|index| objects.remove(index));
                }
                ended += 1;
            }
            while let Some(hold) = self.holds.get(begun).filter(|hold| hold.from as usize <= step) {
                if let Some(objects) = now.get_mut(hold.thread as usize) {
                    objects.extend(hold.object);
                }
                begun += 1;
            }
            now.get(event.thread as usize).cloned().unwrap_or_default()
        });
        held.collect()
    }
}

fn executed(file: &TraceFile) -> Vec<DisplayEvent> {
    let mut picks = file.picks.iter().peekable();
    let (mut before, acquired, mut notes) = (None, acquired(file), old_values::notes(file));
    let mut events = Vec::with_capacity(file.steps.len());
    for (index, step) in file.steps.iter().enumerate() {
        let mut answers = Vec::new();
        // Decisions are in the order of the steps.
        while let Some(&&(_, arity, value)) = picks.peek().filter(|&&&(at, ..)| at as usize <= index) {
            // That of a memory access is in its note.
            if !step.operation.kind.is_memory() {
                answers.push(answer(step.operation.kind, arity, value));
            }
            picks.next();
        }
        events.push(DisplayEvent {
            thread: step.thread,
            operation: step.operation,
            executed: true,
            is_switch: before.is_some_and(|thread| thread != step.thread),
            answer: (!answers.is_empty()).then(|| answers.join(", ")),
            note: notes.remove(&index),
            values: shown_values(file, index),
            is_at_lock: step.operation.kind.info().holding == Holding::GivesBack
                && step
                    .operation
                    .object()
                    .is_some_and(|lock| acquired.contains(&(lock, step.operation.location))),
        });
        before = Some(step.thread);
    }
    events
}

/// Returns the objects and locations of all steps that take a lock.
fn acquired(file: &TraceFile) -> BTreeSet<(ObjectId, LocationId)> {
    let takes = |kind: Kind| {
        let holding = kind.info().holding;
        holding.takes().is_some() || holding == Holding::Downgrades
    };
    let steps = file.steps.iter().map(|step| step.operation).filter(|operation| takes(operation.kind));
    steps.filter_map(|operation| Some((operation.object()?, operation.location))).collect()
}

/// Returns the next operations of the threads of a deadlock.
fn pending(file: &TraceFile) -> Vec<DisplayEvent> {
    let Some(Failure::Deadlock { blocked, .. }) = file.verdict.failure() else { return Vec::new() };
    let waiting = blocked.iter().map(|entry| {
        let kind = match entry.reason {
            BlockReason::Mutex => Kind::Lock,
            BlockReason::ReadWriteLock => Kind::WriteLock,
            BlockReason::Condition => Kind::ConditionWait,
            BlockReason::Semaphore => Kind::SemaphoreWait,
            BlockReason::Barrier => Kind::Barrier,
            BlockReason::Once => Kind::OnceBegin,
            BlockReason::Join => Kind::Join,
            BlockReason::Channel | BlockReason::Mailbox => Kind::Receive,
            BlockReason::Park | BlockReason::Descriptor => Kind::Park,
        };
        let mut operation = Operation::new(kind, entry.location);
        if let Some(object) = entry.object {
            let access = if kind == Kind::Join { Access::Read } else { Access::Write };
            operation = operation.on(object, access);
        }
        DisplayEvent {
            thread: entry.thread.0,
            operation,
            executed: false,
            is_switch: false,
            answer: None,
            note: None,
            values: Vec::new(),
            is_at_lock: false,
        }
    });
    waiting.collect()
}

#[cfg(test)]
pub(crate) mod tests;
