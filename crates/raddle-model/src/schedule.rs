//! A schedule that can be followed loosely: who runs how far, one thread after the other.

use crate::{ThreadId, TraceFile};
use serde::{Deserialize, Serialize};

/// A thread runs until it has taken so many steps since the beginning of the run.
///
/// Counting from the beginning makes segments robust: without one of them, the thread's next segment does its steps too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// Who runs.
    pub thread: ThreadId,
    /// How many steps it has taken at the end of the segment; [`Segment::ALL`] for as many as it can.
    pub until: u32,
}

impl Segment {
    /// Until the thread ends or waits.
    pub const ALL: u32 = u32::MAX;
}

/// Who runs after the last segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// No thread is interrupted any more: each runs until it ends or waits, then the enabled one with the lowest number
    /// goes on.
    #[default]
    Uninterrupted,
    /// What follows from this seed, but for threads that a constraint holds back. An even seed takes any enabled thread with equal
    /// probability at each step, an odd one gives the threads priorities for the whole run.
    Random(u64),
}

/// An order of two steps: a thread does not take its own step number `after.until` before another has taken its own step
/// number `before.until`, both from 1. A thread is held back only while another one can run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Constraint {
    /// What comes first.
    pub before: Segment,
    /// What comes later.
    pub after: Segment,
}

/// Who runs how far, and what is answered where a number is asked for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// One after the other. One whose thread cannot run, or is that far already, is passed over.
    pub segments: Vec<Segment>,
    /// For every thread, the answers of the decisions in its steps in order, as (how many answers, answer).
    pub answers: Vec<Vec<(u32, u32)>>,
    /// Orders that hold after the last segment, where threads are drawn.
    pub constraints: Vec<Constraint>,
    /// Who runs after the last segment.
    pub completion: Completion,
}

impl Schedule {
    /// The schedule of a recorded run.
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
            // The steps may be the beginning of a run whose decisions are all there.
            let Some(step) = file.steps.get(step as usize) else { continue };
            schedule.answers[step.thread as usize].push((arity, value));
        }
        schedule
    }
}
