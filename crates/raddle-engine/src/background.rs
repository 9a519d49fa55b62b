//! Threads that a run does not wait for.

use crate::Engine;
use raddle_model::{ThreadId, Verdict};

impl Engine {
    /// Says that `thread`, which has not ended, does not keep the run going: the run is over, and has passed, when all
    /// other threads have ended and those of the background can do nothing. For them alone no time passes, and one that
    /// has come back to the same operation more often than [`Config::patience`](crate::Config::patience) allows can do nothing.
    pub fn set_background(&mut self, thread: ThreadId) {
        let entry = self.threads.get_mut(thread);
        self.background += usize::from(!entry.background);
        entry.background = true;
    }

    /// Ends the run, which has passed, if only threads of the background are left, whatever they could still do.
    pub fn abandon_background(&mut self) {
        if self.verdict.is_none() && self.alive == self.background {
            self.end(Verdict::Passed);
        }
    }

    /// Whether `thread` is the only one left but for those of the background, of which there are some.
    pub fn is_last_before_background(&self, thread: ThreadId) -> bool {
        self.background > 0 && self.alive == self.background + 1 && !self.is_background(thread)
    }

    /// Whether `thread` does not keep the run going.
    pub fn is_background(&self, thread: ThreadId) -> bool {
        self.threads.get(thread).background
    }
}
