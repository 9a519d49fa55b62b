//! What a search that found nothing shows.

use serde::{Deserialize, Serialize};

/// One true statement about bugs that a search without a failure has not found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Claim {
    /// A strategy that covers every behaviour has no schedule left.
    Exhausted {
        /// How many partial orders there are.
        partial_orders: u64,
    },
    /// All strategies are out of schedules, within the bounds that they have.
    WithinBounds {
        /// How many partial orders were seen.
        partial_orders: u64,
    },
    /// Runs of strategies that give every partial order a least probability (POS, random walk) missed it.
    AnyOrder {
        /// At most the probability that all of them miss a given partial order.
        missed: f64,
        /// How many runs.
        runs: u64,
        /// The `n` of the bound: the most threads of a run.
        threads: u64,
        /// The `k` of the bound: the most steps of a run.
        steps: u64,
    },
    /// Runs of PCT missed a bug.
    Depth {
        /// Of this depth, or a smaller one.
        depth: u64,
        /// At most the probability that all of them miss it.
        missed: f64,
        /// How many runs of PCT with this depth or a greater one.
        runs: u64,
        /// The `n` of the bound: the most threads of a run.
        threads: u64,
        /// The `k` of the bound: the most steps of a run.
        steps: u64,
    },
    /// A strategy estimates how many partial orders there are.
    Share {
        /// How many were seen.
        seen: u64,
        /// How many there are, by the estimate.
        estimate: f64,
        /// The least number that is likely.
        low: f64,
        /// The largest number that is likely.
        high: f64,
    },
    /// The runs are a sample; the chance that another one shows something new was estimated from it.
    NextNew {
        /// The estimate of Good and Turing: the share of runs whose partial order came up once.
        chance: f64,
        /// An upper bound with a confidence of 95 %.
        high: f64,
        /// How many runs.
        runs: u64,
    },
    /// How many new partial orders came up at the end of the search. This says nothing about those that never come up.
    Saturation {
        /// How many of the last runs had a partial order that none before had.
        new: u64,
        /// The last runs: a tenth of all.
        runs: u64,
    },
}

/// The statements that hold for a search, the strongest first; none if a run failed or nothing useful is known.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claims {
    /// The statements.
    pub statements: Vec<Claim>,
    /// How often a spinning thread was descheduled. Schedules that spin longer are outside of every statement.
    pub rests: u64,
    /// Runs that ended at the step limit. What follows there is outside of every statement.
    pub cut_short: u64,
}
