//! The second look that `raddle run --races report` takes: some more runs of a program that has not failed, each of which
//! ends at its first data race.

use super::explore::Plan;
use super::program::is_instrumented;
use anyhow::Result;
use raddle_report::sentences;
use raddle_report::shape::Races;
use std::path::Path;

/// One run in so many is made again.
const SHARE: u64 = 10;
/// The most runs of a second look.
const MOST: u64 = 200;

/// Looks for data races in a tenth of the runs of `plan`, unless the program is not instrumented, so that nobody could see
/// any.
pub(super) fn look(plan: &Plan<'_>, program: &Path) -> Result<Option<Races>> {
    if !is_instrumented(program)? {
        return Ok(None);
    }
    let mut setup = plan.setup.clone();
    setup.settings.races = true;
    setup.coverage = None;
    let again = Plan {
        setup: &setup,
        runs: plan.runs.div_ceil(SHARE).min(MOST),
        time: plan.time.map(|time| time / SHARE as u32),
        keep_going: true,
        look: &|_, _| (),
        ..*plan
    };
    let tally = again.explore()?;
    let racing = tally.kinds.get(KIND).copied().unwrap_or(0);
    let first = tally.first.iter().filter(|(_, ran)| ran.kind.as_deref() == Some(KIND));
    let message =
        first.filter_map(|(_, ran)| ran.trace.as_deref()).map(|file| sentences(file).join("\n")).next();
    Ok(Some(Races { runs: tally.runs, racing, message }))
}

/// The kind of failure that a data race is.
pub(super) const KIND: &str = "data-race";
