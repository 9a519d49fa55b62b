//! What runs have brought, and what is to be expected of further ones.

use raddle_model::IRoot;
use std::collections::BTreeMap;

/// How many iRoots a run exposes: a mean in which the latest runs weigh most, in units of 1/4096.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Gain(u64);

impl Gain {
    pub(super) fn note(&mut self, exposed: u64) {
        self.0 += (exposed << 12) / 16;
        self.0 -= self.0 / 16;
    }
}

/// The iRoots that runs have had without being made for any.
#[derive(Clone, Default)]
pub(super) struct ByChance {
    runs: u64,
    /// Whether more than one run has had it.
    seen: BTreeMap<IRoot, bool>,
    /// How many only one run has had.
    once: u64,
}

impl ByChance {
    /// Takes note of a run and of what it had.
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

    /// Whether less than one in `end` further runs is expected to have anything new. By Good and Turing that share is about the
    /// number of those seen once over the number of runs; one is added, for few runs tell little.
    pub(super) fn is_calm(&self, end: u32) -> bool {
        (self.once + 1) * u64::from(end) <= self.runs
    }
}
