//! Going on with a run that the strategy has cut off, so that its threads come to their ends.

use crate::engine::Engine;
use raddle_model::Verdict;

/// What a run was like when it was cut off.
#[derive(Clone, Copy, Debug)]
pub struct CutOffAt {
    events: usize,
    picks: usize,
    freed: usize,
    steps: u64,
    fingerprint: u64,
    silent: u64,
    rests: u64,
}

impl Engine {
    /// Returns whether the run was cut off.
    pub fn is_cut_off(&self) -> bool {
        self.verdict == Some(Verdict::CutOff)
    }

    /// Lets a run that was cut off go on, under any strategy. What [`Engine::summary`] said until now holds again after
    /// [`Engine::return_to`], but for what strategies learn from and for threads and objects that are added meanwhile.
    pub fn go_on_after_cut_off(&mut self) -> CutOffAt {
        assert!(self.is_cut_off(), "only a run that was cut off goes on");
        self.verdict = None;
        CutOffAt {
            events: self.trace.events.len(),
            picks: self.trace.picks.len(),
            freed: self.freed.len(),
            steps: self.steps,
            fingerprint: self.fingerprint,
            silent: self.silent,
            rests: self.rests,
        }
    }

    /// Forgets what happened in a run after it was cut off.
    pub fn return_to(&mut self, at: CutOffAt) {
        self.trace.events.truncate(at.events);
        self.trace.picks.truncate(at.picks);
        self.freed.truncate(at.freed);
        (self.steps, self.rests) = (at.steps, at.rests);
        (self.fingerprint, self.silent) = (at.fingerprint, at.silent);
        self.end(Verdict::CutOff);
    }
}
