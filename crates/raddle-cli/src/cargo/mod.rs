//! `cargo raddle`: unmodified Rust tests and programs under control.
//!
//! Cargo builds a crate with the flags of [`raddle_cc::rust`], into a separate target directory. The native runtime can
//! control the resulting programs; [`test`] treats each test as a program with its own arguments.

mod build;
mod doctor;
mod harness;
mod init;
mod program;
mod settings;
mod test;
mod workspace;

pub(crate) use doctor::{examine, findings, remedy};

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
