//! The arguments of `raddle campaign`.

use super::ci::CiArgs;
use super::values::{duration, runs, whole};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand)]
pub(crate) enum CampaignCommand {
    /// Search many targets in turns, the failures of earlier nights first
    Run(CampaignRunArgs),
    /// Print targets and failures
    Status(CampaignStatusArgs),
    /// Write the report: a page, JUnit XML, SARIF, JSON
    Report(CampaignReportArgs),
    /// Add the results of other machines
    Merge(CampaignMergeArgs),
}

/// The state of a campaign.
#[derive(Args, Clone)]
pub(crate) struct CampaignPlaceArgs {
    /// Folder for the state and the failing schedules
    #[arg(long, value_name = "FOLDER", default_value = "raddle-campaign")]
    pub(crate) folder: PathBuf,
    /// File for the state, or the URL of a PostgreSQL database that several machines share, postgres://USER@HOST/DATABASE (default:
    /// campaign.sqlite in the folder)
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle campaign run . --time 8h                   the tests of the workspace in this folder
  raddle campaign run bin                           every program in a folder
  raddle campaign run ./queue my_tests:race --pa ebin
  raddle campaign run --config campaign.toml --rounds 10
  raddle campaign run --resume                      the rest of a night that was interrupted
  raddle campaign report -o campaign.html

A TARGET is a folder with a Cargo.toml (or that file), a folder of programs, a program or its C or C++ source, a function of an Erlang
module, or a lab program (.rdl). Later nights have the same targets unless others are named. The file of --config has lists of strings:
targets, pa, and commands, such as \"run --memory weak -- ./queue 3\" or \"cargo test --features stress\".

A night first replays the failing schedules of earlier nights. Then it searches the targets in turns. A turn costs 1 if all of its
runs have new partial orders, 16 if almost none has, and the inverse of that share in between; the next turn is that of the target
with the smallest sum. So no target gets more than 16 turns between two turns of another one. A target with a single thread, or with
no schedule left, gets no turn until it is built anew. A round has as many turns as there are targets.

A turn is stored when it is complete. A campaign that was killed continues with --resume: the turn that was lost is made again, with
the same seed.

Exit status: 0 no new failures, 1 new failures, or some that were fixed and fail again; 2 an error. See --fail-on.")]
pub(crate) struct CampaignRunArgs {
    /// What to search (default: the targets of the last night)
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// A directory with .beam files, for functions of Erlang modules; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) pa: Vec<String>,
    /// A file that names the targets
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "pa"])]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: CampaignPlaceArgs,
    /// End after this long, such as 30m or 8h; builds do not count (default: --rounds 1)
    #[arg(long, value_name = "T", value_parser = duration, conflicts_with = "rounds")]
    pub(crate) time: Option<Duration>,
    /// End after this many rounds
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) rounds: Option<u64>,
    /// The length of a turn; shorter if the time of the night would not suffice for a turn of each target
    #[arg(long, value_name = "T", value_parser = duration, default_value = "2s", conflicts_with = "runs")]
    pub(crate) turn: Duration,
    /// The number of runs of a turn, instead of its length. The results then do not depend on the machine
    #[arg(long, short = 'n', value_name = "N", value_parser = runs)]
    pub(crate) runs: Option<u64>,
    /// The strategy of targets without one of their own (default: portfolio; pos for the lab)
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) strategy: Option<String>,
    /// Seed of the campaign (default: 1, or that of the first night)
    #[arg(long, value_name = "X")]
    pub(crate) seed: Option<u64>,
    /// Processes or threads that execute runs in parallel (default: number of cores)
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Continue the last night, with the rest of its time or rounds
    #[arg(long, conflicts_with_all = ["time", "rounds", "targets", "config"])]
    pub(crate) resume: bool,
    /// The name of this machine, if several have one campaign: each makes other runs
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) worker: String,
    /// The failures for which the exit status is 1
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = FailOnArg::New)]
    pub(crate) fail_on: FailOnArg,
    /// Replay failing schedules that were recorded on other machines
    #[arg(long)]
    pub(crate) trust: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ci: CiArgs,
}

/// The failures for which the exit status is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FailOnArg {
    /// Those that no earlier night has found, and those that were fixed and fail again
    New,
    /// Those, and known ones whose schedule still fails
    Any,
    /// None
    Never,
}

#[derive(Args)]
#[command(after_help = "Exit status: 0, or 2 for an error in arguments or files.")]
pub(crate) struct CampaignStatusArgs {
    #[command(flatten)]
    pub(crate) place: CampaignPlaceArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle campaign report -o campaign.html
  raddle campaign report --junit junit.xml --sarif raddle.sarif

Exit status: 0, or 2 for an error in arguments or files.")]
pub(crate) struct CampaignReportArgs {
    #[command(flatten)]
    pub(crate) place: CampaignPlaceArgs,
    /// File for the page; if its name ends in .json, the report as JSON, in .txt, as text
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) ci: CiArgs,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  raddle campaign merge monday/campaign.sqlite tuesday/campaign.sqlite

Nothing is counted twice, also if the command is repeated: turns have the names of their target, machine and number. The machines need
different names (raddle campaign run --worker NAME).

Exit status: 0, or 2 for an error in arguments or files.")]
pub(crate) struct CampaignMergeArgs {
    /// The states of other machines
    #[arg(required = true, value_name = "STATE")]
    pub(crate) others: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: CampaignPlaceArgs,
}
