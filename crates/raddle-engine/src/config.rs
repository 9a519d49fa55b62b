//! Settings of all runs.

use crate::races::Races;
use raddle_model::{MemoryModel, Settings};

/// The condition under which a timeout may fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timeouts {
    /// When no thread can do anything else: time stands still while a thread can work. Resting threads (see
    /// [`Config::patience`]) do not count.
    #[default]
    WhenIdle,
    /// At any step: a timed wait or a sleep is always enabled, and times out if it is chosen while its
    /// condition does not hold.
    Anytime,
}

/// Settings of the engine for all runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The step limit. A run that reaches it is a livelock, [`StepLimit`](raddle_model::Failure::StepLimit),
    /// if every thread that can run spins, and otherwise
    /// [`Inconclusive`](raddle_model::Verdict::Inconclusive).
    pub step_limit: u64,
    /// True if a run that reaches the step limit fails in any case.
    pub step_limit_fails: bool,
    /// The limit of virtual time, in nanoseconds. A run that exceeds it fails with
    /// [`TimeLimit`](raddle_model::Failure::TimeLimit).
    pub time_limit: u64,
    /// The condition under which a timeout may fire. A strategy may request [`Timeouts::Anytime`] in some
    /// runs ([`Needs::timeouts_anytime`](crate::Needs)).
    pub timeouts: Timeouts,
    /// Iterations of a spin loop before the thread is descheduled (it *rests*); 0 for unlimited. See
    /// `docs/design/spinning.md`.
    pub patience: u32,
    /// The data races that end a run with [`DataRace`](raddle_model::Failure::DataRace).
    pub races: Races,
    /// True if the front end may [forgive](crate::Engine::forgive_race) a race. The access that completes a
    /// race then gets the reply [`Reply::Raced`](crate::Reply::Raced); the run fails before the next step
    /// unless the race is forgiven.
    pub judge_races: bool,
    /// True if, in every run, the program exits only when nothing else can run. A strategy may request this
    /// for some runs ([`Needs::exit_last`](crate::Needs)).
    pub exit_last: bool,
    /// Which values a read of an atomic may return. Under [`MemoryModel::Weak`] the front end has to
    /// [prepare](crate::Engine::prepare_access) accesses to atomics.
    pub memory: MemoryModel,
}

impl Default for Config {
    fn default() -> Config {
        Settings::default().into()
    }
}

impl From<Settings> for Config {
    /// Returns the configuration that replays runs with these settings.
    fn from(settings: Settings) -> Config {
        Config {
            step_limit: settings.step_limit,
            step_limit_fails: settings.step_limit_fails,
            time_limit: u64::MAX,
            timeouts: if settings.timeouts_anytime { Timeouts::Anytime } else { Timeouts::WhenIdle },
            patience: settings.patience,
            races: if settings.races { Races::All } else { Races::Ignored },
            judge_races: false,
            exit_last: settings.exit_last,
            memory: settings.memory,
        }
    }
}
