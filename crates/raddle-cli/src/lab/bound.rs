//! `raddle lab bound`.

use crate::args::BoundArgs;
use crate::outcome::Outcome;
use anyhow::Result;
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_report::shape::{self, Bound, BoundRow};
use raddle_search::bound::{BoundError, Guarantee, Size};

pub(crate) fn run(args: &BoundArgs, width: usize) -> Result<Outcome> {
    let size = Size { threads: args.threads, steps: args.steps };
    let most = args.threads.saturating_sub(1).saturating_mul(args.steps);
    let conflicts = args.conflicts.unwrap_or(most);
    let report = Bound {
        threads: args.threads,
        steps: args.steps,
        depth: args.depth,
        conflicts,
        runs: args.runs,
        pct: row(Guarantee::pct(size, args.depth)?, args.runs)?,
        pos: row(Guarantee::pos(size, conflicts)?, args.runs)?,
    };
    let text = if args.json { shape::line(&report) } else { raddle_report::text::bound(&report, width) };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

fn row(guarantee: Guarantee, runs: u64) -> Result<BoundRow, BoundError> {
    let finite = |number: f64| number.is_finite().then_some(number);
    Ok(BoundRow {
        probability: guarantee.probability(),
        log10_probability: guarantee.log10(),
        missed: guarantee.missed(runs),
        log10_runs_95: guarantee.log10_runs_for(0.95)?,
        runs_95: finite(guarantee.runs_for(0.95)?),
        log10_runs_99: guarantee.log10_runs_for(0.99)?,
        runs_99: finite(guarantee.runs_for(0.99)?),
    })
}
