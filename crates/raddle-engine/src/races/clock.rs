//! Vector clocks that grow with the number of threads, and views that grow with the number of atomics.

use raddle_model::{LocationId, ThreadId};

/// The knowledge at some moment: events, by [happens-before](super), and writes to atomics.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Clock {
    /// The number of known events of each thread. A thread that is not named has none.
    counts: Vec<u32>,
    pub(super) view: View,
}

impl Clock {
    /// Returns the number of known events of `thread`.
    #[inline]
    pub(super) fn of(&self, thread: ThreadId) -> u32 {
        self.counts.get(thread.index()).copied().unwrap_or(0)
    }

    /// Returns the counts, indexed by thread.
    pub(super) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Counts an event of `thread`.
    #[inline]
    pub(super) fn increment(&mut self, thread: ThreadId) {
        match self.counts.get_mut(thread.index()) {
            Some(count) => *count += 1,
            None => self.begin(thread),
        }
    }

    /// Counts the first event of `thread`.
    #[cold]
    fn begin(&mut self, thread: ThreadId) {
        self.counts.resize(thread.index() + 1, 0);
        self.counts[thread.index()] = 1;
    }

    /// Joins the knowledge of `other`.
    #[inline]
    pub(super) fn join(&mut self, other: &Clock) {
        join(&mut self.counts, &other.counts);
        self.view.join(&other.view);
    }

    /// Becomes equal to `other`, reusing its memory.
    #[inline]
    pub(super) fn set(&mut self, other: &Clock) {
        self.counts.clear();
        self.counts.extend_from_slice(&other.counts);
        self.view.set(&other.view);
    }

    /// Returns true if nothing is known.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.view.0.is_empty()
    }

    /// Resets the clock.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.view.clear();
    }
}

/// For each atomic with several messages, by its [slot](super::messages::Slots): the time stamp of the latest
/// write that is known. Empty under sequential consistency.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct View(Vec<u64>);

impl View {
    /// Returns the time stamp of the latest write that is known, or 0.
    #[inline]
    pub(super) fn of(&self, slot: usize) -> u64 {
        self.0.get(slot).copied().unwrap_or(0)
    }

    /// Learns of a write.
    #[inline]
    pub(super) fn raise(&mut self, slot: usize, stamp: u64) {
        match self.0.get_mut(slot) {
            Some(known) => *known = stamp.max(*known),
            None => self.learn_first(slot, stamp),
        }
    }

    /// Learns of the first write to an atomic.
    #[cold]
    fn learn_first(&mut self, slot: usize, stamp: u64) {
        self.0.resize(slot + 1, 0);
        self.0[slot] = stamp;
    }

    #[inline]
    pub(super) fn join(&mut self, other: &View) {
        join(&mut self.0, &other.0);
    }

    #[inline]
    pub(super) fn set(&mut self, other: &View) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Takes the greater of each two numbers. A missing one is 0.
#[inline]
fn join<N: Copy + Ord + Default>(mine: &mut Vec<N>, theirs: &[N]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), N::default());
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine).max(*theirs);
    }
}

/// The clocks of a thread.
#[derive(Default, Debug)]
pub(super) struct ThreadClocks {
    /// The events that happen before its next event.
    pub(super) now: Clock,
    /// The clocks read by its relaxed reads; an acquire fence joins them.
    pub(super) acquirable: Clock,
    /// Its clock at its last release fence; its relaxed writes publish that.
    pub(super) fenced: Clock,
    /// The number of consecutive reads of an old value at each location in the code that has one.
    pub(super) old_reads: Vec<(LocationId, u32)>,
}

impl ThreadClocks {
    pub(super) fn clear(&mut self) {
        self.now.clear();
        self.acquirable.clear();
        self.fenced.clear();
        self.old_reads.clear();
    }
}
