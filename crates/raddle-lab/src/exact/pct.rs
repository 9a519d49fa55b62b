//! PCT: every draw of priorities and change points is run through the real strategy.

use super::picks::Picks;
use super::{ExactError, Graph, Probability};
use raddle_engine::{Census, Choice, Config, Engine, Plan, Point, Rng, Strategy, run};
use raddle_search::CopyProgram;
use raddle_strategies::pct::{Pct, PctConfig};
use std::collections::BTreeMap;

/// Returns the probability of each of the graph's ends. All answers to other decisions are enumerated as
/// well; these runs are not counted by `limit`.
pub(super) fn shares<P: Probability>(
    graph: &Graph,
    program: &dyn CopyProgram,
    config: Config,
    (depth, steps): (u32, Option<u64>),
    limit: u64,
) -> Result<Vec<P>, ExactError> {
    let steps = steps.unwrap_or(graph.steps().max(1));
    if depth == 0 || steps == 0 {
        return Err(ExactError::BadParameters { depth, steps });
    }
    let threads = graph.threads();
    let draws = (1..=threads as u64)
        .try_fold(1_u64, u64::checked_mul)
        .and_then(|orders| steps.checked_pow(depth - 1).and_then(|points| orders.checked_mul(points)));
    let Some(draws) = draws.filter(|&draws| draws <= limit) else {
        let draws = draws.map_or("more than 10^19".to_owned(), |draws| draws.to_string());
        return Err(ExactError::TooManyRuns { threads, steps, depth, draws, limit });
    };
    let mut engine = Engine::new(config);
    let mut program = program.copy();
    let pct = Pct::new(PctConfig { steps: Some(steps), ..PctConfig::fixed(depth) });
    let mut strategy = Enumerated { pct, picks: Picks::default() };
    // Per number of equally likely sequences of picks: the number of draws that led to each partial order.
    let mut counts: BTreeMap<u64, Census> = BTreeMap::new();
    let mut ranks: Vec<u32> = (0..threads as u32).collect();
    loop {
        let mut change_at = vec![1; depth as usize - 1];
        loop {
            strategy.pct.script(&ranks, &change_at);
            loop {
                strategy.begin(Rng::for_run(0, 0));
                run(&mut engine, &mut *program, &mut strategy);
                let ways = strategy.picks.ways();
                counts.entry(ways).or_default().count(engine.summary().fingerprint);
                if !strategy.picks.advance() {
                    break;
                }
            }
            if !next_tuple(&mut change_at, steps) {
                break;
            }
        }
        if !next_permutation(&mut ranks) {
            break;
        }
    }
    let share = |fingerprint: u64| {
        counts.iter().fold(P::ratio(0, 1), |mut sum, (&ways, census)| {
            sum.add(&P::ratio(census.of(fingerprint), draws).times(1, ways));
            sum
        })
    };
    Ok(graph.ends().map(|(node, _)| share(node.fingerprint)).collect())
}

/// Advances to the next tuple of numbers in `1..=most`; returns false after the last one.
fn next_tuple(tuple: &mut [u64], most: u64) -> bool {
    for entry in tuple {
        if *entry < most {
            *entry += 1;
            return true;
        }
        *entry = 1;
    }
    false
}

/// Advances to the next permutation in lexicographic order; returns false after the last one.
fn next_permutation(order: &mut [u32]) -> bool {
    let Some(pivot) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let above = order.iter().rposition(|&value| value > order[pivot]).expect("the next entry is larger");
    order.swap(pivot, above);
    order[pivot + 1..].reverse();
    true
}

/// PCT with a script; all answers to other decisions are enumerated too.
#[derive(Clone)]
struct Enumerated {
    pct: Pct,
    picks: Picks,
}

impl Strategy for Enumerated {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.picks.rewind();
        self.pct.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.pct.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.picks.answer(arity)
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_permutations_and_tuples_occur_once() {
        let mut order = [0, 1, 2, 3];
        let mut seen = std::collections::BTreeSet::from([order]);
        while next_permutation(&mut order) {
            assert!(seen.insert(order));
        }
        assert_eq!(seen.len(), 24);
        let mut tuple = [1, 1, 1];
        let mut seen = std::collections::BTreeSet::from([tuple]);
        while next_tuple(&mut tuple, 4) {
            assert!(seen.insert(tuple));
        }
        assert_eq!(seen.len(), 64);
        assert!(!next_tuple(&mut [], 4));
    }
}
