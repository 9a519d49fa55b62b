//! The arguments of `raddle merge`.

use super::ci::CiArgs;
use super::show::ShowArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle run --runs 1e6 --strategy pos --shard 3/100 -- ./program     on each machine, with its own number
  raddle merge raddle-result-*.json                                   the report of all of them
  raddle merge results/*.json --junit junit.xml --sarif raddle.sarif

The report is that of one process that executes all runs with the same seed. The order of the files does not matter, and a
file that is passed twice counts once. Nothing is executed: shards minimize and explain their failing runs.
The default portfolio does not adapt in shards, and each strategy that learns from its runs stays in one shard: the report is
that of --shard 1/1. Strategies that do not learn, such as pos and random-walk, are divided evenly.

Exit status: 0 no run failed, 1 a run failed, 2 an error, such as a missing shard.")]
pub(crate) struct MergeArgs {
    /// The files that shards have written
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// File for the first failing run, or a folder (default: the current folder)
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Report the runs of the results that are there, although parts are missing
    #[arg(long)]
    pub(crate) partial: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ci: CiArgs,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}
