//! A schedule that can be followed loosely: segments of threads, one after the other.

use crate::{MemoryOrder, Name, ThreadId, TraceFile};
use serde::{Deserialize, Serialize};

/// A thread and the number of its own steps, counted from the beginning of the run, up to which it runs.
///
/// Counting from the beginning makes segments robust: if one is removed, the thread's next segment executes
/// its steps too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// The thread.
    pub thread: ThreadId,
    /// The number of steps of the thread at the end of the segment; [`Segment::ALL`] for as many as it can
    /// take.
    pub until: u32,
}

impl Segment {
    /// Until the thread ends or waits.
    pub const ALL: u32 = u32::MAX;
}

/// The choice of threads after the last segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// No preemptions: each thread runs until it ends, waits or is held back by a constraint, then the enabled
    /// thread with the lowest number continues.
    #[default]
    Uninterrupted,
    /// Random choices from this seed, except for threads that a constraint holds back. An even seed chooses
    /// any enabled thread with equal probability at each step; an odd one gives the threads priorities for
    /// the whole run.
    Random(u64),
}

/// An order of two steps: a thread does not take its own step number `after.until` before another has taken
/// its own step number `before.until`, both from 1. A thread is held back only while another one can run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Constraint {
    /// The first step.
    pub before: Segment,
    /// The later step.
    pub after: Segment,
}

/// The segments of threads, and the answers to other decisions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// The segments, in order. A segment is skipped if its thread cannot run or has already reached its end. If there are
    /// constraints, it is not skipped for good: each step is one of the first segment whose thread can take it.
    pub segments: Vec<Segment>,
    /// For every thread, the answers to the decisions in its steps in order, as (number of answers, answer).
    pub answers: Vec<Vec<(u32, u32)>>,
    /// Orders that hold in the whole run.
    pub constraints: Vec<Constraint>,
    /// The choice of threads after the last segment.
    pub completion: Completion,
    /// Memory orders that the program does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<Stronger>,
}

/// A memory order for the atomic accesses or fences at a location in the code. Weaker ones are raised to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Stronger {
    /// The name of the location, as by [`TraceFile::location_name`].
    pub location: Name,
    /// The order.
    pub order: MemoryOrder,
}

impl Schedule {
    /// Returns the schedule of a recorded run.
    pub fn of(file: &TraceFile) -> Schedule {
        let mut taken: Vec<u32> = vec![0; file.threads.len()];
        let mut schedule = Schedule { answers: vec![Vec::new(); file.threads.len()], ..Schedule::default() };
        for run in file.steps.chunk_by(|a, b| a.thread == b.thread) {
            let thread = run[0].thread;
            let until = &mut taken[thread as usize];
            *until = until.saturating_add(run.len() as u32);
            schedule.segments.push(Segment { thread: ThreadId(thread), until: *until });
        }
        for &(step, arity, value) in &file.picks {
            // The steps may be a prefix of a run, with all of its decisions.
            let Some(step) = file.steps.get(step as usize) else { continue };
            schedule.answers[step.thread as usize].push((arity, value));
        }
        schedule
    }
}
