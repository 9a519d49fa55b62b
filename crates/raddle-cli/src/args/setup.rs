//! The arguments of `raddle doctor`, `raddle completions` and `raddle man`.

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle doctor                                     C, and Rust and Erlang if they are installed
  raddle doctor erlang                              Erlang only; an error if it is not installed

Compiles a program with a lost update in each language and finds the bug.

Exit status: 0 everything works, 2 something is missing.")]
pub(crate) struct DoctorArgs {
    /// What to check; by default C, and Rust and Erlang if they are installed
    pub(crate) what: Vec<DoctorArg>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DoctorArg {
    /// Programs in C and C++
    C,
    /// Rust crates
    Rust,
    /// Erlang and Elixir modules
    Erlang,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle completions bash > ~/.local/share/bash-completion/completions/raddle
  raddle completions zsh > ~/.zfunc/_raddle
  raddle completions fish > ~/.config/fish/completions/raddle.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  raddle man ~/.local/share/man/man1 && man raddle-run")]
pub(crate) struct ManArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
