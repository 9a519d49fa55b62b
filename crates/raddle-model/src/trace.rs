//! What happened in one run.

use crate::{Operation, ThreadId};

/// One executed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who executed it.
    pub thread: ThreadId,
    /// What was executed.
    pub operation: Operation,
}

/// One number that the strategy was asked for: which waiter a signal wakes, or a data choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    /// The index of the event in whose execution it was asked for.
    pub step: u32,
    /// How many answers there were.
    pub arity: u32,
    /// The answer, below `arity`.
    pub value: u32,
}

impl Pick {
    /// Returns how many of `picks` had more than one answer.
    pub fn drawn(picks: &[Pick]) -> u64 {
        picks.iter().filter(|pick| pick.arity > 1).count() as u64
    }
}

/// The executed events of a run in order, and all that was decided in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The events in the order of execution.
    pub events: Vec<Event>,
    /// Every other decision, in order.
    pub picks: Vec<Pick>,
    /// For every thread, the thread that created it; the first thread has none.
    pub parents: Vec<Option<ThreadId>>,
    /// What each thread was about to do when the run ended, if it was about to do something.
    pub pending: Vec<Option<Operation>>,
    /// The enabled threads of all points, one after the other; see [`Trace::enabled_at`].
    pub enabled: Vec<ThreadId>,
    /// Where the enabled threads of each point begin in `enabled`; empty if they were not recorded.
    pub enabled_from: Vec<u32>,
    /// A hash of the program's state at each point; empty if it was not recorded.
    pub states: Vec<u64>,
    /// Whether the end of the program came when nothing else could run, not at any moment.
    pub exit_last: bool,
    /// Whether time-outs could fire at any moment, not only when nothing else could run.
    pub timeouts_anytime: bool,
}

impl Trace {
    /// Forgets everything but the memory held.
    pub fn clear(&mut self) {
        self.events.clear();
        self.picks.clear();
        self.parents.clear();
        self.pending.clear();
        self.enabled.clear();
        self.enabled_from.clear();
        self.states.clear();
        self.exit_last = false;
        self.timeouts_anytime = false;
    }

    /// The threads that could have been chosen where event `step` was, in thread order. One more point than
    /// there are events may exist: the one at which a run was cut off. Empty unless it was recorded.
    pub fn enabled_at(&self, step: usize) -> &[ThreadId] {
        let Some(&from) = self.enabled_from.get(step) else { return &[] };
        let to = self.enabled_from.get(step + 1).map_or(self.enabled.len(), |&to| to as usize);
        &self.enabled[from as usize..to]
    }

    /// How many events switch away from a thread that could have gone on: the preemptions of the run.
    /// Needs the recorded enabled threads.
    pub fn preemptions(&self) -> usize {
        (1..self.events.len())
            .filter(|&step| {
                let before = self.events[step - 1].thread;
                self.events[step].thread != before && self.enabled_at(step).contains(&before)
            })
            .count()
    }
}
