//! The accesses to one memory object that a later access may race with.

use super::clock::Clock;
use raddle_model::{Access, LocationId, MemoryOrder, ThreadId};

/// One access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) thread: ThreadId,
    /// The index of the event in its thread, as clocks count them.
    pub(super) count: u32,
    pub(super) step: u32,
    pub(super) location: LocationId,
    pub(super) order: MemoryOrder,
}

/// The accesses that a later one may race with. Without a race so far, plain writes are ordered, so that the
/// last one represents all of them, and everything before it is ordered before it.
#[derive(Default, Debug)]
pub(super) struct History {
    plain_write: Option<Mark>,
    /// Reads since the last plain write; the last one of each thread, here and below.
    plain_reads: Vec<Mark>,
    atomic_writes: Vec<Mark>,
    atomic_reads: Vec<Mark>,
}

impl History {
    pub(super) fn clear(&mut self) {
        self.plain_write = None;
        self.plain_reads.clear();
        self.atomic_writes.clear();
        self.atomic_reads.clear();
    }

    /// Returns true if there are plain accesses, with which an atomic one can race.
    #[inline]
    pub(super) fn has_plain(&self) -> bool {
        self.plain_write.is_some() || !self.plain_reads.is_empty()
    }

    /// Adds an atomic access, if there are no plain ones. Returns false if there are.
    #[inline]
    pub(super) fn add_to_atomics(&mut self, mark: Mark, writes: bool) -> bool {
        if self.has_plain() {
            return false;
        }
        put(if writes { &mut self.atomic_writes } else { &mut self.atomic_reads }, mark);
        true
    }

    /// Adds an access of a thread with clock `now`. Returns the latest access that it races with, if any.
    pub(super) fn add(&mut self, mark: Mark, writes: bool, now: &Clock) -> Option<(Mark, Access)> {
        let plain = mark.order == MemoryOrder::Plain;
        if !plain && self.add_to_atomics(mark, writes) {
            return None;
        }
        let unknown = |mark: &&Mark| now.of(mark.thread) < mark.count;
        let latest = |marks: &[Mark]| marks.iter().filter(unknown).max_by_key(|mark| mark.step).copied();
        let mut race = self.plain_write.filter(|mark| unknown(&mark)).map(|mark| (mark, Access::Write));
        let mut consider = |marks: &[Mark], access| {
            if let Some(found) = latest(marks).filter(|new| race.is_none_or(|(old, _)| old.step < new.step)) {
                race = Some((found, access));
            }
        };
        if writes {
            consider(&self.plain_reads, Access::Read);
        }
        if plain {
            consider(&self.atomic_writes, Access::Write);
        }
        if plain && writes {
            consider(&self.atomic_reads, Access::Read);
        }
        match (plain, writes) {
            (true, true) => {
                self.clear();
                self.plain_write = Some(mark);
            }
            (true, false) => put(&mut self.plain_reads, mark),
            (false, true) => put(&mut self.atomic_writes, mark),
            (false, false) => put(&mut self.atomic_reads, mark),
        }
        race
    }
}

/// Replaces the mark of the same thread by `mark`.
#[inline]
fn put(marks: &mut Vec<Mark>, mark: Mark) {
    match marks.iter_mut().find(|old| old.thread == mark.thread) {
        Some(old) => *old = mark,
        None => marks.push(mark),
    }
}
