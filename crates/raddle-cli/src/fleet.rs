//! `raddle fleet`: the Python package in the folder `fleet`.

use crate::outcome::Outcome;
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program of the package.
const PROGRAM: &str = "raddle-fleet";

/// Replaces this process by the program of the package.
pub(crate) fn run(args: &[OsString]) -> Result<Outcome> {
    let error = Command::new(PROGRAM).args(args).exec();
    bail!(
        "cannot start {PROGRAM}: {error}\nhelp: install the Python package: pip install ./fleet, in a copy of the repository"
    )
}
