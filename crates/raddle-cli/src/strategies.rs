//! `raddle strategies`.

use crate::args::StrategiesArgs;
use crate::outcome::Outcome;
use anyhow::{Result, bail};
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_report::shape::{self, StrategyEntry, StrategyParameter};
use raddle_strategies::{CATALOGUE, Entry, Family};

pub(crate) fn run(args: &StrategiesArgs, width: usize) -> Result<Outcome> {
    let wanted = args.name.as_deref().map(name);
    let entries: Vec<StrategyEntry> =
        CATALOGUE.iter().filter(|entry| wanted.is_none_or(|name| entry.name == name)).map(entry).collect();
    if entries.is_empty() {
        let known: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        bail!(
            "unknown strategy `{}`\nhelp: known strategies: {}",
            wanted.unwrap_or_default(),
            known.join(", ")
        );
    }
    let text = if args.json {
        entries.iter().map(shape::line).collect()
    } else {
        raddle_report::text::strategies(&entries, width)
    };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

/// Returns the name at the start of a specification.
pub(crate) fn name(spec: &str) -> &str {
    spec.split(':').next().unwrap_or(spec)
}

/// Returns the family of the strategy of a specification.
pub(crate) fn family(spec: &str) -> Option<Family> {
    raddle_strategies::entry(spec).map(|entry| entry.family)
}

fn entry(entry: &Entry) -> StrategyEntry {
    let family = match entry.family {
        Family::Randomized => "randomized",
        Family::Systematic => "systematic",
        Family::Wrapper => "wrapper",
    };
    let parameters = entry.parameters.iter().map(|parameter| StrategyParameter {
        name: parameter.name.to_owned(),
        default: parameter.default.to_owned(),
        meaning: parameter.meaning.to_owned(),
    });
    StrategyEntry {
        name: entry.name.to_owned(),
        family: family.to_owned(),
        summary: entry.summary.to_owned(),
        parameters: parameters.collect(),
        source: entry.source.to_owned(),
        guarantee: entry.guarantee.to_owned(),
    }
}
