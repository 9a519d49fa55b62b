//! The arguments of every command that searches, for a part of its runs.

use clap::Args;
use raddle_search::{Part, Shard};
use std::path::PathBuf;

/// A part of a search.
#[derive(Args, Clone)]
#[command(next_help_heading = "Many machines")]
pub(crate) struct ShardArgs {
    /// Execute only shard K of N of the runs, such as 3/100, and write the result to a file for `raddle merge`
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// File for the result of the shard (default: raddle-result-K-of-N.json)
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) result: Option<PathBuf>,
    /// Runs that every shard of an instrumented program executes first, so that all know the same shared memory
    #[arg(long, value_name = "N", requires = "shard", default_value_t = Part::PILOT)]
    pub(crate) pilot: u64,
    /// The unit of a worker, if the command is executed for one.
    #[arg(skip)]
    pub(crate) unit: Option<UnitArgs>,
}

/// What a worker executes of a command.
#[derive(Clone, Debug)]
pub(crate) struct UnitArgs {
    /// The numbers of the runs, from the first, before the second; all of the shard if `None`.
    pub(crate) window: Option<(u64, u64)>,
    /// Minimize and explain the failing run.
    pub(crate) minimize: bool,
    /// Make the further runs that look for data races.
    pub(crate) races: bool,
    /// Only these targets.
    pub(crate) targets: Option<Vec<String>>,
    /// All runs, as without shards: the search begins again if runs discover shared memory.
    pub(crate) is_whole: bool,
}

impl ShardArgs {
    /// Returns the part whose result is returned for a search of `part`, if one is.
    pub(crate) fn counted(&self, part: Option<Part>) -> Option<Part> {
        let is_whole = self.unit.as_ref().is_some_and(|unit| unit.is_whole);
        part.or(is_whole.then(|| Part::shard(Shard::WHOLE)))
    }

    /// Returns the file for the result of `shard`.
    pub(crate) fn path(&self, shard: Shard) -> PathBuf {
        let name = || format!("raddle-result-{}-of-{}.json", shard.index() + 1, shard.count()).into();
        self.result.clone().unwrap_or_else(name)
    }
}
