//! `raddle tx`: the operations of a lock-free data structure as transactions, few enough to execute all interleavings of them.

mod build;
mod chart;
mod count;
mod library;
mod number;
mod plan;
mod search;
mod sites;
mod timer;
mod verify;

pub(crate) use build::compile;

use crate::args::TxCommand;
use crate::outcome::Outcome;
use anyhow::Result;

pub(crate) fn run(command: &TxCommand, width: usize) -> Result<Outcome> {
    match command {
        TxCommand::Sites(args) => sites::run(args, width),
        TxCommand::Count(args) => count::run(args, width),
        TxCommand::Plan(args) => search::run(args),
        TxCommand::Verify(args) => verify::run(args, width),
        TxCommand::Build(args) => build::run(args),
    }
}
