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

--gdb begins at `main` of the recorded run, with the threads as OS threads: breakpoints, watchpoints, `info threads` and the
stacks of all threads are as usual, and every `run` is the same run again. One thread runs at a time, and the schedule is the
recorded one: a step that waits for another thread lets that one run. `set scheduler-locking on` and `call` of
functions that synchronise break the run. The output of the program comes at the end.
If the standard input is no terminal, gdb gets its commands from the arguments, and then lets the run go to its end.")]
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
    #[arg(long, conflicts_with_all = ["json", "junit", "sarif", "github"])]
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

Every candidate is really run. The result fails in the same way, with the fewest switches between threads that were
found, then with the fewest that take the turn from a thread which could have gone on, then with the fewest steps. The
file is written whenever a smaller run was found, so that nothing is lost by stopping early.

Exit status: 1 the smallest run was written, 2 a mistake, or a run that does not repeat.")]
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

The closest run that passes is the one with the fewest pairs of dependent operations in another order. The depth is that
of PCT: how many orders of two operations make every schedule fail that keeps them. It is estimated from random schedules.
If the time is over before everything was tried, the command prints the best answer so far, and what was not tried.

Exit status: 1 the failure came again and was explained as far as possible, 2 a mistake, or a run that does not repeat.")]
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
