//! The catalogue entry of a strategy.
//!
//! An [`Entry`] is defined in the file of its strategy, and listed in [`CATALOGUE`](crate::CATALOGUE). No
//! other crate compares names: other crates read the [`Capabilities`] of a strategy.

use crate::spec::SpecError;
use crate::values::Values;
use raddle_engine::Strategy;
use raddle_model::Reads;

/// The family of a strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Chooses at random.
    Randomized,
    /// Enumerates schedules.
    Systematic,
    /// Wraps another strategy.
    Wrapper,
}

/// A parameter of a strategy.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The default.
    pub default: &'static str,
    /// The meaning.
    pub meaning: &'static str,
}

/// A strategy that a specification can name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name with which a specification begins.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// A one-sentence description.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The publication it comes from.
    pub source: &'static str,
    /// Its guarantee.
    pub guarantee: &'static str,
    /// Properties that other crates rely on.
    pub capabilities: Capabilities,
    /// Its constructor.
    pub(crate) build: Build,
}

/// Properties of a strategy on which other parts of Raddle depend.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// With its default parameters it is exhausted only after every behaviour of the program was run.
    pub complete: bool,
    /// It runs one schedule of each partial order and skips the others.
    pub one_per_order: bool,
    /// It estimates the number of partial orders of the unmodified program.
    pub counts_orders: bool,
    /// It predicts iRoots and tests them, so a ledger of earlier searches helps it.
    pub predicts: bool,
    /// It must see every step of a run.
    pub every_step: bool,
    /// A wrapper: the inner strategy does not see every step.
    pub skips_steps: bool,
    /// It chooses messages of weak memory in a way of its own, not by [`Rng::message`](raddle_engine::Rng::message).
    pub chooses_messages: bool,
    /// Returns true if it may be exhausted while schedules within its bounds are left, from the parameters.
    pub(crate) leaves_out: fn(&Values<'_>) -> bool,
    /// The depth for which a run has PCT's published guarantee, from the parameters.
    pub(crate) depth_bound: Option<fn(&Values<'_>) -> Option<u64>>,
    /// The distribution of its schedules, from the parameters, or the reason why it cannot be computed.
    pub(crate) exact: Option<Compute>,
}

impl Capabilities {
    /// Returns true if its guarantee is that of PCT, for a depth and a number of steps.
    pub fn has_depth(&self) -> bool {
        self.depth_bound.is_some()
    }

    /// No capabilities.
    pub(crate) const NONE: Capabilities = Capabilities {
        complete: false,
        one_per_order: false,
        counts_orders: false,
        predicts: false,
        every_step: false,
        skips_steps: false,
        chooses_messages: false,
        leaves_out: |_| false,
        depth_bound: None,
        exact: None,
    };
}

/// A distribution of schedules that raddle-lab can compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exact {
    /// Random walk.
    RandomWalk,
    /// PCT as in the paper's Figure 7.
    Pct {
        /// One more than the number of change points.
        depth: u32,
        /// The `k` of the guarantee; the longest run if not given.
        steps: Option<u64>,
    },
    /// BasicPOS.
    BasicPos,
    /// POS, with reads of one object conflicting or not.
    Pos(Reads),
}

/// The distribution for given parameters, or the reason why it cannot be computed.
pub(crate) type Compute = fn(&Values<'_>) -> Result<Exact, String>;

/// The constructor of a strategy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    /// From its parameters.
    Alone(fn(&Values<'_>) -> Result<Box<dyn Strategy>, SpecError>),
    /// Around another strategy.
    Around(fn(Box<dyn Strategy>) -> Box<dyn Strategy>),
}

pub(crate) const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, default, meaning }
}

pub(crate) const STEPS: Parameter =
    parameter("steps", "learnt", "k, the number of steps of a run; the longest run seen if not given");
