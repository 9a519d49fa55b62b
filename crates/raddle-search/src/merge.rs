//! The merge of the results of the parts of a search.
//!
//! Parts do not communicate. So the default portfolio does not adapt in them: it keeps the shares of its
//! first round. A strategy that learns stays with one shard, which executes all of its runs. Merging all
//! shards of a search gives the result of the shard `1/1`.

use crate::lanes::Lanes;
use crate::result::{ListedRun, ShardResult};
use crate::run::Run;
use crate::shared::last_number;
use crate::tally::Tally;
use raddle_model::Ledger;
use raddle_strategies::portfolio::Turn;
use std::collections::{BTreeMap, BTreeSet};

/// The reason why results cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("no results to merge")]
    Empty,
    /// They belong to different searches.
    #[error(
        "{part} belongs to another search than the first result: {what} is `{found}` instead of `{expected}`\n\
             help: pass only results of one command"
    )]
    Another {
        /// The one that differs from the first.
        part: String,
        /// The property in which they differ.
        what: String,
        /// Its value.
        found: String,
        /// The value of the first.
        expected: String,
    },
    /// They belong to searches with different numbers of shards, or with different stop conditions.
    #[error(
        "{part} does not belong to the others: {why}\nhelp: divide all runs in the same way, with the same options"
    )]
    Apart {
        /// The one that differs from the first.
        part: String,
        /// The difference.
        why: String,
    },
    /// Two results of one shard differ.
    #[error("{part} occurs twice with different results\nhelp: pass only one of the two files")]
    Twice {
        /// The part.
        part: String,
    },
    /// The numbers of a result are inconsistent.
    #[error("the result of {part} is damaged: its numbers are inconsistent\nhelp: run that part again")]
    Damaged {
        /// The part.
        part: String,
    },
    /// Some are missing.
    #[error("{what} missing\nhelp: run what is missing, and pass those results too")]
    Missing {
        /// The missing parts, and `is` or `are`.
        what: String,
    },
    /// A run discovered shared memory that the other parts do not know.
    #[error(
        "the parts do not know the same shared memory: run {run} was the first to touch some of it\n\
             help: run all parts again with --pilot {}", run + 1
    )]
    Discovered {
        /// The number of the run.
        run: u64,
    },
    /// The strategies are not those of the search.
    #[error("the results have {found} strategies, the search has {expected}")]
    Lanes {
        /// Number of strategies in the results.
        found: usize,
        /// Number of strategies in the search.
        expected: usize,
    },
}

/// The merged results of a search.
#[derive(Clone, Debug)]
pub struct Merged<F> {
    /// The numbers.
    pub tally: Tally,
    /// The first failing run, with its number.
    pub first: Option<(u64, F)>,
}

/// The results of parts, by shard and range.
type Parts<'a, F> = BTreeMap<(usize, Option<(u64, u64)>), &'a ShardResult<F>>;

/// Merges the results of all parts of a search. A result may be passed more than once, and the order does not
/// matter. With `is_partial`, parts may be missing.
///
/// Returns the numbers and the first failing run, as for one process that executes all runs.
pub fn merge<F: Clone + PartialEq>(
    results: &[ShardResult<F>],
    lanes: &Lanes,
    is_partial: bool,
) -> Result<Merged<F>, MergeError> {
    let first = results.first().ok_or(MergeError::Empty)?;
    let mut parts: Parts<'_, F> = BTreeMap::new();
    for result in results {
        check(result, first, lanes)?;
        if parts.insert((result.shard.index(), result.window), result).is_some_and(|known| known != result) {
            return Err(MergeError::Twice { part: result.name() });
        }
    }
    let needed: Vec<&ShardResult<F>> = match first.window {
        None if is_partial => parts.values().copied().collect(),
        None => shards(&parts, first.shard.count())?,
        Some(_) => windows(&parts, first.most, is_partial)?,
    };
    add(&needed, lanes)
}

/// Rejects a result that is damaged or does not belong to `first`.
fn check<F>(result: &ShardResult<F>, first: &ShardResult<F>, lanes: &Lanes) -> Result<(), MergeError> {
    let part = result.name();
    if let Some((what, found, expected)) = result.search.difference(&first.search) {
        return Err(MergeError::Another { part, what, found, expected });
    }
    let apart = |why: &str| Err(MergeError::Apart { part: result.name(), why: why.to_owned() });
    if result.shard.count() != first.shard.count() {
        return apart(&format!("they have {} shards", first.shard.count()));
    }
    if result.window.is_some() != first.window.is_some() {
        return apart("some are shards and some are ranges of runs");
    }
    if result.stop != first.stop {
        return apart("they stop at other failures");
    }
    if result.most != first.most {
        return apart(&format!("they are parts of {} runs", first.most));
    }
    if result.earlier != first.earlier {
        return apart("their first runs had other results");
    }
    let (found, expected) = (result.counts.lanes.len(), lanes.iter().len());
    if found != expected || result.runs.iter().any(|&(_, lane, ..)| lane >= expected) {
        return Err(MergeError::Lanes { found, expected });
    }
    let is_window_filled = result.window.is_none_or(|(from, to)| {
        from <= to && (result.stopped_at.is_some() || Some(result.executed()) == to.checked_sub(from))
    });
    if !is_window_filled || !result.counts.agree(result.is_listed.then_some(&result.runs[..])) {
        return Err(MergeError::Damaged { part });
    }
    Ok(())
}

/// Returns the results of all shards.
fn shards<'a, F>(parts: &Parts<'a, F>, count: usize) -> Result<Vec<&'a ShardResult<F>>, MergeError> {
    complete(&parts.keys().map(|&(index, _)| index).collect(), count)?;
    Ok(parts.values().copied().collect())
}

/// Checks that all of `count` shards are among those with these indices, from 0.
pub fn complete(indices: &BTreeSet<usize>, count: usize) -> Result<(), MergeError> {
    /// More missing ones are only counted.
    const MOST_NAMED: usize = 8;
    let missing: Vec<usize> = (0..count).filter(|index| !indices.contains(index)).collect();
    let mut names: Vec<String> =
        missing.iter().take(MOST_NAMED).map(|index| format!("{}/{count}", index + 1)).collect();
    if missing.len() > MOST_NAMED {
        names.push(format!("{} more", missing.len() - MOST_NAMED));
    }
    match &missing[..] {
        [] => Ok(()),
        [_] => Err(MergeError::Missing { what: format!("shard {} is", names.join("")) }),
        _ => Err(MergeError::Missing { what: format!("shards {} are", names.join(", ")) }),
    }
}

/// Returns the results of the runs from 0 to the run at which the search stops.
fn windows<'a, F>(
    parts: &Parts<'a, F>,
    most: u64,
    is_partial: bool,
) -> Result<Vec<&'a ShardResult<F>>, MergeError> {
    let (mut next, mut needed) = (0, Vec::new());
    for (&(_, window), &result) in parts {
        let (from, to) = window.unwrap_or_default();
        if from < next {
            return Err(MergeError::Apart {
                part: result.name(),
                why: format!("they have the runs up to {next} already"),
            });
        }
        if from > next && !is_partial {
            return Err(MergeError::Missing { what: format!("the runs from {next} to {from} are") });
        }
        needed.push(result);
        if result.stopped_at.is_some() {
            return Ok(needed);
        }
        next = to;
    }
    if next < most && !is_partial {
        return Err(MergeError::Missing { what: format!("the runs from {next} to {most} are") });
    }
    Ok(needed)
}

/// Adds up the results of all parts.
fn add<F: Clone + PartialEq>(parts: &[&ShardResult<F>], lanes: &Lanes) -> Result<Merged<F>, MergeError> {
    let mut tally = Tally::new(lanes.iter().len());
    let mut earliest: Option<(u64, F)> = None;
    let mut log: Vec<(Turn, Run)> = Vec::new();
    for result in parts {
        tally.merge(result.counts.tally(), &Ledger::default());
        let turn = |&(number, lane, run, ref made): &ListedRun| (Turn { number, lane, run }, made.clone());
        log.extend(result.runs.iter().map(turn));
        if let Some((number, failure)) = &result.first
            && earliest.as_ref().is_none_or(|(known, _)| number < known)
        {
            earliest = Some((*number, failure.clone()));
        }
    }
    let stopped_at = parts.iter().filter_map(|result| result.stopped_at).min();
    if stopped_at.is_some() {
        tally.estimate = None;
    }
    let covered_at = tally.covered_at(lanes).filter(|_| lanes.may_cover_everything());
    let last = last_number(stopped_at, covered_at);
    log.sort_unstable_by_key(|(turn, _)| turn.number);
    if let Some(twice) = log.windows(2).find(|pair| pair[0].0.number == pair[1].0.number) {
        let why = format!("run {} is in two of them", twice[0].0.number);
        return Err(MergeError::Apart { part: parts[0].name(), why });
    }
    let discovered = parts.iter().filter_map(|result| result.discovered_at).min();
    if let Some(run) = discovered.filter(|&run| last.is_none_or(|last| run < last)) {
        return Err(MergeError::Discovered { run });
    }
    if parts.iter().all(|result| result.is_listed)
        && let Some(last) = last
    {
        let settled = tally.emptied();
        tally = tally.up_to(last, settled, &mut log);
    }
    tally.settle(lanes);
    if let Some(kind) = parts.first().and_then(|result| result.earlier.clone()) {
        tally.add_failure(kind);
    }
    Ok(Merged { tally, first: earliest })
}
