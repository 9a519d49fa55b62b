//! `cargo raddle`: unmodified Rust tests and programs under control.
//!
//! [`raddle_cargo`] builds them; [`test`] treats each test as a program with its own arguments.

mod doctor;
mod init;
mod program;
mod settings;
mod test;

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
