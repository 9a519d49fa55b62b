//! The limits of a search.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The largest number of runs of a search, its time, and the failure that ends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The largest number of runs. A run that its strategy cuts off counts.
    pub runs: u64,
    /// No run but the first starts after this time. The number of runs then depends on the machine.
    pub time: Option<Duration>,
    /// The failure that ends the search.
    pub stop: Stop,
}

impl Budget {
    /// Returns the budget of `runs` runs, whether some fail or not.
    pub fn all(runs: u64) -> Budget {
        Budget { runs, time: None, stop: Stop::Never }
    }
}

/// The failure that ends a search.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stop {
    /// The first one.
    FirstFailure,
    /// The first one of these kinds.
    FirstOf(Vec<String>),
    /// None: all runs are executed and failures are counted.
    Never,
}

impl Stop {
    /// Returns true if a failure of this kind ends the search.
    pub(crate) fn applies_to(&self, kind: &str) -> bool {
        match self {
            Stop::FirstFailure => true,
            Stop::FirstOf(kinds) => kinds.iter().any(|wanted| wanted == kind),
            Stop::Never => false,
        }
    }
}

/// The time after which no run starts. The only use of the clock in a search.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<(Instant, Duration)>);

impl Deadline {
    /// Returns the deadline `budget` from now, or none.
    #[expect(
        clippy::disallowed_methods,
        reason = "a time budget is read between runs and does not affect them"
    )]
    pub fn new(budget: Option<Duration>) -> Deadline {
        Deadline(budget.map(|budget| (Instant::now(), budget)))
    }

    /// Returns true if it has passed.
    pub fn is_over(&self) -> bool {
        self.0.is_some_and(|(begun, budget)| begun.elapsed() >= budget)
    }
}
