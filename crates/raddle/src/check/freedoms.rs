//! Behavior that std leaves open and a run fixes before it begins: how time passes for threads that can run,
//! whether tasks are dropped before they become idle, and whether the strategy is asked for late starts,
//! spurious wake-ups and readers that wait behind writers.

use super::config::{Config, Timeouts};
use crate::runtime::Freedom;
use raddle_model::{Settings, TraceFile, mix};
use raddle_search::Lane;

/// The parameter of a failure file that records the [freedom](Freedoms::free) of the run.
pub(super) const FREE: &str = "std_freedoms";

/// The behavior of a run that std leaves open.
#[derive(Clone, Copy)]
pub(super) struct Freedoms {
    /// The settings for time and for dropping tasks.
    pub(super) settings: Settings,
    /// The choices of the strategy: whether the start of a thread is a step, `park` may return without a
    /// token, and a thread that already reads may wait behind a writer.
    pub(super) free: Freedom,
}

/// One in this many runs has time-outs at any moment, and one drops tasks at any moment.
const PERIOD: u64 = 4;

/// Returns the freedoms of run number `run` of the strategy of `lane`. Strategies that count, enumerate or
/// bound take the test as it is: with all steps and choices, with time-outs when nothing else can run, and
/// with the end of the run as an operation like any other. For other strategies they are drawn, independently
/// of the strategy's random numbers: each additional step or choice makes orders of the others rarer.
pub(super) fn of(config: &Config, lane: &Lane, run: u64) -> Freedoms {
    let settings = config.settings();
    if lane.counts_orders || lane.pct_depth.is_some() {
        let free = if config.std_freedoms { Freedom::Choices } else { Freedom::None };
        return Freedoms { settings, free };
    }
    let mut drawn = mix(mix(config.seed) ^ mix(!run));
    let mut one_of = |number: u64| {
        let is_drawn = drawn.is_multiple_of(number);
        drawn /= number;
        is_drawn
    };
    let early = one_of(PERIOD) && config.timeouts == Timeouts::Mixed;
    let exit_last = !one_of(PERIOD);
    let timeouts_anytime = settings.timeouts_anytime || early;
    Freedoms {
        settings: Settings { timeouts_anytime, exit_last, ..settings },
        free: if one_of(2) && config.std_freedoms { Freedom::Pauses } else { Freedom::None },
    }
}

/// Returns the [freedom](Freedoms::free) of the run of a file. Files of earlier versions have no such
/// parameter, or know no pauses.
pub(super) fn of_file(file: &TraceFile) -> Freedom {
    match file.parameters.iter().find(|(name, _)| name == FREE) {
        None | Some((_, 0)) => Freedom::None,
        Some((_, 1)) => Freedom::Choices,
        Some(_) => Freedom::Pauses,
    }
}
