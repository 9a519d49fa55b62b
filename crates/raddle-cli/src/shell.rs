//! Completions and man pages, made from the definition of the arguments.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::outcome::Outcome;
use anyhow::{Context, Result};
use clap::CommandFactory;
use raddle_model::EXIT_NOTHING_FOUND;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Outcome> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "raddle", &mut bytes);
    let text = String::from_utf8(bytes).context("the completions are not valid UTF-8")?;
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

pub(crate) fn man(args: &ManArgs) -> Result<Outcome> {
    let folder = args.folder.display();
    std::fs::create_dir_all(&args.folder).with_context(|| format!("cannot create the folder {folder}"))?;
    // The page of `raddle` refers to the others by this name.
    let command = Cli::command().mut_subcommand("cargo", |cargo| cargo.display_name("raddle-cargo"));
    clap_mangen::generate_to(command, &args.folder)
        .with_context(|| format!("cannot write the man pages to {folder}"))?;
    Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND })
}
