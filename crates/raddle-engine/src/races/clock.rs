//! Vector clocks that grow with the number of threads.

use raddle_model::ThreadId;

/// How many events of each thread are known. A thread that is not named has none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    /// How many events of `thread` are known.
    #[inline]
    pub(super) fn of(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    /// Returns the counts, by the numbers of the threads.
    pub(super) fn counts(&self) -> &[u32] {
        &self.0
    }

    /// Counts an event of `thread`.
    #[inline]
    pub(super) fn increment(&mut self, thread: ThreadId) {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        self.0[thread.index()] += 1;
    }

    /// Learns all that `other` knows.
    #[inline]
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Becomes equal to `other`, in the memory it has.
    #[inline]
    pub(super) fn set(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    /// Knows nothing any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a thread knows.
#[derive(Default, Debug)]
pub(super) struct ThreadClocks {
    /// What happens before its next event.
    pub(super) now: Clock,
    /// What its relaxed reads have read of; an acquiring fence takes it over.
    pub(super) acquirable: Clock,
    /// What it knew at its last releasing fence; its relaxed writes publish that.
    pub(super) fenced: Clock,
}

impl ThreadClocks {
    pub(super) fn clear(&mut self) {
        self.now.clear();
        self.acquirable.clear();
        self.fenced.clear();
    }
}
