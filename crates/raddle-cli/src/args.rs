//! The arguments, and the help that explains them.

mod beam;
mod bench;
mod cargo;
mod coverage;
mod failure;
mod report;
mod search;

pub(crate) use beam::{BeamCommand, BeamRunArgs};
pub(crate) use bench::BenchArgs;
pub(crate) use cargo::{
    BuildArgs, CargoCommand, CargoInitArgs, CargoRunArgs, CargoTestArgs, DoctorArgs, HooksArg,
};
pub(crate) use coverage::{CoverageArgs, StoreArgs};
pub(crate) use failure::{ExplainArgs, MinimizeArgs, ReplayArgs};
pub(crate) use report::{FormatArg, ReportArgs};
pub(crate) use search::{STEPS, STRATEGY, SearchArgs, cores};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Runs a concurrent program under schedules of its own choice and finds the one that breaks it.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  raddle run -- ./program args                      a pthreads program, 10,000 runs
  raddle run program.c args                         the same, compiled before
  cargo raddle test                                 the tests of a Rust crate, each under many schedules
  raddle beam run my_tests:race --pa ebin           a function of an Erlang module
  raddle lab run program.rdl                        10,000 runs under pos
  raddle lab run program.rdl --strategy dpor        every partial order once
  raddle lab run program.rdl --until-bug --record bug.json
  raddle replay bug.json                            the same run again, step by step
  raddle minimize bug.json                          the same failure with fewer switches
  raddle explain bug.json                           which order of operations makes it fail
  raddle report bug.json -o bug.html                a page to step through the run
  raddle strategies                                 what can follow --strategy

Exit status: 0 no bug was found, 1 a bug was found, 2 a mistake in arguments or files."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a pthreads program again and again under chosen schedules, until one breaks it
    Run(NativeArgs),
    /// List the strategies with parameters, source and promise
    Strategies(StrategiesArgs),
    /// Experiments with abstract programs
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Repeat a recorded run exactly and show it
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
    /// Look for a run with the same failure and fewer switches between threads
    Minimize(MinimizeArgs),
    /// Tell which order of operations makes a recorded run fail
    Explain(ExplainArgs),
    /// Show a recorded run: a page, a text, or a file for other tools
    Report(ReportArgs),
    /// Rust tests and programs, built with hooks and run under chosen schedules: cargo raddle
    #[command(
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
#[command(after_help = "\
Examples:
  raddle run -- ./program args
  raddle run --strategy pct:depth=3 --runs 1e5 --seed 7 -- ./program
  raddle run --time 30s --keep-going --json -- ./program
  raddle run --cflags \"-std=c11 -lm\" program.c args

A C or C++ file (.c, .cc, .cpp, .cxx, .C) is compiled first, as by `raddle cc -g -O1 -pthread`, into the folder `programs` of
the cache (see `raddle cc --help`). There it stays, so that recorded runs replay even if the source was edited since.
The program runs as it is, if it is linked dynamically. The schedule may change where it synchronises, and where it
touches shared memory, if it was compiled for that. Time is virtual, the standard input is empty.
`portfolio` is several strategies that take turns, and whoever finds more new partial orders has more of them; others can be
joined by +, such as pos+pct:depth=2, with equally many turns.
The same seed gives the same runs, whatever --jobs says.

Exit status: 0 no run failed, 1 a run failed, 2 a mistake in arguments, or a program that cannot be controlled.")]
pub(crate) struct NativeArgs {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// For comparison, run the program without control
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) baseline: Option<BaselineArg>,
    /// At which memory accesses of an instrumented program the schedule may change
    #[arg(long, value_enum, default_value_t = PointsArg::Shared)]
    pub(crate) points: PointsArg,
    /// What becomes of data races in an instrumented program
    #[arg(long, value_enum, default_value_t = RacesArg::Report)]
    pub(crate) races: RacesArg,
    /// What the program's threads are; the runs are the same
    #[arg(long, value_enum, default_value_t = ThreadsArg::Fibers)]
    pub(crate) threads: ThreadsArg,
    /// Tell which interleavings (iRoots of Maple's idioms) runs had, and which were predicted, and keep them in the store;
    /// makes the runs of a strategy in order
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Tell places apart by who called them, so that a function with many callers counts once for each; always so for Rust.
    /// Other programs have to be compiled by `raddle cc`
    #[arg(long)]
    pub(crate) callers: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Neither read nor write the store
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Give up a run that has not ended after so much time
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// More arguments for the compiler, if PROGRAM is a source file
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) cflags: Option<String>,
    /// A run whose standard output is not exactly the content of FILE fails
    #[arg(long, value_name = "FILE")]
    pub(crate) expect_output: Option<PathBuf>,
    /// A run that ends with a status other than 0 fails
    #[arg(long)]
    pub(crate) fail_on_exit: bool,
    /// Where the first failing run is written to; raddle-failure-ID.json if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The program, or its C or C++ source, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BaselineArg {
    /// As it is
    Stress,
    /// With random delays at synchronisation and, in an instrumented program, at memory accesses
    Delay,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PointsArg {
    /// At all of them
    All,
    /// At those to memory that more than one thread touches
    Shared,
    /// At none
    Sync,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RacesArg {
    /// Nobody looks for them
    Off,
    /// If no run failed, some more runs look for them; they are counted, and are no failure
    Report,
    /// A run with one fails
    Fail,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThreadsArg {
    /// Fibers of one OS thread, where the machine allows that
    Fibers,
    /// OS threads, one of which runs at a time; slower
    Os,
}

#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// Run a program many times: how often it fails, and the first failing schedule
    Run(RunArgs),
    /// The micro benchmark of the POS paper: how evenly strategies cover partial orders
    Micro(MicroArgs),
    /// The guarantees of PCT and POS in numbers
    Bound(BoundArgs),
}

#[derive(Args)]
pub(crate) struct StrategiesArgs {
    /// Show only this strategy
    pub(crate) name: Option<String>,
    /// Print JSON, one strategy a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle lab run pos_fig2.rdl --strategy random-walk --strategy pos --exact
  raddle lab run reorder.rdl --set n=20 --strategy oos --runs 1e5
  raddle lab run abba.rdl --until-bug --record bug.json && raddle replay bug.json

A strategy is a name with parameters: pct:depth=3,steps=20 or conflict:pos; see `raddle strategies`.
The same seed gives the same numbers, whatever --jobs says.
--exact knows random-walk, pct with a fixed depth, basic-pos and pos.
--json prints one object for each strategy, a line each.

Exit status: 0 no run failed, 1 a run failed, 2 a mistake in arguments or files.")]
pub(crate) struct RunArgs {
    /// The program's file, or - for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Give a parameter of the program another value
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, i64)>,
    /// Compute the probability of a failure as well, where the strategy allows it
    #[arg(long)]
    pub(crate) exact: bool,
    /// How many beginnings of runs --exact may look at, with 4 orders of priorities and 20 draws of PCT for each
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = whole)]
    pub(crate) exact_limit: u64,
    /// Tell which interleavings (iRoots of Maple's idioms) runs had, and which were predicted; makes the runs of a strategy in order
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Write the first failing run to a file, for `raddle replay`; raddle-failure-ID.json if no name is given
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
    /// The benchmark's file, or - for standard input; the published one if not given
    pub(crate) file: Option<String>,
    /// Only this program; may be given several times
    #[arg(long, short, value_name = "NAME")]
    pub(crate) program: Vec<String>,
    /// The strategy; may be given several times
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) strategy: Vec<String>,
    /// How many runs of each strategy on each program, such as 1000000 or 5e7
    #[arg(long, short = 'n', value_name = "N", default_value = "1000000", value_parser = runs)]
    pub(crate) runs: u64,
    /// The seed from which all runs follow
    #[arg(long, value_name = "X", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Do the runs of a strategy in order on one core, to tell after how many all partial orders were seen; always so
    /// for strategies that learn
    #[arg(long)]
    pub(crate) in_order: bool,
    /// How many cores; all of them if not given
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example: two threads, ten steps, a bug that needs three ordering constraints
  raddle lab bound --threads 2 --steps 10 --depth 3 --conflicts 4 --runs 1000

PCT hits a bug of depth d with probability at least 1/(n k^(d-1)). POS hits any partial order with probability at
least n^-k r^u, where l = ceil(c/(n-1)), r = n k/(k + (n-1) l), u = (k-l)/2 and c is the number of direct conflicts.")]
pub(crate) struct BoundArgs {
    /// n: the program has at most so many threads
    #[arg(long, value_name = "N")]
    pub(crate) threads: u64,
    /// k: a run has at most so many steps
    #[arg(long, value_name = "K", value_parser = whole)]
    pub(crate) steps: u64,
    /// d: so many ordering constraints are enough for the bug
    #[arg(long, value_name = "D")]
    pub(crate) depth: u64,
    /// c: a run has at most so many direct conflicts; (n-1) k if not given
    #[arg(long, value_name = "C")]
    pub(crate) conflicts: Option<u64>,
    /// How many runs are planned or were made
    #[arg(long, value_name = "R", value_parser = whole)]
    pub(crate) runs: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A positive whole number, also written as 5e7 or 10_000.
fn whole(text: &str) -> Result<u64, String> {
    let wrong = || "write a whole number of at least 1, such as 10000 or 5e7".to_owned();
    let digits = text.replace('_', "");
    let number = match digits.split_once(['e', 'E']) {
        None => digits.parse().map_err(|_| wrong())?,
        Some((mantissa, exponent)) => {
            let (mantissa, exponent): (u64, u32) =
                mantissa.parse().ok().zip(exponent.parse().ok()).ok_or_else(wrong)?;
            10_u64.checked_pow(exponent).and_then(|power| mantissa.checked_mul(power)).ok_or_else(wrong)?
        }
    };
    if number == 0 { Err(wrong()) } else { Ok(number) }
}

/// A span of time.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a whole number with a unit, such as 500ms, 30s or 5m".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = text[..split].parse().map_err(|_| wrong())?;
    let milliseconds = match &text[split..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(milliseconds).filter(|&all| all > 0).map(Duration::from_millis).ok_or_else(wrong)
}

/// A number of runs.
fn runs(text: &str) -> Result<u64, String> {
    const MOST: u64 = 10_000_000_000;
    let number = whole(text)?;
    if number > MOST { Err("write at most 1e10; use another seed for more".to_owned()) } else { Ok(number) }
}

fn assignment(text: &str) -> Result<(String, i64), String> {
    let wrong = || "write a name and a whole number, such as n=5".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().parse().map_err(|_| wrong())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_may_be_written_short() {
        assert_eq!(whole("5e7"), Ok(50_000_000));
        assert_eq!(whole("10_000"), Ok(10_000));
        for wrong in ["0", "", "e5", "1.5e3", "-1", "1e30", "many"] {
            assert!(whole(wrong).is_err(), "{wrong}");
        }
        assert_eq!(assignment("n = -5"), Ok(("n".to_owned(), -5)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for wrong in ["5", "s", "0s", "5 s", "-5s", "1d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(assignment("n").is_err() && assignment("n=x").is_err());
    }
}
