//! The trace of one run.

use crate::{Operation, ThreadId};

/// One executed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The thread that executed it.
    pub thread: ThreadId,
    /// The operation.
    pub operation: Operation,
}

/// One decision of the strategy besides threads: which waiter a signal wakes, or a data choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    /// The index of the event during which it was made.
    pub step: u32,
    /// Number of possible answers.
    pub arity: u32,
    /// The answer, below `arity`.
    pub value: u32,
}

impl Pick {
    /// Returns the number of picks with more than one possible answer.
    pub fn drawn(picks: &[Pick]) -> u64 {
        // Most runs have none, and the loop is made for many.
        if picks.is_empty() { 0 } else { picks.iter().filter(|pick| pick.arity > 1).count() as u64 }
    }
}

/// An announced operation that a step of another thread replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// The index of the event in which that happened.
    pub step: u32,
    /// The thread that had announced the operation.
    pub thread: ThreadId,
    /// The operation, which was not executed.
    pub operation: Operation,
}

/// The executed events of a run in order, and every decision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The events in the order of execution.
    pub events: Vec<Event>,
    /// Every other decision, in order.
    pub picks: Vec<Pick>,
    /// For every thread, the thread that created it; the first thread has none.
    pub parents: Vec<Option<ThreadId>>,
    /// The announced operation of each thread at the end of the run, if any.
    pub pending: Vec<Option<Operation>>,
    /// Every announced operation that a step of another thread replaced, in order; few runs have any.
    pub replaced: Vec<Replaced>,
    /// The enabled threads of all scheduling points, one after the other; see [`Trace::enabled_at`].
    pub enabled: Vec<ThreadId>,
    /// The index in `enabled` of the first enabled thread of each point; empty if they were not recorded.
    pub enabled_from: Vec<u32>,
    /// A hash of the program's state at each point; empty if it was not recorded.
    pub states: Vec<u64>,
    /// True if the program exits only when nothing else can run, not at any step.
    pub exit_last: bool,
    /// True if timeouts may fire at any step, not only when nothing else can run.
    pub timeouts_anytime: bool,
    /// The events that continue a transaction: each follows an event of the same thread, and nothing could come between the
    /// two. In order. If the run ended because its next event could not be executed, that is the last one.
    pub joined: Vec<u32>,
}

impl Trace {
    /// Clears everything but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.picks.clear();
        self.parents.clear();
        self.pending.clear();
        self.replaced.clear();
        self.enabled.clear();
        self.enabled_from.clear();
        self.states.clear();
        self.exit_last = false;
        self.timeouts_anytime = false;
        self.joined.clear();
    }

    /// Returns the threads that were enabled at event `step`, in thread order. There may be one more point
    /// than events: the one at which a run was cut off. Empty unless recorded.
    pub fn enabled_at(&self, step: usize) -> &[ThreadId] {
        let Some(&from) = self.enabled_from.get(step) else { return &[] };
        let to = self.enabled_from.get(step + 1).map_or(self.enabled.len(), |&to| to as usize);
        &self.enabled[from as usize..to]
    }

    /// Returns the first event of each transaction. An event outside transactions is one by itself.
    pub fn transactions(&self) -> Vec<usize> {
        if self.joined.is_empty() {
            return (0..self.events.len()).collect();
        }
        let mut joined = self.joined.iter().map(|&event| event as usize).peekable();
        (0..self.events.len()).filter(|&event| joined.next_if_eq(&event).is_none()).collect()
    }

    /// Returns the number of preemptions: events that switch away from an enabled thread. Requires the
    /// recorded enabled threads.
    pub fn preemptions(&self) -> usize {
        (1..self.events.len())
            .filter(|&step| {
                let before = self.events[step - 1].thread;
                self.events[step].thread != before && self.enabled_at(step).contains(&before)
            })
            .count()
    }
}
