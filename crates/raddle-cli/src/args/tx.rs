//! The arguments of `raddle tx`.

use super::values::{duration, runs, whole};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand)]
pub(crate) enum TxCommand {
    /// List the memory accesses of the operations
    Sites(SitesArgs),
    /// Count the interleavings for transactions of several sizes
    Count(CountArgs),
    /// Search for the fastest division into transactions with a limited number of interleavings
    Plan(PlanArgs),
    /// Execute all interleavings of a plan
    Verify(VerifyArgs),
    /// Write the program of a plan with its transactions enforced
    Build(BuildArgs),
}

/// A program and the operations of its data structure.
#[derive(Args)]
pub(crate) struct LibraryArgs {
    /// The functions that are operations, such as push,pop or Stack::push
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "library")]
    pub(crate) operations: Vec<String>,
    /// All functions that are defined in these source files are operations
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Vec<String>,
    /// Additional arguments for the compiler, if PROGRAM is a source file
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) cflags: Option<String>,
    /// Abandon a run that has not ended after this long
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// The program, built with `raddle cc --operations`, or its C or C++ source, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle tx sites --operations push,pop stack.c
  raddle tx sites --operations push,pop -o plan.txt ./stack

The accesses are those that runs under random schedules execute. Private memory is touched by one thread only.")]
pub(crate) struct SitesArgs {
    /// Number of runs
    #[arg(long, short = 'n', value_name = "N", default_value = "500", value_parser = runs)]
    pub(crate) runs: u64,
    /// Write a plan with one transaction for each operation, to be edited
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle tx count --operations push,pop stack.c
  raddle tx count --operations push,pop --sizes 1,2,inf --svg schedules.svg ./stack

A number is exact if all interleavings were executed; otherwise it is an estimate, marked with ~.")]
pub(crate) struct CountArgs {
    /// The numbers of accesses in a transaction; `inf` for the whole operation
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "1,2,4,8,16,inf")]
    pub(crate) sizes: Vec<String>,
    /// Number of runs after which a number is estimated
    #[arg(long, value_name = "N", default_value = "10000", value_parser = runs)]
    pub(crate) limit: u64,
    /// Draw the numbers into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SearchArg {
    /// Begin with one transaction for each operation, and add the boundary that saves most time
    Greedy,
    /// The genetic search of the TXIT paper
    Genetic,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle tx plan --operations push,pop --budget 2000 -o plan.txt stack.c
  raddle tx plan --operations push,pop --budget 1e5 --search genetic --time 10m --timed 100000 -o plan.txt ./stack

Every plan is timed in a program that enforces it. So the program should run for some milliseconds at least: --timed gives it
other arguments than those of the checked runs.")]
pub(crate) struct PlanArgs {
    /// The largest number of interleavings
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) budget: u64,
    /// The search
    #[arg(long, value_enum, default_value_t = SearchArg::Greedy)]
    pub(crate) search: SearchArg,
    /// Plans in a generation of the genetic search
    #[arg(long, value_name = "N", default_value = "70", value_parser = whole)]
    pub(crate) population: u64,
    /// Generations of the genetic search
    #[arg(long, value_name = "N", default_value = "80", value_parser = whole)]
    pub(crate) generations: u64,
    /// Seed of the genetic search
    #[arg(long, value_name = "X", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop examining plans after this long
    #[arg(long, value_name = "T", default_value = "60s", value_parser = duration)]
    pub(crate) time: Duration,
    /// Arguments of the program when it is timed (default: as in the checked runs)
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) timed: Option<String>,
    /// Number of times a plan is timed; the shortest counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole)]
    pub(crate) rounds: u64,
    /// The plan
    #[arg(long, short, value_name = "FILE", default_value = "plan.txt")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  raddle tx verify plan.txt

Exit status: 0 all interleavings passed, 1 one failed, 2 not all were executed, or another error.")]
pub(crate) struct VerifyArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The largest number of runs
    #[arg(long, short = 'n', value_name = "N", default_value = "1e7", value_parser = runs)]
    pub(crate) runs: u64,
    /// Abandon a run that has not ended after this long
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// File for the first failing run (default: raddle-failure-ID.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Other arguments of the program than those of the plan
    #[arg(value_name = "ARGS", trailing_var_arg = true)]
    pub(crate) arguments: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle tx build plan.txt -o stack && ./stack
  raddle cc --transactions plan.txt stack.c -o stack -pthread

The program is the checked one; only the library with its hooks is another. The second command compiles it first, and fails if
the result is not the program of the plan.")]
pub(crate) struct BuildArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The program
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
