//! The arguments of `raddle coverage`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle run --strategy maple -- ./program input1   tests what is predicted, and keeps what was tested
  raddle coverage                                   how much that is, by idiom and by search
  raddle coverage --list --failed --own             what was tried in vain, in the application's own code
  raddle coverage --diff yesterday.sqlite           what only one of two stores has
  raddle coverage --forget-stale ./program          after the program was compiled anew

A store holds iRoots: patterns of up to four accesses of two threads, by their places in the code (Maple, OOPSLA 2012). A place is
known by its function, by what that consists of, and by the offset in it. So what was tested counts in later builds too, until
the function is changed. Several processes may use a store at once; one that is damaged is set aside under another name.

Exit status: 0, or 2 for a mistake in arguments or files.")]
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
    /// The file of tested interleavings
    #[arg(long, value_name = "FILE", default_value = raddle_store::FILE_NAME)]
    pub(crate) store: PathBuf,
}
