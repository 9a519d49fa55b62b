//! Background threads, which a run does not wait for.

use crate::Engine;
use raddle_model::{ThreadId, Verdict};

impl Engine {
    /// Moves `thread`, which has not ended, to the background: the run passes when all other threads have
    /// ended and the background threads can do nothing. Time does not pass for background threads alone, and
    /// one that has returned to the same operation more often than
    /// [`Config::patience`](crate::Config::patience) allows can do nothing.
    pub fn set_background(&mut self, thread: ThreadId) {
        let entry = self.threads.get_mut(thread);
        self.background += usize::from(!entry.background);
        entry.background = true;
    }

    /// Ends the run as passed if only background threads are left, whatever they could still do.
    pub fn abandon_background(&mut self) {
        if self.verdict.is_none() && self.alive == self.background {
            self.end(Verdict::Passed);
        }
    }

    /// Returns true if there are background threads and `thread` is the only other one.
    pub fn is_last_before_background(&self, thread: ThreadId) -> bool {
        self.background > 0 && self.alive == self.background + 1 && !self.is_background(thread)
    }

    /// Returns true if `thread` is a background thread.
    pub fn is_background(&self, thread: ThreadId) -> bool {
        self.threads.get(thread).background
    }
}
