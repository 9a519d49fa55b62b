//! `cargo raddle`: unmodified Rust tests and programs under control.
//!
//! [`raddle_cargo`] builds them; [`test`] treats each test as a program with its own arguments.

mod doctor;
mod init;
mod program;
mod session;
mod settings;
mod test;
mod turns;

pub(crate) use doctor::{examine, findings, remedy};
pub(crate) use program::{merged as merged_program, run as program};
pub(crate) use session::merged as merged_tests;
pub(crate) use test::{names as test_names, run as test};
pub(crate) use turns::Suite;

use crate::args::CargoCommand;
use crate::outcome::Outcome;
use anyhow::Result;

pub(crate) fn run(command: &CargoCommand, width: usize) -> Result<Outcome> {
    match command {
        CargoCommand::Test(args) => test::run(args, width)?.finish(&args.search.part, args.search.json),
        CargoCommand::Run(args) => program::run(args, width)?.finish(&args.search.part, args.search.json),
        CargoCommand::Init(args) => init::run(args),
        CargoCommand::Doctor(args) => doctor::run(args),
    }
}
