//! The arguments of `raddle beam`.

use super::search::SearchArgs;
use super::values::duration;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand)]
pub(crate) enum BeamCommand {
    /// Run a function of an Erlang or Elixir module under chosen schedules until a run fails
    Run(BeamRunArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle beam run my_tests:race --pa ebin
  raddle beam run my_tests:race --pa ebin --strategy pct:depth=3 --runs 1e5 --json
  raddle beam run my_tests:two --pa ebin --node a@x --node b@x
  raddle beam run my_tests:two --pa ebin --node a@x --node b@x --faults crash=1,restart=1,partition=1
  raddle beam run my_tests:race --pa ebin --time 30s --keep-going
  raddle beam run my_tests:race --pa ebin --allow my_nif:sum/2
  raddle beam run MyTests.race --pa _build/test/lib/my_app/ebin
  raddle replay raddle-failure-1234abcd.json

The function takes no arguments. A run fails if the process of the function exits abnormally, if no process can continue
(deadlock), if a process loops forever without an operation, or if it reaches the step limit or the limit of virtual time.

Modules must be compiled with debug_info. Raddle instruments them, and the OTP modules that they call, on the first call, and
caches the result. A call to a port, a socket, a real file or a native function ends the run with an error that names the
function. --allow permits a native function whose result depends only on its arguments. Such functions of crypto and zlib are
permitted by default; crypto's random bytes are the same in every run.

Elixir is found through PATH or --pa; add one --pa for the ebin folder of each dependency. `portfolio` runs several
strategies in turn, and those that find more new partial orders get more runs; join others with +. The same seed gives the
same runs for any --jobs. Time is virtual. The output and log of the failing run are printed.

With several nodes the function runs on the first one. With --faults, the strategy chooses when to inject a fault: `crash`
stops a node other than the first, `restart` starts it again with the function of its first process, `disconnect` cuts a
connection, and `partition` cuts it until it heals. The steps of faults have their own lane, `faults`.

Exit status: 0 no run failed, 1 a run failed, 2 an error, such as an unsupported program.")]
pub(crate) struct BeamRunArgs {
    /// The function, as in Erlang (`my_tests:race`) or in Elixir (`MyTests.race`)
    #[arg(value_name = "MODULE:FUNCTION", value_parser = function)]
    pub(crate) test: String,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// A directory with .beam files; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) pa: Vec<PathBuf>,
    /// A virtual node; may be repeated
    #[arg(long, value_name = "NAME@HOST", value_parser = node)]
    pub(crate) node: Vec<String>,
    /// Additional failure conditions; may be repeated
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Vec<FailOnArg>,
    /// A module or a function that cannot be controlled, such as a native one, and runs unmodified; may be
    /// given more than once
    #[arg(long, value_name = "MODULE[:FUNCTION/ARITY]", value_parser = allowed)]
    pub(crate) allow: Vec<String>,
    /// Maximum number of injected faults of each kind in a run, such as
    /// crash=1,restart=1,partition=2,disconnect=1
    #[arg(long, value_name = "SPEC", value_parser = faults)]
    pub(crate) faults: Option<String>,
    /// Fail a run that takes more virtual time, such as 30s or 5m (default: unlimited)
    #[arg(long, value_name = "T", value_parser = duration)]
    pub(crate) virtual_time: Option<Duration>,
    /// Abandon a run without an operation for this long
    #[arg(long, value_name = "T", default_value = "60s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// File for the first failing run (default: raddle-failure-ID.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// An error is logged, or a process crashes
    Error,
    /// A supervisor gives up, because a child ended too often
    GaveUp,
}

impl FailOnArg {
    /// Returns its name, as in failure files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            FailOnArg::Error => "error",
            FailOnArg::GaveUp => "gave-up",
        }
    }
}

/// The kinds of faults.
const FAULTS: [&str; 4] = ["crash", "restart", "partition", "disconnect"];

fn faults(text: &str) -> Result<String, String> {
    let is_fault = |part: &str| {
        part.split_once('=')
            .is_some_and(|(sort, count)| FAULTS.contains(&sort) && count.parse::<u16>().is_ok())
    };
    if text.split(',').all(is_fault) {
        return Ok(text.to_owned());
    }
    Err(format!("so many of {}, such as crash=1,partition=2", FAULTS.join(", ")))
}

/// Parses a function and returns it in the syntax of Erlang, in which an Elixir module has a longer name. Its
/// arity, which must be 0, is optional.
fn function(text: &str) -> Result<String, String> {
    let text = text.strip_suffix("/0").or_else(|| text.strip_suffix("()")).unwrap_or(text);
    if text.rsplit_once('/').is_some_and(|(_, arity)| arity.parse::<u8>().is_ok()) {
        return Err(
            "the function takes no arguments; one that does may be called by another that takes none"
                .to_owned(),
        );
    }
    let (of_elixir, parts) = match text.split_once(':') {
        Some(parts) => (false, Some(parts)),
        None => (text.starts_with(|first: char| first.is_ascii_uppercase()), text.rsplit_once('.')),
    };
    match parts.filter(|(module, function)| !module.is_empty() && !function.is_empty()) {
        Some((module, function)) if of_elixir => {
            let prefix = if module.starts_with("Elixir.") { "" } else { "Elixir." };
            Ok(format!("{prefix}{module}:{function}"))
        }
        Some(_) if text.contains(':') => Ok(text.to_owned()),
        _ => Err("a function of a module, such as my_tests:race, or MyTests.race in Elixir".to_owned()),
    }
}

fn allowed(text: &str) -> Result<String, String> {
    // In Elixir a dot separates module and function, and module names have dots, too.
    let whole = |(name, arity): (&str, &str)| {
        let parts = name.split_once(':').or_else(|| name.rsplit_once('.'));
        arity.parse::<u8>().is_ok()
            && parts.is_some_and(|(module, function)| !module.is_empty() && !function.is_empty())
    };
    if text.rsplit_once('/').map_or(!text.is_empty() && !text.contains(':'), whole) {
        Ok(text.to_owned())
    } else {
        Err("a module or a function of one, such as my_nif or my_nif:sum/2".to_owned())
    }
}

fn node(text: &str) -> Result<String, String> {
    match text.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() => Ok(text.to_owned()),
        _ => Err("a name and a host, such as a@x".to_owned()),
    }
}
