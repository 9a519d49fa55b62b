//! The additional runs of `raddle run --races report`: some more runs of a program that has not failed, each
//! of which ends at its first data race.

use super::program::is_instrumented;
use super::target::Native;
use anyhow::Result;
use raddle_model::Environment;
use raddle_model::native::Setup;
use raddle_report::run_text::verdict;
use raddle_report::shape::Races;
use raddle_search::{Budget, Lanes, Stop};
use std::path::Path;

/// One run in this many is repeated.
const SHARE: u64 = 10;
/// The maximum number of additional runs.
const MOST: u64 = 200;

/// Searches for data races in a tenth of the runs of a search, unless the program is not instrumented, so
/// that none could be seen.
pub(super) fn look(
    words: &[String],
    environment: &Environment,
    setup: &Setup,
    lanes: &Lanes,
    budget: &Budget,
    jobs: usize,
) -> Result<Option<Races>> {
    if !is_instrumented(Path::new(&words[0]))? {
        return Ok(None);
    }
    let mut setup = setup.clone();
    setup.settings.races = true;
    setup.coverage = None;
    let budget = Budget {
        runs: budget.runs.div_ceil(SHARE).min(MOST),
        time: budget.time.map(|time| time / SHARE as u32),
        stop: Stop::Never,
    };
    let found = Native::new(words, environment, &setup)?.search(lanes, budget, jobs, &|_| ())?;
    let racing = found.tally.kinds.get(KIND).copied().unwrap_or(0);
    let first = found.first.iter().filter(|(_, ran)| ran.kind.as_deref() == Some(KIND));
    let message =
        first.filter_map(|(_, ran)| ran.trace.as_deref()).map(|file| verdict(file).join("\n")).next();
    Ok(Some(Races { runs: found.tally.runs, racing, message }))
}

/// The failure kind of a data race.
pub(super) const KIND: &str = "data-race";
