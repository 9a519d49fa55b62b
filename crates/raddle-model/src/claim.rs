//! The conclusions of a search that found no failure.

use serde::{Deserialize, Serialize};

/// A true statement about bugs that a search without a failure has not found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Claim {
    /// A strategy that covers every behaviour has no schedule left.
    Exhausted {
        /// Number of partial orders.
        partial_orders: u64,
    },
    /// All strategies are out of schedules, within their bounds.
    WithinBounds {
        /// Number of partial orders seen.
        partial_orders: u64,
    },
    /// Runs of strategies that give every partial order a minimum probability (POS, random walk) missed it.
    AnyOrder {
        /// Upper bound on the probability that all of them miss a given partial order.
        missed: f64,
        /// Number of runs.
        runs: u64,
        /// The `n` of the bound: the largest number of threads in a run.
        threads: u64,
        /// The `k` of the bound: the largest number of steps in a run.
        steps: u64,
    },
    /// Runs of PCT missed a bug.
    Depth {
        /// The largest depth of the bug.
        depth: u64,
        /// Upper bound on the probability that all runs miss it.
        missed: f64,
        /// Number of runs of PCT with this depth or a greater one.
        runs: u64,
        /// The `n` of the bound: the largest number of threads in a run.
        threads: u64,
        /// The `k` of the bound: the largest number of steps in a run.
        steps: u64,
    },
    /// A strategy estimates the number of partial orders.
    Share {
        /// Number of partial orders seen.
        seen: u64,
        /// Estimated number of partial orders.
        estimate: f64,
        /// Lower end of the likely range.
        low: f64,
        /// Upper end of the likely range.
        high: f64,
    },
    /// The runs are a sample, from which the probability that another run shows a new partial order was
    /// estimated.
    NextNew {
        /// The Good-Turing estimate: the share of runs whose partial order occurred once.
        chance: f64,
        /// Upper bound with 95 % confidence.
        high: f64,
        /// Number of runs.
        runs: u64,
    },
    /// Number of new partial orders at the end of the search. This says nothing about orders that never
    /// occur.
    Saturation {
        /// Number of these runs with a partial order that no earlier run had.
        new: u64,
        /// The last tenth of all runs.
        runs: u64,
    },
}

impl Claim {
    /// Returns true if it bounds what was missed, rather than counting what was seen.
    pub fn is_guarantee(&self) -> bool {
        !matches!(self, Claim::NextNew { .. } | Claim::Saturation { .. })
    }
}

/// The statements that hold for a search, the strongest first; none if a run failed or nothing useful is
/// known.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claims {
    /// The statements.
    pub statements: Vec<Claim>,
    /// The schedules that were run, if the search ended because its strategies had no schedule left, with or without a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhaustion: Option<Exhaustion>,
    /// Number of times a spinning thread was descheduled. Schedules that spin longer are outside every
    /// statement.
    pub rests: u64,
    /// Number of runs that ended at the step limit. Whatever follows there is outside every statement.
    pub cut_short: u64,
    /// Timeouts fired only when nothing else could run, in some runs with timeouts. Earlier ones are outside of every statement.
    #[serde(default)]
    pub idle_timeouts: bool,
    /// Memory accesses are no scheduling points. Bugs that need another order of these are outside of every statement.
    #[serde(default)]
    pub synchronisation_only: bool,
    /// A thread sent a signal to another one, or cancelled it. Other moments at which that takes effect are outside of every statement.
    #[serde(default)]
    pub interrupts: bool,
    /// Runs in which old values of atomics could not be read because there were too many. They are outside of every statement.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forgot_writes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The schedules that strategies without a schedule left have run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Exhaustion {
    /// One of each partial order, at least.
    Everything,
    /// Those within the bounds of the strategies.
    WithinBounds,
    /// Those that the strategies had planned. They may have left out others within their bounds.
    Planned,
    /// One for each interleaving that was predicted, or enough attempts.
    Predicted,
}
