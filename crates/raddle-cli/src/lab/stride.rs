//! `raddle lab stride`.

use crate::args::StrideArgs;
use crate::outcome::Outcome;
use anyhow::Result;
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_strategies::stride::{needed, ratio_for};

/// The maximum probability of an order of two events in one run.
const MOST: f64 = 0.5;

pub(crate) fn run(args: &StrideArgs) -> Result<Outcome> {
    let StrideArgs { runs, confidence, edges } = *args;
    let wanted = needed(confidence, runs, edges);
    anyhow::ensure!(
        wanted < MOST,
        "a confidence of {confidence} in {runs} runs needs a probability of {wanted:.4} for each order in one run\n\
         help: one run gives at most 1/2; plan more runs or lower the confidence"
    );
    let [paper, exact] = [wanted, 2.0 * wanted].map(ratio_for);
    let orders = if edges == 1 { "The order needs" } else { "Each order needs" };
    let text = format!(
        "{orders} a probability of {wanted:.6} in one run, for a confidence of {confidence} in {runs} runs.\n\
         P = sum over i >= 1 of 2^-i P(U_1 + .. + U_i >= l/s), U_j uniform in 0..1   (equation 5)\n\n\
         equation (5), as in the paper:         l/s = {paper:.2}   stride:ratio={paper:.2}\n\
         half of equation (5), as it holds:     l/s = {exact:.2}   stride:confidence={confidence},runs={runs},edges={edges}\n\n\
         l: steps of the thread; s: its longest stride. The other half are runs in which the other thread goes first.\n"
    );
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}
