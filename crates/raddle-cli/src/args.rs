//! The arguments, and the help that explains them.

mod beam;
mod bench;
mod campaign;
mod cargo;
mod ci;
mod coverage;
mod failure;
mod lab;
mod memory;
mod merge;
mod native;
mod network;
mod report;
mod search;
mod setup;
mod shard;
mod show;
mod tx;
mod values;

pub(crate) use beam::{BeamCommand, BeamRunArgs};
pub(crate) use bench::BenchArgs;
pub(crate) use campaign::{
    CampaignCommand, CampaignMergeArgs, CampaignPlaceArgs, CampaignReportArgs, CampaignRunArgs,
    CampaignStatusArgs, FailOnArg,
};
pub(crate) use cargo::{CargoCommand, CargoDoctorArgs, CargoInitArgs, CargoRunArgs, CargoTestArgs};
pub(crate) use ci::CiArgs;
pub(crate) use coverage::{CoverageArgs, StoreArgs};
pub(crate) use failure::{ExplainArgs, MinimizeArgs, OpenArgs, ReplayArgs};
pub(crate) use lab::{BoundArgs, LabCommand, LitmusArgs, MicroArgs, RunArgs, StrideArgs};
pub(crate) use memory::Memory as MemoryArg;
pub(crate) use merge::MergeArgs;
pub(crate) use native::{BaselineArg, NativeArgs, PointsArg, RacesArg, ThreadsArg};
pub(crate) use report::{FormatArg, ReportArgs};
pub(crate) use search::{STRATEGY, SearchArgs, cores, one_run};
pub(crate) use setup::{CompletionsArgs, DoctorArg, DoctorArgs, ManArgs};
pub(crate) use shard::{ShardArgs, UnitArgs};
pub(crate) use show::{FramesArg, ShowArgs};
pub(crate) use tx::{
    BuildArgs, CountArgs, LibraryArgs, PlanArgs, SearchArg, SitesArgs, TxCommand, VerifyArgs,
};
pub(crate) use values::duration;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;

/// Finds schedules that break a concurrent program.
#[derive(Parser)]
#[command(
    name = "raddle",
    version,
    after_help = "\
Examples:
  raddle run -- ./program args                      a pthreads program, 10,000 runs
  raddle run program.c args                         compile the source, then run it
  cargo raddle test                                 the tests of a Rust crate, each under many schedules
  raddle beam run my_tests:race --pa ebin           a function of an Erlang module
  raddle lab run program.rdl                        10,000 runs under pos
  raddle lab run program.rdl --strategy dpor        every partial order once
  raddle lab run program.rdl --until-bug --record bug.json
  raddle replay bug.json                            the same run again, step by step
  raddle minimize bug.json                          the same failure with fewer switches
  raddle explain bug.json                           which order of operations makes it fail
  raddle report bug.json -o bug.html                a page to step through the run
  raddle strategies                                 the values of --strategy

Exit status: 0 no bug was found, 1 a bug was found, 2 an error in arguments or files. A search that a signal
ends prints its summary first: 130 SIGINT (Ctrl-C), 143 SIGTERM, 129 SIGHUP."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a pthreads program under chosen schedules until a run fails
    Run(NativeArgs),
    /// List the strategies with parameters, source and guarantee
    Strategies(StrategiesArgs),
    /// Experiments with abstract programs
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Merge the results of shards into one report
    Merge(MergeArgs),
    /// Search many targets, night after night
    Campaign {
        #[command(subcommand)]
        command: CampaignCommand,
    },
    /// Execute parts of searches on request: a line of JSON each on standard input and output
    #[command(after_help = "\
The protocol is described in docs/design/worker.md. A worker executes the programs that its requests name, so its input must be
trusted.

Exit status: 0 at the end of the input, 2 if it cannot be read.")]
    Worker,
    /// Search on the machines of a Ray cluster; needs the Python package in the folder `fleet`
    #[command(after_help = "\
Examples:
  raddle fleet run --strategy pos --runs 1e7 --address auto -- ./program
  raddle fleet test --address auto                  the tests of a Rust crate
  raddle-fleet --help                               all options

`raddle fleet` starts raddle-fleet, which `pip install ./fleet` installs in a copy of the repository. The report is that of
one process. Ctrl-C prints the report of the runs so far, and --resume continues.")]
    Fleet {
        /// Arguments of `raddle-fleet`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Replay a recorded run exactly and display it
    Replay(ReplayArgs),
    /// Erlang programs on a stock VM
    Beam {
        #[command(subcommand)]
        command: BeamCommand,
    },
    /// Measure how soon strategies find the bugs of a suite of programs
    Bench(BenchArgs),
    /// Show which interleavings were tested, over all inputs and days
    Coverage(CoverageArgs),
    /// Search for a run with the same failure and fewer context switches
    Minimize(MinimizeArgs),
    /// Explain which ordering of operations makes a recorded run fail
    Explain(ExplainArgs),
    /// Display a recorded run: a page, a text, or a file for other tools
    Report(ReportArgs),
    /// Make the operations of a lock-free data structure transactions, and execute all interleavings of them
    #[command(after_help = "\
Examples:
  raddle tx sites --operations push,pop stack.c            the memory accesses of the operations
  raddle tx count --operations push,pop stack.c            the number of interleavings against the size of transactions
  raddle tx plan --operations push,pop --budget 1e5 stack.c
  raddle tx verify plan.txt                                all interleavings of the plan
  raddle tx build plan.txt -o stack                        the program with its transactions enforced")]
    Tx {
        #[command(subcommand)]
        command: TxCommand,
    },
    /// Rust tests and programs, built with hooks and run under chosen schedules: cargo raddle
    #[command(
        version,
        display_name = "cargo-raddle",
        override_usage = "cargo raddle COMMAND",
        after_help = "\
Examples:
  cargo raddle test                                 every test of this package, under many schedules
  cargo raddle run -- args                          its program
  cargo raddle doctor                               whether the installed compiler can be used

Nothing has to be added to a crate. Every command has --help. `raddle cargo` is the same."
    )]
    Cargo {
        #[command(subcommand)]
        command: CargoCommand,
    },
    /// Check that Raddle can control programs on this machine
    Doctor(DoctorArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write the man pages into a folder
    Man(ManArgs),
    /// Compile C with hooks for `raddle run`: make CC="raddle cc"
    #[command(disable_help_flag = true)]
    Cc {
        /// Arguments of the compiler
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Compile C++ with hooks for `raddle run`: make CXX="raddle c++"
    #[command(name = "c++", disable_help_flag = true)]
    Cpp {
        /// Arguments of the compiler
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

#[derive(Args)]
pub(crate) struct StrategiesArgs {
    /// Show only this strategy
    pub(crate) name: Option<String>,
    /// Print JSON, one strategy per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
