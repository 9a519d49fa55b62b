//! The gain of earlier runs, and the expected gain of further ones.

use raddle_model::IRoot;
use std::collections::BTreeMap;

/// Number of iRoots that a run exposes: a mean weighted towards the latest runs, in units of 1/4096.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Gain(u64);

impl Gain {
    pub(super) fn note(&mut self, exposed: u64) {
        self.0 += (exposed << 12) / 16;
        self.0 -= self.0 / 16;
    }
}

/// The iRoots exposed by runs that did not aim at any.
#[derive(Clone, Default)]
pub(super) struct ByChance {
    runs: u64,
    /// True if more than one run has exposed it.
    seen: BTreeMap<IRoot, bool>,
    /// Number of iRoots that exactly one run has exposed.
    once: u64,
}

impl ByChance {
    /// Records a run and the iRoots it exposed.
    pub(super) fn note(&mut self, roots: impl Iterator<Item = IRoot>) {
        self.runs += 1;
        for root in roots {
            match self.seen.get_mut(&root) {
                None => {
                    self.seen.insert(root, false);
                    self.once += 1;
                }
                Some(again) if !*again => {
                    *again = true;
                    self.once -= 1;
                }
                Some(_) => {}
            }
        }
    }

    /// Returns true if less than one in `end` further runs is expected to expose anything new. By Good and
    /// Turing that share is about the number of iRoots seen once over the number of runs; one is added,
    /// because few runs are little evidence.
    pub(super) fn is_calm(&self, end: u32) -> bool {
        (self.once + 1) * u64::from(end) <= self.runs
    }
}
