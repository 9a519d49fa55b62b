//! The holders of locks, derived from the order of the steps.

use super::{Edge, EdgeKind, Span, Timeline};
use raddle_model::{Holding, LockMode, Operation};
use std::collections::{BTreeMap, BTreeSet};

/// The history of the locks of a run.
#[derive(Default)]
pub(super) struct Locks {
    pub(super) holds: Vec<Hold>,
    pub(super) edges: Vec<Edge>,
}

/// The time for which a thread holds a lock.
#[derive(Clone, Copy)]
pub(super) struct Hold {
    pub(super) span: Span,
    /// True if others may hold it too.
    pub(super) is_shared: bool,
}

/// One lock at some step.
#[derive(Default)]
struct Lock {
    holders: Vec<Holder>,
    /// The latest step that released it.
    given_back: Option<u32>,
}

struct Holder {
    thread: u32,
    since: u32,
    depth: u32,
    is_shared: bool,
}

/// Follows the locks through the executed steps.
pub(super) fn follow(timeline: &Timeline) -> Locks {
    let mut state =
        State { timeline, locks: BTreeMap::new(), over: BTreeSet::new(), found: Locks::default() };
    for step in 0..timeline.executed {
        state.step(step as u32);
    }
    let end = timeline.events.len() as u32;
    let left = std::mem::take(&mut state.locks);
    for (object, lock) in left {
        lock.holders.iter().for_each(|holder| state.close(object, holder, end));
    }
    state.found.holds.sort_by_key(|hold| hold.span);
    state.found
}

struct State<'a> {
    timeline: &'a Timeline,
    locks: BTreeMap<u32, Lock>,
    /// Completed one-time initializations.
    over: BTreeSet<u32>,
    found: Locks,
}

impl State<'_> {
    fn step(&mut self, step: u32) {
        let operation = self.timeline.events[step as usize].operation;
        let Some(object) = operation.object().map(|object| object.0) else { return };
        let untimed = operation.argument == Operation::UNTIMED;
        match operation.kind.info().holding {
            Holding::None => {}
            Holding::Takes(mode) => self.take(step, object, mode == LockMode::Shared, untimed),
            Holding::TakesBack => self.take(step, object, false, untimed),
            Holding::Tries(mode) => self.take(step, object, mode == LockMode::Shared, false),
            Holding::GivesBack => self.give_back(step, object),
            Holding::GivesBackToWait => {
                if let Some(mutex) = operation.touches[1].object() {
                    self.give_back(step, mutex.0);
                }
            }
            Holding::Downgrades => {
                self.give_back(step, object);
                self.take(step, object, true, true);
            }
            Holding::BeginsOnce if !self.over.contains(&object) => self.take(step, object, false, true),
            Holding::BeginsOnce | Holding::AwaitsOnce => self.order(step, object),
            Holding::EndsOnce => {
                self.give_back(step, object);
                if operation.argument != 0 {
                    self.over.insert(object);
                }
            }
        }
    }

    /// Acquires a lock. If another thread holds it, an attempt and a wait with a time limit have failed; one
    /// without a limit has not, so no thread can have held it.
    fn take(&mut self, step: u32, object: u32, is_shared: bool, certainly: bool) {
        let thread = self.timeline.events[step as usize].thread;
        let lock = self.locks.entry(object).or_default();
        if let Some(own) = lock.holders.iter_mut().find(|holder| holder.thread == thread) {
            own.depth += 1;
            return;
        }
        let is_free = lock.holders.iter().all(|holder| is_shared && holder.is_shared);
        if !is_free && !certainly {
            return;
        }
        let gone = if is_free { Vec::new() } else { std::mem::take(&mut lock.holders) };
        lock.holders.push(Holder { thread, since: step, depth: 1, is_shared });
        gone.iter().for_each(|holder| self.close(object, holder, step));
        self.order(step, object);
    }

    fn give_back(&mut self, step: u32, object: u32) {
        let thread = self.timeline.events[step as usize].thread;
        let lock = self.locks.entry(object).or_default();
        // A thread that releases it for another one is the last to have touched it.
        let own = lock.holders.iter().position(|holder| holder.thread == thread);
        let Some(index) = own.or(if lock.holders.is_empty() { None } else { Some(0) }) else { return };
        let holder = &mut lock.holders[index];
        holder.depth -= 1;
        if holder.depth == 0 {
            lock.given_back = Some(step);
            let holder = lock.holders.remove(index);
            self.close(object, &holder, step);
        }
    }

    /// Records that this step needed the latest release.
    fn order(&mut self, step: u32, object: u32) {
        let events = &self.timeline.events;
        let released = self.locks.get(&object).and_then(|lock| lock.given_back);
        if let Some(from) =
            released.filter(|&from| events[from as usize].thread != events[step as usize].thread)
        {
            self.found.edges.push(Edge { from, to: step, kind: EdgeKind::Unlock });
        }
    }

    fn close(&mut self, object: u32, holder: &Holder, to: u32) {
        let span = Span { from: holder.since, to, thread: holder.thread, object: Some(object) };
        self.found.holds.push(Hold { span, is_shared: holder.is_shared });
    }
}
