//! `raddle merge`.
//!
//! A result may come from anybody. Merging executes nothing, except for programs of the lab, which are interpreted; and it writes only
//! the files that the arguments of `raddle merge` name, whatever those of the merged command say.

use crate::args::{BeamCommand, CargoCommand, CiArgs, Cli, Command, LabCommand, MergeArgs, SearchArgs};
use crate::ci::Reports;
use crate::outcome::Outcome;
use crate::{beam, cargo, lab, native, result};
use anyhow::{Context, Result, bail};
use clap::Parser;

pub(crate) fn run(args: &MergeArgs, width: usize) -> Result<Outcome> {
    let files = args.results.iter().map(|path| result::read(path)).collect::<Result<Vec<_>>>()?;
    let targets = result::merge(&files, args.partial)?;
    let command = &files.first().context("no results to merge")?.command;
    let words = ["raddle"].into_iter().chain(command.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).ok().context(
        "the results are those of a command that this Raddle does not know\nhelp: use the same version of Raddle everywhere",
    )?;
    let mut reports = Reports::open(&args.ci)?;
    let search =
        |search: SearchArgs| SearchArgs { json: args.json, show: args.show, ci: CiArgs::default(), ..search };
    match cli.command {
        Command::Run(mut own) => {
            (own.search, own.record) = (search(own.search), args.record.clone());
            native::merged(&own, targets, &mut reports, width)
        }
        Command::Lab { command: LabCommand::Run(mut own) } => {
            own.search = search(own.search);
            own.record = args.record.clone().map(Some).or(own.record.map(|_| None));
            lab::merged(&own, targets, &mut reports, width)
        }
        Command::Beam { command: BeamCommand::Run(mut own) } => {
            (own.search, own.record) = (search(own.search), args.record.clone());
            beam::merged(&own, targets, &mut reports, width)
        }
        Command::Cargo { command: CargoCommand::Test(mut own) } => {
            (own.search, own.record) = (search(own.search), args.record.clone());
            cargo::merged_tests(&own, targets, reports, width)
        }
        Command::Cargo { command: CargoCommand::Run(mut own) } => {
            (own.search, own.record) = (search(own.search), args.record.clone());
            cargo::merged_program(&own, targets, &mut reports, width)
        }
        _ => bail!("the results are those of a command that does not search\nhelp: run the shards again"),
    }
}
