//! The output of `raddle campaign`.

use serde::Serialize;

/// The state of a campaign: `raddle campaign report --json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CampaignReport {
    /// The targets, by name.
    pub targets: Vec<CampaignTarget>,
    /// The failures, one for each cause.
    pub failures: Vec<CampaignFailure>,
    /// The nights, the earliest first.
    pub nights: Vec<CampaignNight>,
    /// Complete runs.
    pub runs: u64,
    /// The time for them, in seconds.
    pub seconds: f64,
    /// The number of different partial orders.
    pub partial_orders: u64,
}

/// One target of a campaign.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CampaignTarget {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: TargetState,
    /// The reason for the state, if it gets no more turns.
    pub reason: String,
    /// The number of turns.
    pub turns: u64,
    /// Complete runs.
    pub runs: u64,
    /// Failing runs.
    pub failures: u64,
    /// The time for them, in seconds.
    pub seconds: f64,
    /// The largest number of threads of a run.
    pub threads: u64,
    /// The number of different partial orders.
    pub partial_orders: u64,
    /// The number of them that the latest night found.
    pub fresh: u64,
    /// The part of the runs of the latest turn that had a new partial order.
    pub novelty: f64,
    /// The number of runs and of partial orders after each turn.
    pub growth: Vec<(u64, u64)>,
    /// The numbers of runs after which a night began.
    pub nights: Vec<u64>,
}

/// The state of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetState {
    /// It gets more turns.
    #[default]
    Searched,
    /// No schedule is left.
    Exhausted,
    /// It has a single thread.
    SingleThreaded,
    /// It cannot be controlled.
    Lost,
}

impl TargetState {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            TargetState::Searched => "searched",
            TargetState::Exhausted => "exhausted",
            TargetState::SingleThreaded => "one thread",
            TargetState::Lost => "not controlled",
        }
    }
}

/// The failures with one cause.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CampaignFailure {
    /// The identity of the cause.
    pub id: String,
    /// The target.
    pub target: String,
    /// Its state after the latest night.
    pub state: CauseState,
    /// The kind of failure.
    pub kind: String,
    /// The locations of the two operations whose order makes the run fail.
    pub pair: String,
    /// The location at which the run ends.
    pub end: String,
    /// The first failure, in sentences.
    pub message: String,
    /// The number of turns that found it.
    pub times: u64,
    /// The time of the first failing run, in seconds since 1970.
    pub first_seen: i64,
    /// The time of the last failing run or replay, in seconds since 1970.
    pub last_seen: i64,
    /// The file with the schedule.
    pub file: String,
}

/// The state of a cause after the latest night.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseState {
    /// The latest night found it first.
    New,
    /// It was fixed before the latest night, and fails again.
    Regressed,
    /// It was known before.
    #[default]
    Known,
    /// The schedule of an earlier night passes now.
    Fixed,
}

impl CauseState {
    /// Returns the word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            CauseState::New => "new",
            CauseState::Regressed => "regressed",
            CauseState::Known => "known",
            CauseState::Fixed => "fixed",
        }
    }
}

/// One night.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CampaignNight {
    /// The machine.
    pub worker: String,
    /// Its number on that machine.
    pub number: u64,
    /// The time of its begin, in seconds since 1970.
    pub began: i64,
    /// True if it came to its end.
    pub completed: bool,
    /// Its limits.
    pub budget: String,
    /// Complete runs.
    pub runs: u64,
    /// The number of new partial orders.
    pub fresh: u64,
    /// The number of turns.
    pub turns: u64,
}
