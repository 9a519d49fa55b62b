//! The arguments of `raddle run`.

use super::coverage::StoreArgs;
use super::memory::MemoryArgs;
use super::network::NetworkArgs;
use super::search::SearchArgs;
use super::values::duration;
use clap::{Args, ValueEnum};
use raddle_model::native::{Isolation, Points};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle run -- ./program args
  raddle run --strategy pct:depth=3 --runs 1e5 --seed 7 -- ./program
  raddle run --time 30s --keep-going --json -- ./program
  raddle run --cflags \"-std=c11 -lm\" program.c args

A C or C++ file (.c, .cc, .cpp, .cxx, .C) is compiled first, as by `raddle cc -g -O1 -pthread`, into the folder `programs` of
the cache (see `raddle cc --help`). It stays there, so recorded runs replay even after the source was edited.
A dynamically linked program runs unmodified. Threads switch where it synchronizes and, in a program with hooks, where it
accesses shared memory. Time is virtual, and the standard input is empty.
`portfolio` runs several strategies in turn, and those that find more new partial orders get more runs. Strategies joined by
+, such as pos+pct:depth=2, take equal turns.
The same seed gives the same runs for any --jobs.

Exit status: 0 no run failed, 1 a run failed, 2 an error, such as an unsupported program.")]
pub(crate) struct NativeArgs {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Run the program without control, for comparison
    #[arg(long, value_enum, value_name = "HOW", conflicts_with_all = ["shard", "strategy", "record", "coverage"])]
    pub(crate) baseline: Option<BaselineArg>,
    /// Memory accesses of an instrumented program that are scheduling points
    #[arg(long, value_enum, default_value_t = PointsArg::Shared)]
    pub(crate) points: PointsArg,
    /// Treatment of data races in an instrumented program
    #[arg(long, value_enum, default_value_t = RacesArg::Report)]
    pub(crate) races: RacesArg,
    /// Kind of threads; the runs are the same
    #[arg(long, value_enum, default_value_t = ThreadsArg::Fibers)]
    pub(crate) threads: ThreadsArg,
    /// Isolation of runs from each other; the runs are the same
    #[arg(long, value_enum, default_value_t = IsolationArg::Reset)]
    pub(crate) isolation: IsolationArg,
    /// Report which interleavings (iRoots of Maple's idioms) runs had, and which were predicted, and store
    /// them; executes the runs of a strategy in order
    #[arg(long, conflicts_with = "shard")]
    pub(crate) coverage: bool,
    /// Distinguish locations by their callers, so that a function with many callers counts once for each;
    /// always on for Rust. Other programs must be compiled by `raddle cc`
    #[arg(long)]
    pub(crate) callers: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Neither read nor write the store
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Abandon a run that has not ended after this long
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// Additional arguments for the compiler, if PROGRAM is a source file
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) cflags: Option<String>,
    /// Fail a run whose standard output differs from the content of FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) expect_output: Option<PathBuf>,
    /// Fail a run that exits with a status other than 0
    #[arg(long)]
    pub(crate) fail_on_exit: bool,
    /// File for the first failing run (default: raddle-failure-ID.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The program, or its C or C++ source, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BaselineArg {
    /// Unmodified
    Stress,
    /// With random delays at synchronization and, in an instrumented program, at memory accesses
    Delay,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PointsArg {
    /// All accesses
    All,
    /// Accesses to memory that more than one thread touches
    Shared,
    /// No accesses
    Sync,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RacesArg {
    /// Do not check
    Off,
    /// If no run failed, check some more runs; races are reported and are not failures
    Report,
    /// Fail a run with a data race
    Fail,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThreadsArg {
    /// Fibers of one OS thread, if the machine supports them
    Fibers,
    /// OS threads, one of which runs at a time; slower
    Os,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArg {
    /// Undo what a run has changed and reuse its process, where that is possible; fork otherwise
    Reset,
    /// Fork a process for every run; slower
    Fork,
}

impl From<PointsArg> for Points {
    fn from(points: PointsArg) -> Points {
        match points {
            PointsArg::All => Points::All,
            PointsArg::Shared => Points::Shared,
            PointsArg::Sync => Points::Sync,
        }
    }
}

impl From<IsolationArg> for Isolation {
    fn from(isolation: IsolationArg) -> Isolation {
        match isolation {
            IsolationArg::Reset => Isolation::Reset,
            IsolationArg::Fork => Isolation::Fork,
        }
    }
}
