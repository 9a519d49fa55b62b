//! The arguments of every command that prints a failure.

use clap::{Args, ValueEnum};

/// The amount of detail printed of a failing run.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Report")]
pub(crate) struct ShowArgs {
    /// Print all steps of a failing run, with addresses
    #[arg(long)]
    pub(crate) full: bool,
    /// Which functions of a call stack are printed
    #[arg(long, value_enum, default_value_t = FramesArg::User)]
    pub(crate) frames: FramesArg,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FramesArg {
    /// Those of the program or crate
    User,
    /// Also those of libraries
    All,
}
