//! `cargo raddle`: Rust tests and programs as they are, under control.
//!
//! A crate is built by cargo with the flags of [`flags`], into a target directory of its own. What comes out are programs that the
//! native runtime can control; [`test`] takes each test for a program with arguments of its own.

mod build;
mod doctor;
mod flags;
mod harness;
mod init;
mod program;
mod settings;
mod test;
mod workspace;

use crate::args::CargoCommand;
use crate::outcome::Outcome;
use anyhow::Result;

pub(crate) fn run(command: &CargoCommand, width: usize) -> Result<Outcome> {
    match command {
        CargoCommand::Test(args) => test::run(args, width),
        CargoCommand::Run(args) => program::run(args, width),
        CargoCommand::Init(args) => init::run(args),
        CargoCommand::Doctor(args) => doctor::run(args),
    }
}
