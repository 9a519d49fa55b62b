//! The arguments of `cargo raddle`.

use super::memory::MemoryArgs;
use super::native::{IsolationArg, PointsArg};
use super::network::NetworkArgs;
use super::search::SearchArgs;
use super::values::duration;
use clap::{Args, Subcommand, ValueEnum};
use raddle_cc::rust::Hooks;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand)]
pub(crate) enum CargoCommand {
    /// Build the tests with hooks and run each under many schedules
    Test(CargoTestArgs),
    /// Build a program with hooks and run it under many schedules, as `raddle run` does
    Run(CargoRunArgs),
    /// Write a raddle.toml with comments, for budgets, strategies and tests to skip
    Init(CargoInitArgs),
    /// Compile and run a probe, and report what is missing
    Doctor(CargoDoctorArgs),
}

/// The selection of what to build.
#[derive(Args)]
#[command(next_help_heading = "What is built")]
pub(crate) struct BuildArgs {
    /// Only this package; may be repeated
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) package: Vec<String>,
    /// All packages of the workspace
    #[arg(long)]
    pub(crate) workspace: bool,
    /// Exclude this package of the workspace; may be repeated
    #[arg(long, value_name = "SPEC", requires = "workspace")]
    pub(crate) exclude: Vec<String>,
    /// Features to enable, separated by commas
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub(crate) features: Vec<String>,
    /// Enable all features
    #[arg(long)]
    pub(crate) all_features: bool,
    /// Disable the default features
    #[arg(long)]
    pub(crate) no_default_features: bool,
    /// Build with optimizations; memory accesses that the compiler removes are invisible
    #[arg(long, short)]
    pub(crate) release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME", conflicts_with = "release")]
    pub(crate) profile: Option<String>,
    /// The Cargo.toml (default: that of this folder)
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Do not access the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Do not change Cargo.lock
    #[arg(long)]
    pub(crate) locked: bool,
    /// How the compiler inserts hooks; see `cargo raddle doctor`
    #[arg(long, value_enum, default_value_t = HooksArg::Passes)]
    pub(crate) hooks: HooksArg,
    /// Build the standard library with hooks, as --memory weak does. Needs the component rust-src
    #[arg(long)]
    pub(crate) build_std: bool,
}

impl BuildArgs {
    /// Returns the arguments of cargo that select what to build.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for (option, values) in
            [("--package", &self.package), ("--exclude", &self.exclude), ("--features", &self.features)]
        {
            values.iter().for_each(|value| words.extend([option.into(), value.into()]));
        }
        for (option, given) in [
            ("--workspace", self.workspace),
            ("--all-features", self.all_features),
            ("--no-default-features", self.no_default_features),
            ("--release", self.release),
            ("--offline", self.offline),
            ("--locked", self.locked),
        ] {
            words.extend(given.then(|| option.into()));
        }
        words.extend(self.profile.iter().flat_map(|profile| ["--profile".into(), profile.into()]));
        words.extend(self.manifest_path.iter().flat_map(|file| ["--manifest-path".into(), file.into()]));
        words
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum HooksArg {
    /// By naming LLVM's passes, with flags of the stable compiler
    Passes,
    /// By the compiler's own option, which needs RUSTC_BOOTSTRAP
    Sanitizer,
}

impl From<HooksArg> for Hooks {
    fn from(hooks: HooksArg) -> Hooks {
        match hooks {
            HooksArg::Passes => Hooks::Passes,
            HooksArg::Sanitizer => Hooks::Sanitizer,
        }
    }
}

#[derive(Args)]
#[command(
    override_usage = "cargo raddle test [OPTIONS] [FILTER] [-- HARNESS ARGUMENTS]",
    after_help = "\
Examples:
  cargo raddle test                                 every test of this package
  cargo raddle test queue::                         tests with `queue::` in their names
  cargo raddle test --test stress --runs 1e5 --time 5m
  cargo raddle test -- --ignored                    only those that are marked #[ignore]
  cargo raddle test --budget 2m --junit target/junit.xml --sarif target/raddle.sarif

Nothing has to be added to the crate. The tests are built with hooks at every access to memory, into target/raddle. Each runs in a
process of its own, again and again, until a schedule breaks it or the budget is spent:
  PASS    no schedule broke it; with runs, partial orders, and the probability that a bug of some depth was missed
  FAIL    a schedule broke it: its panic, deadlock or crash, step by step, and the command that replays it
  SINGLE  it has one thread, so there is one schedule: run once
  LOST    it does what cannot be controlled; the message says what. An error only with --strict
The harness's own thread is not counted. Budgets for all tests or some, and tests to skip, can be kept in raddle.toml; see
`cargo raddle init`. Documentation tests are not run.

Exit status: 0 no test failed, 1 a test failed, 2 an error in arguments, a build that failed,
or a system that does not let tests be run."
)]
pub(crate) struct CargoTestArgs {
    /// Only tests whose name contains this
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    /// Only the tests of the library
    #[arg(long)]
    pub(crate) lib: bool,
    /// Only the tests in all programs of the package
    #[arg(long)]
    pub(crate) bins: bool,
    /// Only the tests in this program; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Vec<String>,
    /// Only the integration tests, and other targets tested by default
    #[arg(long)]
    pub(crate) tests: bool,
    /// Only this file of integration tests; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Vec<String>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Memory accesses of code with hooks that are scheduling points
    #[arg(long, value_enum, default_value_t = PointsArg::Shared)]
    pub(crate) points: PointsArg,
    /// Isolation of runs from each other; the runs are the same
    #[arg(long, value_enum, default_value_t = IsolationArg::Reset)]
    pub(crate) isolation: IsolationArg,
    /// Abandon a run that has not ended after this long
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// Time budget for all tests together, such as 30s or 5m, shared equally; tests that finish early leave their time to the others
    #[arg(long, value_name = "T", conflicts_with = "time", value_parser = duration)]
    pub(crate) budget: Option<Duration>,
    /// Fail a run that has a data race. Implies --build-std
    #[arg(long)]
    pub(crate) fail_on_race: bool,
    /// Report a test that cannot be controlled as failed
    #[arg(long)]
    pub(crate) strict: bool,
    /// Stop at the first failing test
    #[arg(long, conflicts_with = "shard")]
    pub(crate) fail_fast: bool,
    /// Folder for failing runs (default: raddle/failures in the target directory)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: Option<PathBuf>,
    /// Arguments of the test harness: --ignored, --include-ignored, --exact, --skip FILTER, and more filters
    #[arg(last = true, allow_hyphen_values = true, value_name = "HARNESS ARGUMENTS")]
    pub(crate) harness: Vec<String>,
}

#[derive(Args)]
#[command(
    override_usage = "cargo raddle run [OPTIONS] [-- ARGUMENTS]",
    after_help = "\
Examples:
  cargo raddle run
  cargo raddle run --bin server --runs 1e4 -- --port 0
  cargo raddle run --example philosophers --strategy pct:depth=3

A run fails that ends in a deadlock, in a crash, or with a panic of the main thread (status 101).

Exit status: 0 no run failed, 1 a run failed, 2 an error, such as a failed build or an unsupported program."
)]
pub(crate) struct CargoRunArgs {
    /// The program, if the package has several
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Option<String>,
    /// An example instead of a program
    #[arg(long, value_name = "NAME", conflicts_with = "bin")]
    pub(crate) example: Option<String>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Memory accesses of code with hooks that are scheduling points
    #[arg(long, value_enum, default_value_t = PointsArg::Shared)]
    pub(crate) points: PointsArg,
    /// Isolation of runs from each other; the runs are the same
    #[arg(long, value_enum, default_value_t = IsolationArg::Reset)]
    pub(crate) isolation: IsolationArg,
    /// Abandon a run that has not ended after this long
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub(crate) run_time: Duration,
    /// Fail a run that exits with a status other than 0
    #[arg(long)]
    pub(crate) fail_on_exit: bool,
    /// File for the first failing run (default: raddle-failure-ID.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The arguments of the program, after --
    #[arg(last = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Args)]
#[command(override_usage = "cargo raddle init [OPTIONS]")]
pub(crate) struct CargoInitArgs {
    /// The Cargo.toml next to which it is written (default: that of this folder)
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest_path: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    override_usage = "cargo raddle doctor [OPTIONS]",
    after_help = "\
The flags that put hooks into Rust code are internals of the compiler. The probe has two threads and a lost update; it is compiled
by the compiler of this folder, run as it is, and run under control, where the lost update has to be found.

Exit status: 0 all is there, 2 something is missing."
)]
pub(crate) struct CargoDoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
