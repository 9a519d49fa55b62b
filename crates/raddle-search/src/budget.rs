//! The limits of a search.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
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

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Ends all searches, minimizations and explanations of this process, as if their time were over.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Returns true if [`interrupt`] was called.
#[inline]
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The minimum time for the first run of a search.
pub const FIRST_RUN: Duration = Duration::from_secs(3);

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

    /// Returns true if the search stops waiting for its first run. A search without a run has no result, so the first run gets some more
    /// time than the others, and at least [`FIRST_RUN`].
    pub(crate) fn is_over_for_the_first_run(&self) -> bool {
        const MOMENT: Duration = Duration::from_millis(800);
        let is_over = |(begun, budget): (Instant, Duration)| {
            begun.elapsed() >= (budget.saturating_add(MOMENT)).max(FIRST_RUN)
        };
        is_interrupted() || self.0.is_some_and(is_over)
    }

    /// Returns true if it has passed, or the process was interrupted.
    pub fn is_over(&self) -> bool {
        is_interrupted() || self.0.is_some_and(|(begun, budget)| begun.elapsed() >= budget)
    }
}
