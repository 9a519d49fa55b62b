//! Continuing a run that the strategy has cut off, so that its threads reach their ends.

use crate::engine::Engine;
use raddle_model::Verdict;

/// The state of a run when it was cut off.
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
    /// Returns true if the run was cut off.
    pub fn is_cut_off(&self) -> bool {
        self.verdict == Some(Verdict::CutOff)
    }

    /// Continues a run that was cut off, under any strategy. After [`Engine::return_to`], [`Engine::summary`]
    /// returns the state before this call again, except for the data that strategies learn from and for
    /// threads and objects added meanwhile.
    pub fn go_on_after_cut_off(&mut self) -> CutOffAt {
        assert!(self.is_cut_off(), "only a run that was cut off continues");
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

    /// Discards the steps of a run after it was cut off.
    pub fn return_to(&mut self, at: CutOffAt) {
        self.trace.events.truncate(at.events);
        self.trace.picks.truncate(at.picks);
        self.freed.truncate(at.freed);
        (self.steps, self.rests) = (at.steps, at.rests);
        (self.fingerprint, self.silent) = (at.fingerprint, at.silent);
        self.end(Verdict::CutOff);
    }
}
