//! The rules for children that execute many runs: when one is created, and which runs are checked.

use crate::child::switching;
use raddle_model::native::Isolation;

/// The children that execute many runs.
pub(super) struct Residents {
    /// False if every run is forked.
    pub(super) are_wanted: bool,
    /// The current one.
    pub(super) process: Option<i32>,
    /// The number of runs that it has executed.
    runs: u64,
    /// The number of consecutive children that ended soon.
    short: u32,
    /// The number of runs to be forked before the next one is created.
    pause: u64,
    /// The number of runs that were not forked since the latest one that was repeated in a forked child. The second one
    /// of all is repeated.
    unchecked: u64,
}

/// The number of runs, not forked, of which the last is repeated in a forked child.
const CHECKED: u64 = 1000;

/// A child that has executed fewer runs has ended soon: creating it cost more than it saved.
const FEW: u64 = 8;

/// The number of runs that are forked after one child that ended soon; twice as many after two, and so on.
const PAUSE: u64 = 16;
const MOST_DOUBLINGS: u32 = 8;

impl Residents {
    pub(super) fn new(isolation: Isolation) -> Residents {
        let are_wanted = isolation == Isolation::Reset;
        Residents { are_wanted, process: None, runs: 0, short: 0, pause: 0, unchecked: CHECKED - 2 }
    }

    /// Returns true if the next child that is forked should execute many runs. Called once for each.
    pub(super) fn is_due(&mut self) -> bool {
        if !self.are_wanted || switching::uses_os_threads() {
            return false;
        }
        let is_due = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        is_due
    }

    /// Records that a new child executes many runs.
    pub(super) fn note_start(&mut self, process: i32) {
        (self.process, self.runs) = (Some(process), 0);
    }

    /// Records that the current child has executed one more run. Returns true if it should be repeated in a forked
    /// child.
    pub(super) fn note_run(&mut self) -> bool {
        self.runs += 1;
        self.unchecked = (self.unchecked + 1) % CHECKED;
        self.unchecked == 0
    }

    /// Returns the number of runs up to the next one that should be repeated.
    pub(super) fn until_check(&self) -> usize {
        (CHECKED - self.unchecked) as usize
    }

    /// Records that the current child has ended, after so many runs that were not recorded yet.
    pub(super) fn note_end(&mut self, more: u64) {
        self.process = None;
        if self.runs + more >= FEW {
            self.short = 0;
            return;
        }
        self.pause = PAUSE << self.short.min(MOST_DOUBLINGS);
        self.short += 1;
    }
}
