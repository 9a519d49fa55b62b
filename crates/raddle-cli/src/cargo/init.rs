//! `cargo raddle init`.

use super::settings::FILE;
use crate::args::CargoInitArgs;
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail};
use raddle_cargo::cargo;
use raddle_cc::rust::asked;
use raddle_model::EXIT_NOTHING_FOUND;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// A file that changes nothing, with comments about possible settings.
const TEXT: &str = "\
# Settings of `cargo raddle test`. All are optional; arguments of the command come before them.

# How much is tried for each test: as many runs, or as much time, whichever is over first. One of them alone is the only limit.
# runs = 1000
# time = \"10s\"

# `raddle strategies` lists what there is; several are joined by +.
# strategy = \"portfolio\"

# The same seed gives the same runs.
# seed = 1

# How many processes make runs at the same time; as many as there are cores if not given.
# jobs = 2

# A run that takes more steps fails.
# step-limit = 1000000

# Tests that are not run: whole names, or their beginnings with a * behind.
# skip = [\"tests::needs_network\", \"slow::*\"]

# What is different for some tests. Of several that fit, the first one that has a value counts.
# [[test]]
# name = \"queue::*\"
# runs = 100000
# time = \"2m\"
# strategy = \"pct:depth=3\"
# step-limit = 100000
";

pub(super) fn run(args: &CargoInitArgs) -> Result<Outcome> {
    let locate = |more: &[&str]| -> Result<PathBuf> {
        let mut locate = cargo();
        locate.args(["locate-project", "--message-format", "plain"]).args(more);
        if let Some(manifest) = &args.manifest_path {
            locate.arg("--manifest-path").arg(manifest);
        }
        Ok(PathBuf::from(asked(&mut locate)?.trim_end()).with_file_name(FILE))
    };
    let (file, whole) = (locate(&[])?, locate(&["--workspace"])?);
    let shown = file.display();
    match OpenOptions::new().write(true).create_new(true).open(&file) {
        Ok(mut made) => made.write_all(TEXT.as_bytes()).with_context(|| format!("cannot write {shown}"))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{shown} is there already; it was not changed")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
    }
    let text = if whole != file && whole.exists() {
        let hidden = whole.display();
        format!(
            "Wrote {shown}. For this package it takes the place of {hidden}: what is set there does not count for its tests any \
             more, unless it is copied or the new file is removed.\n"
        )
    } else {
        format!("Wrote {shown}. It changes nothing as it is; `cargo raddle test` works without it, too.\n")
    };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;

    #[test]
    fn every_line_that_is_switched_on_is_understood() {
        let lines = TEXT.lines().map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.contains(" = ") || setting.starts_with("[[") => setting,
            _ => "",
        });
        let on = lines.collect::<Vec<_>>().join("\n");
        assert_eq!(on.matches(" = ").count(), 12, "{on}");
        toml::from_str::<Settings>(&on).map(drop).expect("the settings are known");
        toml::from_str::<Settings>(TEXT).map(drop).expect("and so is the file as it is");
    }
}
