//! Happens-before and races by their definition, event by event, as a matrix.

use crate::programs::{BARRIER, BOUNDED, Exchanging};
use raddle_engine::{Reply, RunSummary};
use raddle_model::{Event, Kind, MemoryOrder, ObjectId};
use std::collections::VecDeque;

pub(crate) struct Definition<'a> {
    events: &'a [Event],
    replies: Vec<Option<Reply>>,
    /// True if the event is an exchange that failed.
    failed: Vec<bool>,
    /// `before[b][a]`: event `a` happens before event `b`.
    before: Vec<Vec<bool>>,
}

impl<'a> Definition<'a> {
    pub(crate) fn new(run: &RunSummary<'a>, program: &Exchanging) -> Definition<'a> {
        let events = &run.trace.events[..];
        let mut of_thread = vec![VecDeque::new(); run.thread_count()];
        for (&(thread, reply), &failed) in program.script.replies.iter().zip(&program.failed) {
            of_thread[thread.index()].push_back((reply, failed));
        }
        let (mut replies, mut failed) = (Vec::new(), Vec::new());
        for event in events {
            // The two halves of a wait have one reply.
            let waits = event.operation.kind == Kind::ConditionWait;
            let reported = if waits { None } else { of_thread[event.thread.index()].pop_front() };
            replies.push(reported.map(|(reply, _)| reply));
            let exchange = event.operation.failure_order().is_some();
            failed.push(exchange && reported.is_some_and(|(_, failed)| failed));
        }
        let mut definition = Definition { events, replies, failed, before: Vec::new() };
        definition.close();
        definition
    }

    fn close(&mut self) {
        let size = self.events.len();
        let mut direct = vec![vec![false; size]; size];
        for later in 0..size {
            for (earlier, ordered) in direct[later].iter_mut().enumerate().take(later) {
                *ordered |= self.events[earlier].thread == self.events[later].thread
                    || self.spawns(earlier, later)
                    || self.hands_over(earlier, later);
            }
            for released in self.read_from(later) {
                let acquirers = (later..size).filter(|&acquirer| {
                    let same = self.events[acquirer].thread == self.events[later].thread;
                    let fence = same && self.kind(acquirer) == Kind::Fence && self.order(acquirer).acquires();
                    fence || (acquirer == later && self.order(later).acquires())
                });
                for acquirer in acquirers {
                    for releaser in self.releasers(released) {
                        direct[acquirer][releaser] = true;
                    }
                }
            }
        }
        self.add_barriers(&mut direct);
        for later in 0..size {
            for middle in 0..later {
                if direct[later][middle] {
                    let (known, row) = (direct[middle].clone(), &mut direct[later]);
                    row.iter_mut().zip(known).for_each(|(cell, known)| *cell |= known);
                }
            }
        }
        self.before = direct;
    }

    fn kind(&self, event: usize) -> Kind {
        self.events[event].operation.kind
    }

    fn object(&self, event: usize) -> Option<ObjectId> {
        self.events[event].operation.object()
    }

    fn got(&self, event: usize) -> bool {
        self.replies[event] == Some(Reply::Acquired)
    }

    /// Returns the effective order of a memory access; relaxed if it has none.
    fn order(&self, event: usize) -> MemoryOrder {
        let operation = &self.events[event].operation;
        let order = if self.failed[event] { operation.failure_order() } else { operation.memory_order() };
        order.unwrap_or(MemoryOrder::Relaxed)
    }

    fn is_told_memory(&self, event: usize) -> bool {
        let operation = &self.events[event].operation;
        matches!(operation.kind, Kind::Read | Kind::Write | Kind::ReadModifyWrite)
            && operation.memory_order().is_some()
    }

    fn writes(&self, event: usize) -> bool {
        self.kind(event) != Kind::Read && !self.failed[event]
    }

    fn spawns(&self, earlier: usize, later: usize) -> bool {
        self.replies[earlier] == Some(Reply::Spawned(self.events[later].thread))
    }

    /// Returns true if synchronisation other than memory leads straight from one event to the other.
    fn hands_over(&self, a: usize, b: usize) -> bool {
        use Kind::{
            Close, ConditionReacquire, ConditionWait, Join, Lock, OnceBegin, OnceEnd, OnceTry, Park,
            ReadLock, ReadWriteUnlock, Receive, SemaphorePost, SemaphoreTryWait, SemaphoreWait, Send,
            TryLock, TryReadLock, TryReceive, TrySend, TryWriteLock, Unlock, Unpark, WriteLock,
        };
        let same = self.object(a) == self.object(b);
        match (self.kind(a), self.kind(b)) {
            (_, Join) => {
                // The object that represents a thread is the child's; there is one child.
                self.got(b) && self.events[a].thread.index() == 3
            }
            (Unlock, Lock | TryLock) => same && self.replies[a] == Some(Reply::Go) && self.got(b),
            (Unlock, ConditionReacquire) => same && self.replies[a] == Some(Reply::Go),
            (ConditionWait, Lock | TryLock) => self.second(a) == self.object(b) && self.got(b),
            (ConditionWait, ConditionReacquire) => self.second(a) == self.object(b),
            (ReadWriteUnlock, ReadLock | TryReadLock) => same && self.got(b) && self.was_writer(a),
            (ReadWriteUnlock, WriteLock | TryWriteLock) => same && self.got(b),
            (SemaphorePost, SemaphoreWait | SemaphoreTryWait) => same && self.got(b),
            (OnceEnd, OnceBegin) => same,
            (OnceEnd, OnceTry) => same && self.got(b),
            (Unpark, Park) => same && self.got(b),
            (Send | TrySend, Receive | TryReceive) => {
                let number = |event| self.number(event);
                same && self.got(a) && self.got(b) && number(a) == number(b)
            }
            (Receive | TryReceive, Send | TrySend) => {
                same && self.object(a) == Some(ObjectId(BOUNDED)) && self.got(a) && self.got(b)
            }
            (Close, Send | TrySend | Receive | TryReceive) => same && self.replies[b] == Some(Reply::Closed),
            _ => false,
        }
    }

    fn second(&self, event: usize) -> Option<ObjectId> {
        self.events[event].operation.touches[1].object()
    }

    /// Returns true if an unlock ends what the same thread had taken for writing.
    fn was_writer(&self, unlock: usize) -> bool {
        let taken = (0..unlock).rev().find(|&event| {
            let takes = matches!(
                self.kind(event),
                Kind::ReadLock | Kind::TryReadLock | Kind::WriteLock | Kind::TryWriteLock
            );
            takes && self.got(event) && self.events[event].thread == self.events[unlock].thread
        });
        taken.is_some_and(|event| matches!(self.kind(event), Kind::WriteLock | Kind::TryWriteLock))
    }

    /// Returns the index of the value of its channel that an event sent or received.
    fn number(&self, event: usize) -> usize {
        let sends = |event: usize| matches!(self.kind(event), Kind::Send | Kind::TrySend);
        let receives = |event: usize| matches!(self.kind(event), Kind::Receive | Kind::TryReceive);
        let like = |other: usize| if sends(event) { sends(other) } else { receives(other) };
        (0..event)
            .filter(|&other| like(other) && self.got(other) && self.object(other) == self.object(event))
            .count()
    }

    /// Returns the writes from whose release sequences an access reads the last write.
    fn read_from(&self, access: usize) -> Vec<usize> {
        let mut heads = Vec::new();
        let reads = self.is_told_memory(access) && self.kind(access) != Kind::Write;
        if !reads || self.order(access) == MemoryOrder::Plain {
            return heads;
        }
        let writes = (0..access).rev().filter(|&event| {
            self.is_told_memory(event) && self.writes(event) && self.object(event) == self.object(access)
        });
        for write in writes {
            if self.order(write) == MemoryOrder::Plain {
                break;
            }
            heads.push(write);
            if self.kind(write) == Kind::Write {
                break;
            }
        }
        heads
    }

    /// Returns the write itself if it releases, and the fences that make it release.
    fn releasers(&self, write: usize) -> Vec<usize> {
        let fences = (0..write).filter(|&fence| {
            let same = self.events[fence].thread == self.events[write].thread;
            same && self.kind(fence) == Kind::Fence && self.order(fence).releases()
        });
        fences.chain(self.order(write).releases().then_some(write)).collect()
    }

    fn add_barriers(&self, direct: &mut [Vec<bool>]) {
        let arrivals: Vec<usize> =
            (0..self.events.len()).filter(|&event| self.kind(event) == Kind::Barrier).collect();
        for group in arrivals.chunks_exact(BARRIER) {
            for &departing in group {
                let mut rest = departing + 1..self.events.len();
                let next = rest.find(|&event| self.events[event].thread == self.events[departing].thread);
                for &arrival in group {
                    next.into_iter().for_each(|next| direct[next][arrival] = true);
                }
            }
        }
    }

    /// Iterates over pairs of accesses of different threads to the same memory, one of which writes and one
    /// of which is plain.
    fn conflicts(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let size = self.events.len();
        (0..size).flat_map(move |b| (0..b).map(move |a| (a, b))).filter(|&(a, b)| {
            let plain = [a, b].iter().any(|&event| self.order(event) == MemoryOrder::Plain);
            self.is_told_memory(a)
                && self.is_told_memory(b)
                && self.events[a].thread != self.events[b].thread
                && self.object(a) == self.object(b)
                && (self.writes(a) || self.writes(b))
                && plain
        })
    }

    /// Returns all races, the earlier access first.
    pub(crate) fn races(&self) -> Vec<(usize, usize)> {
        self.conflicts().filter(|&(a, b)| !self.before[b][a]).collect()
    }

    /// Returns true if two accesses conflict and are ordered.
    pub(crate) fn has_ordered_conflict(&self) -> bool {
        self.conflicts().any(|(a, b)| self.before[b][a])
    }
}
