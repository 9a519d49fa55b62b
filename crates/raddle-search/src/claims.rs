//! Selects the statements that hold for a search that found nothing.
//!
//! Only executed runs count. A statement about the probability of a miss is made if that is at most
//! [`MOST_MISSED`], since others are true but useless. It is never made for a strategy whose runs the rule
//! against spinning has changed, or in which a number was drawn (which waiter a signal wakes, a data choice),
//! because the guarantees do not cover these.

use crate::bound::{Guarantee, Size, next_new, unseen_interval};
use crate::lanes::{Lane, Lanes};
use crate::tally::{LaneTally, Tally};
use raddle_model::{Claim, Claims, Exhaustion};

/// The largest probability of a miss that is reported.
pub const MOST_MISSED: f64 = 0.05;

/// The failure of a run that exceeded the step limit; one that does not fail is inconclusive.
const STEP_LIMIT: &str = "step-limit";

/// Returns the statements that hold for a search, the strongest first; none if a run failed, unless at the step limit.
pub fn claims(tally: &Tally, lanes: &Lanes) -> Claims {
    let mut claims = Claims::default();
    claims.rests = tally.rests;
    claims.forgot_writes = tally.forgot_writes;
    claims.idle_timeouts = tally.idle_timeouts;
    claims.interrupts = tally.interrupts;
    claims.exhaustion = tally.exhausted.then(|| exhaustion(tally, lanes));
    let too_long = tally.kinds.get(STEP_LIMIT).copied().unwrap_or(0);
    claims.cut_short = too_long + tally.inconclusive;
    if tally.failures > too_long || tally.runs == 0 {
        return claims;
    }
    let partial_orders = tally.partial_orders();
    let add = &mut claims.statements;
    if let Some(exhaustion) = claims.exhaustion {
        add.extend(match exhaustion {
            Exhaustion::Everything => Some(Claim::Exhausted { partial_orders }),
            Exhaustion::WithinBounds => Some(Claim::WithinBounds { partial_orders }),
            _ => None,
        });
        return claims;
    }
    if claims.cut_short == 0 && tally.discoveries == 0 {
        add.extend(any_order(tally, lanes));
        add.extend(depth(tally, lanes));
    }
    if let Some(estimate) =
        tally.estimate.filter(|estimate| *estimate >= partial_orders as f64 - 0.5 && tally.discoveries == 0)
    {
        // Most runs of such a strategy have a partial order that it has not seen before.
        let counting = lanes.iter().zip(&tally.lanes).filter(|(lane, _)| lane.counts_orders);
        let own = counting.map(|(_, lane)| lane.runs).min().unwrap_or(partial_orders);
        let (low, high) = unseen_interval(partial_orders, own, estimate);
        add.push(Claim::Share { seen: partial_orders, estimate, low, high });
    }
    if lanes.iter().all(|lane| lane.is_sample)
        && let Some((chance, high)) = next_new(&tally.census)
    {
        add.push(Claim::NextNew { chance, high, runs: tally.runs });
    }
    add.extend(tally.new_at_the_end().map(|(new, runs)| Claim::Saturation { new, runs }));
    claims
}

/// Returns what the strategies of an exhausted search have run.
fn exhaustion(tally: &Tally, lanes: &Lanes) -> Exhaustion {
    match tally.covered_at(lanes) {
        Some(_) => Exhaustion::Everything,
        None if lanes.iter().all(|lane| lane.predicts) => Exhaustion::Predicted,
        None if lanes.iter().any(|lane| lane.predicts || lane.leaves_out) => Exhaustion::Planned,
        None => Exhaustion::WithinBounds,
    }
}

/// Returns an upper bound on a probability that is 0 only because it is too small for a floating-point number, if there are several
/// threads.
fn at_most(missed: f64, threads: u64) -> f64 {
    if threads > 1 { missed.max(f64::MIN_POSITIVE) } else { missed }
}

/// Iterates over the lanes whose runs were executed exactly as their strategy chose, with their numbers.
fn undisturbed<'a>(tally: &'a Tally, lanes: &'a Lanes) -> impl Iterator<Item = (&'a Lane, &'a LaneTally)> {
    lanes.iter().zip(&tally.lanes).filter(|(_, lane)| lane.is_undisturbed())
}

/// Returns the guarantees of POS and random walk for any partial order.
fn any_order(tally: &Tally, lanes: &Lanes) -> Option<Claim> {
    let (threads, steps) = (tally.threads, tally.steps.max(1));
    let size = Size { threads, steps };
    // The number of conflicts of a run is not counted; there are never more than this.
    let most = threads.saturating_sub(1).saturating_mul(steps);
    let (mut missed, mut runs) = (1.0, 0);
    for (_, lane) in undisturbed(tally, lanes).filter(|(lane, _)| lane.reaches_every_order) {
        missed *= Guarantee::pos(size, most).ok()?.missed(lane.runs);
        runs += lane.runs;
    }
    let is_useful = missed <= MOST_MISSED;
    is_useful.then_some(Claim::AnyOrder { missed: at_most(missed, threads), runs, threads, steps })
}

/// Returns PCT's guarantee for the greatest depth for which it is useful.
fn depth(tally: &Tally, lanes: &Lanes) -> Option<Claim> {
    let made = tally.pct_runs(lanes);
    let claim = |(&depth, _): (&u64, _)| {
        let missed = tally.missed_by_pct(depth, &made);
        let deep = made.range(depth..);
        let (runs, steps) =
            deep.fold((0, 1), |(runs, steps), (_, pct)| (runs + pct.runs, pct.steps.max(steps)));
        let threads = tally.threads;
        let is_useful = missed <= MOST_MISSED;
        let missed = at_most(missed, threads);
        is_useful.then_some(Claim::Depth { depth, missed, runs, threads, steps })
    };
    made.iter().rev().find_map(claim)
}
