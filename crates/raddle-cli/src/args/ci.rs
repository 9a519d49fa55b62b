//! The report options of search commands and `raddle replay`.

use clap::Args;
use std::path::PathBuf;

/// Reports for continuous integration.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Continuous integration")]
pub(crate) struct CiArgs {
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the failures as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
    /// Print a GitHub annotation for each failure; the default if GITHUB_ACTIONS is `true`
    #[arg(long)]
    pub(crate) github: bool,
}
