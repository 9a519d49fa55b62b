//! Exact probabilities of failures and of partial orders: the limits of sampling.
//!
//! [`Graph::unfold`] finds every beginning of a run up to partial-order equivalence. Over that graph random
//! walk is a sum over paths (`random_walk`), BasicPOS and POS a sum over rankings of the priorities drawn so
//! far (`pos`). PCT has finitely many draws, and all of them are run (`pct`).
//!
//! Limits: the graph has to fit into memory ([`Limits`]), and the state of a run must follow from its partial
//! order. Resting threads violate that, so programs that spin are rejected; timed waits can violate it, which
//! is detected when two equivalent beginnings enable different threads.

mod pct;
mod picks;
mod pos;
mod probability;
mod random_walk;
mod rank;
#[cfg(test)]
mod tests;
mod unfold;

pub use probability::Probability;
/// A strategy whose probabilities can be computed.
pub use raddle_strategies::Exact as ExactStrategy;
pub use unfold::{Edge, End, Graph, Node, Pending};

use num_rational::BigRational;
use raddle_engine::Config;
use raddle_search::CopyProgram;

/// Limits of the computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Number of nodes of the graph.
    pub nodes: usize,
    /// Number of rankings of priorities that are alive at once, for BasicPOS and POS.
    pub states: usize,
    /// Number of enumerated runs, for PCT.
    pub runs: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::of(1_000_000)
    }
}

impl Limits {
    /// Returns the limits of a graph with so many nodes.
    pub fn of(nodes: u64) -> Limits {
        let runs = nodes.saturating_mul(20);
        let nodes = usize::try_from(nodes).unwrap_or(usize::MAX);
        Limits { nodes, states: nodes.saturating_mul(4), runs }
    }
}

/// The reason why there is no exact answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExactError {
    /// There are too many beginnings of runs.
    #[error(
        "the program is too large: {reached} prefixes of runs of up to {steps} steps found, the limit is {limit} with an \
         average of 300 steps; spin loops never end here; raise --exact-limit"
    )]
    TooLarge {
        /// Number of beginnings found.
        reached: usize,
        /// Length of the longest of them.
        steps: u64,
        /// The limit.
        limit: usize,
    },
    /// There are too many rankings of priorities.
    #[error(
        "too many orders of priorities: {reached} after {step} steps, the limit is {limit}; raise --exact-limit"
    )]
    TooManyStates {
        /// Number of rankings found.
        reached: usize,
        /// Number of steps.
        step: u64,
        /// The limit.
        limit: usize,
    },
    /// PCT has too many different draws.
    #[error(
        "PCT with {threads} threads, {steps} steps and depth {depth} has {draws} different draws, the limit is {limit}; \
         lower the depth or raise --exact-limit"
    )]
    TooManyRuns {
        /// Number of threads.
        threads: usize,
        /// Number of steps at which a change point can lie.
        steps: u64,
        /// The depth.
        depth: u32,
        /// Number of draws, in words if they do not fit into 64 bits.
        draws: String,
        /// The limit.
        limit: u64,
    },
    /// More threads are enabled at once than priorities can be ranked for.
    #[error("{found} threads can run at once, exact POS supports at most {limit}")]
    TooManyThreads {
        /// Number of threads found.
        found: usize,
        /// Largest number of threads.
        limit: usize,
    },
    /// A spinning thread was descheduled, which depends on more than the partial order.
    #[error("a spinning thread was descheduled after {steps} steps, so there is no exact answer")]
    Spins {
        /// Number of steps.
        steps: u64,
    },
    /// Two equivalent beginnings of a run continued differently.
    #[error(
        "two equivalent prefixes of {steps} steps continue differently, for example because of timeouts, so there is no \
         exact answer"
    )]
    Ambiguous {
        /// Their length.
        steps: u64,
    },
    /// PCT's depth is 0, or its `k` is.
    #[error("PCT needs a depth and a number of steps of at least 1, not depth {depth} and {steps} steps")]
    BadParameters {
        /// The depth.
        depth: u32,
        /// The number of steps.
        steps: u64,
    },
}

/// One partial order of complete runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Order<P> {
    /// Its fingerprint, as in [`RunSummary`](raddle_engine::RunSummary).
    pub fingerprint: u64,
    /// The end of its runs.
    pub end: End,
    /// The probability that a run has it.
    pub probability: P,
}

/// The exact behaviour of a strategy on a program.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Exact<P = BigRational> {
    /// The probability that one run fails.
    pub hit: P,
    /// Number of partial orders of the program.
    pub partial_orders: usize,
    /// Number of failing partial orders.
    pub failing: usize,
    /// Number of partial orders that the strategy can reach.
    pub covered: usize,
    /// The probability of the least likely one; zero if one cannot be reached.
    pub least: P,
    /// The probability of the least likely one that can be reached.
    pub least_covered: P,
    /// The largest number of threads of any run.
    pub threads: usize,
    /// The length of the longest run.
    pub steps: u64,
    /// Every partial order.
    pub orders: Vec<Order<P>>,
}

/// Computes the behaviour of `strategy` on `program`, in fractions.
pub fn compute(
    program: &dyn CopyProgram,
    config: Config,
    strategy: &ExactStrategy,
    limits: &Limits,
) -> Result<Exact, ExactError> {
    compute_in(program, config, strategy, limits)
}

/// Does [`compute`] in numbers of the caller's choice: `f64` is faster and accurate to about 12 digits.
pub fn compute_in<P: Probability>(
    program: &dyn CopyProgram,
    config: Config,
    strategy: &ExactStrategy,
    limits: &Limits,
) -> Result<Exact<P>, ExactError> {
    let graph = Graph::unfold(program, config, limits.nodes)?;
    compute_on(&graph, program, config, strategy, limits)
}

/// Does [`compute_in`] for a program that was unfolded before.
pub fn compute_on<P: Probability>(
    graph: &Graph,
    program: &dyn CopyProgram,
    config: Config,
    strategy: &ExactStrategy,
    limits: &Limits,
) -> Result<Exact<P>, ExactError> {
    let shares: Vec<P> = match *strategy {
        ExactStrategy::RandomWalk => random_walk::shares(graph),
        ExactStrategy::Pct { depth, steps } => {
            pct::shares(graph, program, config, (depth, steps), limits.runs)?
        }
        ExactStrategy::BasicPos => pos::shares(graph, None, limits.states)?,
        ExactStrategy::Pos(reads) => pos::shares(graph, Some(reads), limits.states)?,
    };
    Ok(summarise(graph, shares))
}

/// Summarizes the graph. `shares` belong to the graph's ends, one by one.
fn summarise<P: Probability>(graph: &Graph, shares: Vec<P>) -> Exact<P> {
    let zero = P::ratio(0, 1);
    let mut hit = zero.clone();
    let orders: Vec<Order<P>> = graph
        .ends()
        .zip(shares)
        .map(|((node, end), probability)| Order { fingerprint: node.fingerprint, end, probability })
        .collect();
    for order in orders.iter().filter(|order| order.end != End::Passed) {
        hit.add(&order.probability);
    }
    let least = |among: &mut dyn Iterator<Item = &P>| {
        among.fold(None, |least: Option<P>, p| match least {
            Some(least) if least <= *p => Some(least),
            _ => Some(p.clone()),
        })
    };
    let mut all = orders.iter().map(|order| &order.probability);
    let mut reached = orders.iter().map(|order| &order.probability).filter(|&p| *p > zero);
    Exact {
        hit,
        partial_orders: orders.len(),
        failing: orders.iter().filter(|order| order.end != End::Passed).count(),
        covered: orders.iter().filter(|order| order.probability > zero).count(),
        least: least(&mut all).unwrap_or_else(|| zero.clone()),
        least_covered: least(&mut reached).unwrap_or_else(|| zero.clone()),
        threads: graph.threads(),
        steps: graph.steps(),
        orders,
    }
}
