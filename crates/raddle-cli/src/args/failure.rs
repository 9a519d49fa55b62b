//! The arguments of the commands that take a recorded failure, except `raddle report`.

use super::ci::CiArgs;
use super::native::ThreadsArg;
use super::show::ShowArgs;
use super::values::{duration, runs, whole};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How the program of a failure file is found, and whether it may run.
#[derive(Args)]
pub(crate) struct OpenArgs {
    /// The directory with the modules of an Erlang test, if it has moved
    #[arg(long, value_name = "DIR")]
    pub(crate) pa: Vec<PathBuf>,
    /// Run the program of a file that you did not record on this machine
    #[arg(long)]
    pub(crate) trust: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  raddle lab run abba.rdl --until-bug --record bug.json
  raddle replay bug.json
  raddle replay bug.json --gdb
  raddle replay failures --junit replay.xml         every failure of a folder: is it fixed?
  raddle replay bug.json --gdb -- -ex 'break push' -ex continue -ex 'thread apply all bt'

The program, its parameters and every decision are in the file. If the run does not repeat, the command prints
the step and the cause, and the exit status is 2.

The command prints what it runs. It refuses a file that you did not record on this machine, or that was changed since, unless
--trust is given.

Several files, a folder, or --junit, --sarif or --github form a regression suite. Each recorded schedule is followed as far as possible,
and its failure is FIXED (the run passes), FAILING (the same kind of failure), CHANGED (another kind) or an ERROR (not replayed).
Exit status: 0 all are fixed, 1 some fail, 2 some could not be replayed.

--gdb starts at `main` of the recorded run, with OS threads: breakpoints, watchpoints, `info threads` and the stacks of all
threads work as usual, and every `run` is the same run again. One thread runs at a time, in the recorded order. Do not use
`set scheduler-locking on`, or `call` functions that synchronize. The output of the program is printed at the end.
If the standard input is not a terminal, gdb takes its commands from the arguments, then runs to the end.")]
pub(crate) struct ReplayArgs {
    /// A failure file, or - for standard input; several files or a folder form a regression suite
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// If the program has changed, follow the recorded run as far as possible and print the outcome
    #[arg(long)]
    pub(crate) tolerant: bool,
    /// Kind of threads of a pthreads program
    #[arg(long, value_enum, default_value_t = ThreadsArg::Fibers)]
    pub(crate) threads: ThreadsArg,
    /// Run a pthreads program under gdb
    #[arg(long, conflicts_with_all = ["json", "junit", "sarif", "github", "tolerant"])]
    pub(crate) gdb: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ci: CiArgs,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    /// More arguments for gdb, after --
    #[arg(last = true, requires = "gdb", allow_hyphen_values = true, value_name = "GDB ARGUMENTS")]
    pub(crate) gdb_args: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  raddle run --no-minimize --record bug.json -- ./program
  raddle minimize bug.json -o small.json && raddle replay small.json

Every candidate is executed, and its failure is the same. Fewer thread switches come first, then fewer preemptions, then fewer
steps. Smaller runs are written at most once a second; the smallest one at the end, also after Ctrl-C.

Exit status: 1 the smallest run was written, 2 an error, such as a run that does not repeat.")]
pub(crate) struct MinimizeArgs {
    /// A failure file, or - for standard input
    pub(crate) file: String,
    /// File for the smallest run (default: FILE with .min.json at its end)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Maximum number of runs
    #[arg(long, short = 'n', value_name = "N", default_value = "20000", value_parser = runs)]
    pub(crate) runs: u64,
    /// Stop starting new runs after this long, such as 30s or 5m
    #[arg(long, value_name = "T", default_value = "60s", value_parser = duration)]
    pub(crate) time: Duration,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  raddle run -- ./program; raddle explain raddle-failure-0123abcd.json

The closest passing run has the fewest pairs of dependent operations in another order. The depth is that of PCT: the number
of ordering constraints between two operations with which every schedule fails. It is estimated from random schedules.
At the time limit, the command prints the best answer so far and what it did not try.

Exit status: 1 the failure was reproduced and explained as far as possible, 2 an error, such as a run that does not repeat.")]
pub(crate) struct ExplainArgs {
    /// A failure file, or - for standard input
    pub(crate) file: String,
    /// Maximum number of runs
    #[arg(long, short = 'n', value_name = "N", default_value = "20000", value_parser = runs)]
    pub(crate) runs: u64,
    /// Stop starting new runs after this long, such as 30s or 5m
    #[arg(long, value_name = "T", default_value = "30s", value_parser = duration)]
    pub(crate) time: Duration,
    /// Random schedules with which each set of orderings is tried
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole)]
    pub(crate) samples: u64,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
