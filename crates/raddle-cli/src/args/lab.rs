//! The arguments of `raddle lab`.

use super::memory::MemoryArgs;
use super::search::SearchArgs;
use super::values::{memory, runs, whole};
use clap::{Args, Subcommand};
use raddle_lab::assignment;
use raddle_model::MemoryModel;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// Run a program many times: the share of failing runs, and the first failing schedule
    Run(Box<RunArgs>),
    /// The micro benchmark of the POS paper: how uniformly strategies cover partial orders
    Micro(MicroArgs),
    /// The outcomes of litmus programs under weak memory, beside those that the model allows
    Litmus(LitmusArgs),
    /// The guarantees of PCT and POS in numbers
    Bound(BoundArgs),
    /// The equation of the randomized-stride paper in numbers
    Stride(StrideArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle lab run pos_fig2.rdl --strategy random-walk --strategy pos --exact
  raddle lab run reorder.rdl --set n=20 --strategy oos --runs 1e5
  raddle lab run abba.rdl --until-bug --record bug.json && raddle replay bug.json

A strategy is a name with parameters: pct:depth=3,steps=20 or conflict:pos; see `raddle strategies`.
The same seed gives the same numbers for any --jobs.
--exact knows random-walk, pct with a fixed depth, basic-pos and pos.
--json prints one object for each strategy, a line each.

Exit status: 0 no run failed, 1 a run failed, 2 an error in arguments or files.")]
pub(crate) struct RunArgs {
    /// The program's file, or - for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Set a parameter of the program
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, i64)>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    /// Also compute the probability of a failure, if the strategy allows it
    #[arg(long)]
    pub(crate) exact: bool,
    /// Run prefixes that --exact may examine, with 4 orders of priorities and 20 draws of PCT for each
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = whole)]
    pub(crate) exact_limit: u64,
    /// Report which interleavings (iRoots of Maple's idioms) runs had, and which were predicted; executes the
    /// runs of a strategy in order
    #[arg(long, conflicts_with = "shard")]
    pub(crate) coverage: bool,
    /// With --json, list every partial order with one schedule, its number of runs and its exact probability
    #[arg(long, requires = "json", conflicts_with_all = ["coverage", "shard"])]
    pub(crate) orders: bool,
    /// Write the first failing run to a file, for `raddle replay` (default: raddle-failure-ID.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<Option<PathBuf>>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle lab micro --runs 1e6
  raddle lab micro pos_micro.json --program uniform-0 --strategy pos --strategy upo --in-order

Without --strategy: random-walk, pct, rapos, basic-pos, pos, pos:reads=dependent (where there are reads) and upo.
`pct` without parameters is PCT as in the published experiment: depth = max preemptions + 1 and steps = all events
with one empty step more for each thread (20 for the 4 x 4 events of the benchmark). `pct` with parameters has the empty
first steps too.
`random-walk` is computed exactly, not sampled.")]
pub(crate) struct MicroArgs {
    /// The benchmark's file, or - for standard input (default: the published one)
    pub(crate) file: Option<String>,
    /// Only this program; may be repeated
    #[arg(long, short, value_name = "NAME")]
    pub(crate) program: Vec<String>,
    /// The strategy; may be repeated
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) strategy: Vec<String>,
    /// Runs of each strategy on each program, such as 1000000 or 5e7
    #[arg(long, short = 'n', value_name = "N", default_value = "1000000", value_parser = runs)]
    pub(crate) runs: u64,
    /// Seed of all runs
    #[arg(long, value_name = "X", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Execute the runs of a strategy in order on one core, to find when all partial orders were seen; always
    /// for strategies that learn
    #[arg(long)]
    pub(crate) in_order: bool,
    /// Number of cores (default: all)
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle lab litmus store_buffering.rdl
  raddle lab litmus litmus/ --memory sc

A litmus program has shared variables and threads without branches, of atomic accesses with constant arguments and fences:
  x.store(1, release)   r = x.load(acquire)   r = x.fetch_add(1, relaxed)   r = x.swap(1, acq_rel)
  r = x.compare_exchange(0, 1, acq_rel, acquire)   fence(seq_cst)
Every schedule and every choice of the memory is run. The model is RC11 without load buffering, enumerated by its axioms.
Of a folder, all files that end in .rdl are compared; the outcomes are listed where runs and model differ.

Exit status: 0 no forbidden outcome was seen, 1 one was seen, 2 an error in arguments or files.")]
pub(crate) struct LitmusArgs {
    /// A program's file, or a folder of them
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Which values atomic accesses read: the newest (sc), or all that their memory orders allow (weak)
    #[arg(long, value_name = "MODEL", default_value = "weak", value_parser = memory)]
    pub(crate) memory: MemoryModel,
}

#[derive(Args)]
#[command(after_help = "\
Example: two threads, ten steps, a bug that needs three ordering constraints
  raddle lab bound --threads 2 --steps 10 --depth 3 --conflicts 4 --runs 1000

PCT hits a bug of depth d with probability at least 1/(n k^(d-1)). POS hits any partial order with probability at
least n^-k r^u, where l = ceil(c/(n-1)), r = n k/(k + (n-1) l), u = (k-l)/2 and c is the number of direct conflicts.")]
pub(crate) struct BoundArgs {
    /// n: maximum number of threads
    #[arg(long, value_name = "N")]
    pub(crate) threads: u64,
    /// k: maximum number of steps of a run
    #[arg(long, value_name = "K", value_parser = whole)]
    pub(crate) steps: u64,
    /// d: number of ordering constraints that suffice for the bug
    #[arg(long, value_name = "D")]
    pub(crate) depth: u64,
    /// c: maximum number of direct conflicts of a run (default: (n-1) k)
    #[arg(long, value_name = "C")]
    pub(crate) conflicts: Option<u64>,
    /// Planned or executed runs
    #[arg(long, value_name = "R", value_parser = whole)]
    pub(crate) runs: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example: the strides of the paper
  raddle lab stride --runs 10000 --confidence 0.95

A thread of l steps whose strides have at most s steps ends before another one begins with probability
P = sum over i >= 1 of 2^-i P(U_1 + .. + U_i >= l/s), for U_j uniform in 0..1 (equation 5 of the paper), if it runs first.")]
pub(crate) struct StrideArgs {
    /// Planned runs, ten of which measure the threads
    #[arg(long, value_name = "R", value_parser = whole)]
    pub(crate) runs: u64,
    /// Required probability of a hit in at least one run, between 0 and 1
    #[arg(long, value_name = "C", value_parser = share)]
    pub(crate) confidence: f64,
    /// Independent orders that must occur in one run
    #[arg(long, value_name = "E", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) edges: u32,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("a number between 0 and 1 is needed".to_owned()),
    }
}
