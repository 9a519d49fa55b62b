//! The public form of a failure: with the names of threads and the text of locations, and without types of other crates.

use raddle_model::{Failure as Found, LocationId, ThreadId, TraceFile};

/// The failure of a run. Threads are given by name, and locations as `file:line:column`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A thread panicked, a value was leaked, or threads were left behind where that is a failure.
    #[non_exhaustive]
    Assertion {
        /// The thread that failed.
        thread: String,
        /// The location, if known.
        location: String,
        /// The message.
        message: String,
    },
    /// Some threads wait and none can ever continue.
    #[non_exhaustive]
    Deadlock {
        /// Every waiting thread.
        blocked: Vec<String>,
        /// Threads that wait for one another in a cycle; empty if there is no cycle (a lost wake-up, for
        /// instance).
        cycle: Vec<String>,
    },
    /// The run reached the step limit, and that is a failure; see [`Config::step_limit`](crate::Config::step_limit).
    #[non_exhaustive]
    StepLimit {
        /// The limit.
        limit: u64,
        /// The threads that were spinning when it was reached.
        spinning: Vec<String>,
    },
    /// Two threads accessed the same memory, at least one of them wrote it, and neither access happens before the other.
    #[non_exhaustive]
    DataRace {
        /// The threads of the first and the second access.
        threads: [String; 2],
        /// The locations of the accesses, in the same order.
        locations: [String; 2],
    },
    /// Another failure.
    #[non_exhaustive]
    Other {
        /// The name of its kind, as in failure files.
        kind: &'static str,
        /// A description in one line.
        message: String,
    },
}

impl Failure {
    /// Returns the name of the failure kind, as in failure files.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Assertion { .. } => "assertion",
            Failure::Deadlock { .. } => "deadlock",
            Failure::StepLimit { .. } => "step-limit",
            Failure::DataRace { .. } => "data-race",
            Failure::Other { kind, .. } => kind,
        }
    }

    /// Returns the failure at the end of the run of `trace`.
    pub(super) fn of(trace: &TraceFile) -> Failure {
        let name = |thread: &ThreadId| trace.threads.get(thread.index()).cloned().unwrap_or_default();
        let names = |threads: &[ThreadId]| threads.iter().map(name).collect();
        let location_text =
            |location: &LocationId| trace.locations.get(location.index()).cloned().unwrap_or_default();
        match trace.verdict.failure().expect("only a failed run is reported") {
            Found::Assertion { thread, location, message } => Failure::Assertion {
                thread: name(thread),
                location: location_text(location),
                message: message.clone(),
            },
            Found::Deadlock { blocked, cycle } => Failure::Deadlock {
                blocked: blocked.iter().map(|blocked| name(&blocked.thread)).collect(),
                cycle: names(cycle),
            },
            Found::StepLimit { limit, spinning } => {
                Failure::StepLimit { limit: *limit, spinning: names(spinning) }
            }
            Found::DataRace { first, second, .. } => Failure::DataRace {
                threads: [first, second].map(|access| name(&access.thread)),
                locations: [first, second].map(|access| location_text(&access.location)),
            },
            other => Failure::Other {
                kind: other.kind(),
                message: raddle_report::run_text::verdict(trace).into_iter().next().unwrap_or_default(),
            },
        }
    }
}
