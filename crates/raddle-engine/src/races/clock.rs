//! Vector clocks that grow with the number of threads.

use raddle_model::ThreadId;

/// Number of known events of each thread. A thread without an entry has none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    /// Returns the number of known events of `thread`.
    #[inline]
    pub(super) fn of(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    /// Returns the counts, indexed by thread.
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

    /// Joins the knowledge of `other`.
    #[inline]
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Becomes equal to `other`, reusing its memory.
    #[inline]
    pub(super) fn set(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    /// Resets the clock.
    pub(super) fn clear(&mut self) {
        self.0.clear();
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
}

impl ThreadClocks {
    pub(super) fn clear(&mut self) {
        self.now.clear();
        self.acquirable.clear();
        self.fenced.clear();
    }
}
