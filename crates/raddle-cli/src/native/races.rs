//! The additional runs of `raddle run --races report`: some more runs of a program that has not failed, each
//! of which ends at its first data race.

use anyhow::{Result, bail};
use raddle_launch::Subject;
use raddle_launch::native::{Native, Program, namer, trace_file};
use raddle_model::Environment;
use raddle_model::native::{Setup, Threads};
use raddle_report::run_text::verdict;
use raddle_report::shape::Races;
use raddle_search::{Budget, Deadline, Identity, Part, Search, ShardResult, Stop, Tally};
use std::time::Duration;

/// One run in this many is repeated.
const SHARE: u64 = 10;
/// Additional runs are skipped if fewer than this fit into their time; each server starts with some profiling runs.
const FEWEST: u32 = 10;
/// The time limit of the run that names the memory of a data race.
const LONGEST: Duration = Duration::from_secs(5);
/// The maximum number of additional runs.
const MOST: u64 = 200;

/// Splits a budget into that of the search and that of the additional runs.
pub(super) fn split(budget: Budget, may_look: bool) -> (Budget, Option<Budget>) {
    if !may_look {
        return (budget, None);
    }
    let time = budget.time.map(|time| time / SHARE as u32);
    let further = Budget { runs: budget.runs.div_ceil(SHARE).min(MOST), time, stop: Stop::Never };
    let rest = budget.time.zip(time).map(|(whole, part)| whole - part);
    (Budget { time: rest, ..budget }, Some(further))
}

/// The additional runs.
pub(super) struct Raced {
    /// Their report.
    pub(super) races: Races,
    /// Their result, if they are those of a shard. Its failing run is the message about its data race.
    pub(super) result: Option<ShardResult<Option<String>>>,
}

/// Executes the additional runs of `search`, which check for data races. Fails if runs take so long, `span`, that too few fit
/// into the time.
pub(super) fn look(
    words: &[String],
    environment: &Environment,
    setup: &Setup,
    search: &Search<'_>,
    span: Duration,
    identity: &dyn Fn(&Search<'_>, Part) -> Identity,
) -> Result<Raced> {
    if search.budget.time.is_some_and(|time| time < span * FEWEST) {
        bail!("a run takes {} ms, too long for the rest of --time", span.as_millis());
    }
    let mut setup = setup.clone();
    setup.settings.races = true;
    setup.coverage = None;
    let found = Native::new(words, environment, &setup)?.run(search)?;
    let first = found.first.iter().filter(|(_, ran)| ran.kind.as_deref() == Some(KIND));
    let mut messages = first.filter(|(_, ran)| ran.trace.is_some()).map(|(_, ran)| {
        let mut file = trace_file(ran, words, environment, &setup);
        match Program::open(&file, "the run with a data race", Threads::Fibers) {
            // Repeated once, to name the memory.
            Ok(mut program) => {
                program.limit(Deadline::new(Some(LONGEST)));
                program.observe(&mut file);
                program.namer()(&mut file);
            }
            Err(_) => drop(namer()(&mut file)),
        }
        verdict(&file).join("\n")
    });
    let message = messages.next();
    drop(messages);
    let result = search
        .part
        .map(|part| ShardResult::new(part, identity(search, part), search, &found, Some(message.clone())));
    Ok(Raced { races: races(&found.tally, message), result })
}

/// Returns the report of additional runs.
pub(super) fn races(tally: &Tally, message: Option<String>) -> Races {
    Races { runs: tally.runs, racing: tally.kinds.get(KIND).copied().unwrap_or(0), message }
}

/// The failure kind of a data race.
pub(super) const KIND: &str = "data-race";
