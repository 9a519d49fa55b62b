//! The arguments of `raddle coverage`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle run --strategy maple -- ./program input1   test predicted interleavings, and store them
  raddle coverage                                   summary by idiom and by search
  raddle coverage --list --failed --own             failed attempts in the application's own code
  raddle coverage --diff yesterday.sqlite           what only one of two stores has
  raddle coverage --forget-stale ./program          after a new build
  raddle coverage --merge other.sqlite              add what another machine has tested

A store holds iRoots: patterns of up to four accesses of two threads, by code location (Maple, OOPSLA 2012). A location is
identified by its function, the code of the function and the offset in it, so entries stay valid in later builds until the
function changes. Several processes may use a store at once. A damaged store is renamed and replaced.

Exit status: 0, or 2 for an error in arguments or files.")]
pub(crate) struct CoverageArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// List the iRoots
    #[arg(long)]
    pub(crate) list: bool,
    /// Only those with failed attempts
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only those of the application's own code
    #[arg(long, conflicts_with = "libraries")]
    pub(crate) own: bool,
    /// Only those with a location in a library
    #[arg(long)]
    pub(crate) libraries: bool,
    /// Show what only one of the two stores has exposed
    #[arg(long, value_name = "OTHER")]
    pub(crate) diff: Option<PathBuf>,
    /// Add what another store has; may be repeated. A store that is merged twice counts once
    #[arg(long, value_name = "OTHER")]
    pub(crate) merge: Vec<PathBuf>,
    /// Forget entries about functions of this program that were changed or removed
    #[arg(long, value_name = "PROGRAM", conflicts_with = "diff")]
    pub(crate) forget_stale: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The location of the store.
#[derive(Args)]
pub(crate) struct StoreArgs {
    /// The file of tested interleavings, or the URL of a PostgreSQL database: postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "FILE|URL", default_value = raddle_store::FILE_NAME)]
    pub(crate) store: PathBuf,
}
