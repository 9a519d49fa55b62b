//! What sampling would converge to: exact probabilities of failures and of partial orders.
//!
//! [`Graph::unfold`] finds every beginning of a run up to partial-order equivalence. Over that graph random walk is a
//! sum over paths (`random_walk`), BasicPOS and POS a sum over rankings of the priorities drawn so far (`pos`). PCT has
//! finitely many draws, and all of them are run (`pct`).
//!
//! Limits: the graph has to fit into memory ([`Limits`]), and where a run stands must follow from its partial order.
//! Resting threads break that, so programs that spin are refused; timed waits can break it, which is noticed where two
//! equivalent beginnings enable different threads.

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

/// How much may be computed before giving up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Rankings of priorities that are alive at once, for BasicPOS and POS.
    pub states: usize,
    /// Runs that are enumerated, for PCT.
    pub runs: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 1_000_000, states: 4_000_000, runs: 20_000_000 }
    }
}

/// Why there is no exact answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExactError {
    /// There are too many beginnings of runs.
    #[error(
        "the program is too large to compute: {reached} beginnings of runs of up to {steps} steps were found and the \
         limit is {limit}, with 300 steps for each; loops that wait by spinning never end here; sample it instead, or \
         raise the limit"
    )]
    TooLarge {
        /// How many were found.
        reached: usize,
        /// How long the longest of them is.
        steps: u64,
        /// The limit.
        limit: usize,
    },
    /// There are too many rankings of priorities.
    #[error(
        "too many orders of priorities to compute: {reached} after {step} steps and the limit is {limit}; sample the \
         program instead, or raise the limit"
    )]
    TooManyStates {
        /// How many were found.
        reached: usize,
        /// After how many steps.
        step: u64,
        /// The limit.
        limit: usize,
    },
    /// PCT has too many different draws.
    #[error(
        "PCT with {threads} threads, {steps} steps and depth {depth} has {draws} different draws and the limit is \
         {limit}; sample it instead, lower the depth, or raise the limit"
    )]
    TooManyRuns {
        /// Threads.
        threads: usize,
        /// Steps at which a change point can lie.
        steps: u64,
        /// Depth.
        depth: u32,
        /// How many draws there are, in words if they cannot be counted in 64 bits.
        draws: String,
        /// The limit.
        limit: u64,
    },
    /// More threads are enabled at once than priorities can be ranked for.
    #[error(
        "{found} threads can run at once and exact POS ranks at most {limit}; sample the program instead"
    )]
    TooManyThreads {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A spinning thread was held back, which depends on more than the partial order.
    #[error(
        "a spinning thread was held back after {steps} steps, so there is no exact answer; sample the program instead"
    )]
    Spins {
        /// After how many steps.
        steps: u64,
    },
    /// Two equivalent beginnings of a run went on differently.
    #[error(
        "two equivalent beginnings of {steps} steps go on differently (time-outs can do that), so there is no exact \
         answer; sample the program instead"
    )]
    Ambiguous {
        /// How long they are.
        steps: u64,
    },
    /// PCT's depth is 0, or its `k` is.
    #[error("PCT needs a depth and a number of steps of at least 1, not {depth} and {steps}")]
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
    /// How it ends.
    pub end: End,
    /// How likely one run has it.
    pub probability: P,
}

/// What a strategy does to a program, exactly.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Exact<P = BigRational> {
    /// The probability that one run fails.
    pub hit: P,
    /// How many partial orders the program has.
    pub partial_orders: usize,
    /// How many of them fail.
    pub failing: usize,
    /// How many of them the strategy can reach.
    pub covered: usize,
    /// The probability of the least likely one; zero if one cannot be reached.
    pub least: P,
    /// The probability of the least likely one that can be reached.
    pub least_covered: P,
    /// The most threads of any run.
    pub threads: usize,
    /// The length of the longest run.
    pub steps: u64,
    /// Every partial order.
    pub orders: Vec<Order<P>>,
}

/// Computes what `strategy` does to `program`, in fractions.
pub fn compute(
    program: &dyn CopyProgram,
    config: Config,
    strategy: &ExactStrategy,
    limits: &Limits,
) -> Result<Exact, ExactError> {
    compute_in(program, config, strategy, limits)
}

/// As [`compute`], in numbers of the caller's choice: `f64` is faster and good for about 12 digits.
pub fn compute_in<P: Probability>(
    program: &dyn CopyProgram,
    config: Config,
    strategy: &ExactStrategy,
    limits: &Limits,
) -> Result<Exact<P>, ExactError> {
    let graph = Graph::unfold(program, config, limits.nodes)?;
    compute_on(&graph, program, config, strategy, limits)
}

/// As [`compute_in`], for a program that was unfolded before.
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

/// `shares` belong to the graph's ends, one by one.
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
