//! `raddle campaign`: many targets, night after night; see docs/design/campaigns.md.

mod corpus;
mod limits;
mod night;
mod plan;
mod report;
mod state;
mod targets;

use crate::args::{CampaignCommand, CampaignMergeArgs};
use crate::outcome::Outcome;
use anyhow::Result;
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_report::text::plural;
use state::{State, to_read};

pub(crate) fn run(command: &CampaignCommand, width: usize) -> Result<Outcome> {
    match command {
        CampaignCommand::Run(args) => night::run(args, width),
        CampaignCommand::Status(args) => report::status(args, width),
        CampaignCommand::Report(args) => report::run(args, width),
        CampaignCommand::Merge(args) => merge(args),
    }
}

/// Adds the results of other machines.
fn merge(args: &CampaignMergeArgs) -> Result<Outcome> {
    let others = args.others.iter().map(|other| to_read(other)).collect::<Result<Vec<_>>>()?;
    let state = State::open(&args.place)?;
    for other in &others {
        state.campaign.merge(other)?;
    }
    state.write_schedules()?;
    let turns = state.campaign.turns()?;
    let runs: u64 = turns.iter().map(|turn| turn.runs).sum();
    let (turns, runs) = (plural(turns.len() as u64, "turn"), plural(runs, "run"));
    let text = format!("{turns} with {runs} are in {}.\n", state.name);
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}
