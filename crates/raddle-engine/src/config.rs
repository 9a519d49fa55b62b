//! Settings that hold for all runs.

use crate::races::Races;

/// When a time-out may fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timeouts {
    /// When no thread can do anything else: time stands still while there is work. Threads that rest from spinning
    /// have none.
    #[default]
    WhenIdle,
    /// At any moment: a timed wait or a sleep is always enabled, and times out if it is chosen while what it waits
    /// for is not there.
    Anytime,
}

/// Settings of the engine that hold for all runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// A run that takes more steps is ended. It is a livelock, [`StepLimit`](raddle_model::Failure::StepLimit), if every thread
    /// that can go on spins, and otherwise [`Inconclusive`](raddle_model::Verdict::Inconclusive).
    pub step_limit: u64,
    /// Whether a run that takes more steps fails in any case.
    pub step_limit_fails: bool,
    /// A run whose virtual time would pass so many nanoseconds fails with [`TimeLimit`](raddle_model::Failure::TimeLimit).
    pub time_limit: u64,
    /// When a time-out may fire. A strategy may ask for [`Timeouts::Anytime`] in some runs
    /// ([`Needs::timeouts_anytime`](crate::Needs)).
    pub timeouts: Timeouts,
    /// How many idle returns to the same operation a thread may make before it rests; 0 turns the rule off. Resting
    /// is explained in ARCHITECTURE.md, "Spinning".
    pub patience: u32,
    /// Which data races end a run with [`DataRace`](raddle_model::Failure::DataRace).
    pub races: Races,
    /// Whether the front end may [forgive](crate::Engine::forgive_race) a race. An access that completes one is answered with
    /// [`Reply::Raced`](crate::Reply::Raced); the run fails before the next step unless the race is forgiven.
    pub judge_races: bool,
    /// Whether the end of the program waits until nothing else can run, in every run. A strategy may ask for that in some
    /// ([`Needs::exit_last`](crate::Needs)).
    pub exit_last: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            step_limit: 1_000_000,
            step_limit_fails: false,
            time_limit: u64::MAX,
            timeouts: Timeouts::WhenIdle,
            patience: 64,
            races: Races::Ignored,
            judge_races: false,
            exit_last: false,
        }
    }
}
