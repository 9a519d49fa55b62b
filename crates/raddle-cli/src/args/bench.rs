//! The arguments of `raddle bench`.

use super::values::{runs, whole};
use clap::Args;
use clap::builder::ArgPredicate;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle bench                                      the corpus: share of failing runs, 1,000 runs a cell
  raddle bench --trials 20 --strategy portfolio     runs to the bug, 20 times
  raddle bench --suite figures -s pos -s oos --runs 1e5 -o results
  raddle bench --suite ./my-programs --case queue_3

A suite is a folder with a manifest NAME.toml for each program; `corpus` and `figures` are in Raddle's repository. A
manifest has `about`, `source` (a C or C++ file, a lab program .rdl, or a program), `verdict` (the kinds of failure that
are the bug), optionally `depth`, `idiom` and `fixed`, and a [[case]] for each size with `name` and optionally `define`,
`arguments`, `threads`, `depth` and `published`, its name in `published.json`, whose numbers are printed too.
The same seed gives the same numbers, except times, for any --jobs.
With -o the folder gets results.json, results.md, page.html and pictures. An interrupted bench continues there.

Exit status: 0 it was measured, 1 a program without its bug (--fixed) failed, 2 an error in arguments or files.")]
pub(crate) struct BenchArgs {
    /// The suite: corpus, figures, or a folder
    #[arg(long, value_name = "SUITE", default_value = "corpus")]
    pub(crate) suite: String,
    /// Only this case; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Vec<String>,
    /// The strategy, or several joined by +; may be repeated
    #[arg(long, short, value_name = "SPEC", default_values = ["random-walk", "pct:depth=3", "pos", "surw", "oos", "portfolio"])]
    pub(crate) strategy: Vec<String>,
    /// Runs per cell; with --trials, the maximum
    #[arg(long, short = 'n', value_name = "N", default_value = "1000", default_value_if("trials", ArgPredicate::IsPresent, "10000"), value_parser = runs)]
    pub(crate) runs: u64,
    /// Measure the number of runs to the bug instead, this many times with different seeds
    #[arg(long, value_name = "T", num_args = 0..=1, default_missing_value = "20", value_parser = whole)]
    pub(crate) trials: Option<u64>,
    /// Seed of all runs
    #[arg(long, value_name = "X", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run the versions without the bug
    #[arg(long)]
    pub(crate) fixed: bool,
    /// Cells measured in parallel (default: number of cores)
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Write all results into this folder
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
