//! The strategies that take turns in a search.

use raddle_engine::Strategy;
use raddle_model::Reads;
use raddle_strategies::portfolio::{self, NAME, PORTFOLIO, Rounds};
use raddle_strategies::{Exact, Family, SpecError, pct_depth};

/// The variant of the default portfolio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Portfolio {
    /// For tests, which end when all of their threads have.
    Tests,
    /// For programs that end with their first thread; see [`portfolio::of_programs`].
    Programs,
    /// The same, with timeouts at any step in some runs.
    EarlyTimeouts,
}

/// One strategy of a search.
pub struct Lane {
    /// Its specification, such as `pct:depth=2`.
    pub spec: String,
    /// True if its runs depend on earlier ones, so that one worker has to execute them all, in order.
    pub learns: bool,
    /// True if nothing is left for any strategy once this one has no schedule left.
    pub covers_everything: bool,
    /// True if it predicts interleavings and is exhausted when none of these is left.
    pub predicts: bool,
    /// True if it may be exhausted while schedules within its bounds are left.
    pub leaves_out: bool,
    /// The depth for which its runs have PCT's guarantee as published, all but the first.
    pub pct_depth: Option<u64>,
    /// True if its runs are independent draws from one distribution.
    pub is_sample: bool,
    /// True if each of its runs has any given partial order with POS's guarantee at least: `n^-k` with all
    /// conflicts.
    pub reaches_every_order: bool,
    /// True if it counts or enumerates orders, so that all its runs must be of the same program.
    pub counts_orders: bool,
    /// True if half of its runs under weak memory, those in which [`Rng::takes_newest`](raddle_engine::Rng::takes_newest), are
    /// sequentially consistent.
    pub is_half_sequential: bool,
    /// Never runs; copied for every user.
    prototype: Box<dyn Strategy>,
}

impl Lane {
    /// Returns the strategy itself, before its first run.
    pub fn strategy(&self) -> Box<dyn Strategy> {
        self.prototype.fork()
    }
}

/// The strategies of a search, in the order of their indices.
pub struct Lanes {
    lanes: Vec<Lane>,
    /// True if strategies that find more get more turns.
    adapts: bool,
}

impl Lanes {
    /// Parses strategies: one specification, several joined by `+`, or `portfolio`. In a list, `portfolio`
    /// stands for its strategies, which then have as many turns as the others.
    pub fn parse(text: &str, portfolio: Portfolio) -> Result<Lanes, SpecError> {
        let adapts = text == NAME;
        let expand = |spec: &str| match portfolio {
            Portfolio::Tests if spec == NAME => PORTFOLIO.iter().map(|&spec| spec.to_owned()).collect(),
            Portfolio::Programs if spec == NAME => portfolio::of_programs(false),
            Portfolio::EarlyTimeouts if spec == NAME => portfolio::of_programs(true),
            _ => vec![spec.to_owned()],
        };
        let specs: Vec<String> = text.split('+').flat_map(expand).collect();
        let lane = |spec: String| Ok(Lane::new(raddle_strategies::build(&spec)?, spec));
        Ok(Lanes { lanes: specs.into_iter().map(lane).collect::<Result<_, SpecError>>()?, adapts })
    }

    /// Returns these strategies; some of those of the default portfolio then explore weak memory in some of their runs, if the
    /// program has weak memory orders.
    pub fn with_weak_memory(self) -> Result<Lanes, SpecError> {
        if !self.adapts {
            return Ok(self);
        }
        let lane = |spec: String| Ok(Lane::new(raddle_strategies::build(&spec)?, spec));
        let specs = portfolio::with_weak_memory(&self.specs());
        Ok(Lanes { lanes: specs.into_iter().map(lane).collect::<Result<_, SpecError>>()?, ..self })
    }

    /// Returns no strategies, for runs that only follow schedules.
    pub fn none() -> Lanes {
        Lanes { lanes: Vec::new(), adapts: false }
    }

    /// Returns the strategies with these specifications, none of which stands for several.
    pub fn of_specs(specs: &[String]) -> Result<Lanes, SpecError> {
        let lane = |spec: &String| Ok(Lane::new(raddle_strategies::build(spec)?, spec.clone()));
        Ok(Lanes { lanes: specs.iter().map(lane).collect::<Result<_, SpecError>>()?, adapts: false })
    }

    /// Returns a single strategy that was built elsewhere.
    pub fn of(spec: impl Into<String>, strategy: Box<dyn Strategy>) -> Lanes {
        Lanes { lanes: vec![Lane::new(strategy, spec.into())], adapts: false }
    }

    /// Returns these strategies, each wrapped by `wrap`.
    #[must_use]
    pub fn wrapped(mut self, wrap: impl Fn(Box<dyn Strategy>) -> Box<dyn Strategy>) -> Lanes {
        for lane in &mut self.lanes {
            lane.prototype = wrap(lane.prototype.fork());
            lane.learns = lane.prototype.learns();
        }
        self
    }

    /// Returns these strategies, each of which executes its runs in order, whether it learns or not.
    #[must_use]
    pub fn in_order(mut self) -> Lanes {
        self.lanes.iter_mut().for_each(|lane| lane.learns = true);
        self
    }

    /// Returns true if strategies that find more partial orders get more turns.
    pub fn adapts(&self) -> bool {
        self.adapts
    }

    /// Returns the specifications.
    pub fn specs(&self) -> Vec<String> {
        self.lanes.iter().map(|lane| lane.spec.clone()).collect()
    }

    /// Returns the strategies.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Lane> {
        self.lanes.iter()
    }

    /// Returns the strategy with this index.
    pub fn get(&self, index: usize) -> &Lane {
        &self.lanes[index]
    }

    /// Returns true if the runs can be split between workers.
    pub(crate) fn can_be_split(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.learns) || self.lanes.len() > 1
    }

    /// Returns true if one of several strategies can leave nothing for the others.
    pub(crate) fn may_cover_everything(&self) -> bool {
        self.lanes.len() > 1 && self.lanes.iter().any(|lane| lane.covers_everything)
    }

    /// Returns their turns on `jobs` jobs. Shards do not communicate, so with shards the portfolio keeps its
    /// initial shares.
    pub fn rounds(&self, jobs: usize, is_sharded: bool) -> Rounds {
        match self.adapts {
            true if is_sharded => Rounds::fixed_portfolio(),
            true => Rounds::portfolio(jobs),
            false => Rounds::equal(self.lanes.len()),
        }
    }
}

impl Lane {
    fn new(strategy: Box<dyn Strategy>, spec: String) -> Lane {
        Lane {
            learns: strategy.learns(),
            covers_everything: raddle_strategies::covers_everything(&spec),
            predicts: raddle_strategies::entry(&spec).is_some_and(|entry| entry.capabilities.predicts),
            leaves_out: raddle_strategies::leaves_out(&spec),
            pct_depth: pct_depth(&spec),
            is_sample: !strategy.learns(),
            reaches_every_order: matches!(
                raddle_strategies::exact(&spec),
                Ok(Exact::RandomWalk | Exact::Pos(Reads::Independent))
            ),
            counts_orders: raddle_strategies::entry(&spec)
                .is_none_or(|entry| entry.capabilities.counts_orders || entry.family == Family::Systematic),
            is_half_sequential: raddle_strategies::entry(&spec).is_some_and(|entry| {
                entry.family != Family::Systematic && !entry.capabilities.chooses_messages
            }),
            prototype: strategy,
            spec,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split() {
        let specs = |text| Lanes::parse(text, Portfolio::Tests).map(|lanes| lanes.specs());
        assert_eq!(specs("portfolio").unwrap(), PORTFOLIO);
        assert_eq!(specs("pos+pct:depth=2").unwrap(), ["pos", "pct:depth=2"]);
        assert!(specs("pos+").is_err());
        assert_eq!(specs("dfs+portfolio").unwrap(), [&["dfs"][..], PORTFOLIO].concat());
        assert!(!Lanes::parse("dfs+portfolio", Portfolio::Tests).unwrap().adapts());
        assert!(Lanes::parse("portfolio", Portfolio::Programs).unwrap().adapts());
        assert!(!Lanes::parse("pos", Portfolio::Programs).unwrap().adapts());
    }

    #[test]
    fn only_plain_pct_has_the_published_guarantee() {
        for (spec, depth) in [
            ("pct", Some(3)),
            ("pct:depth=2", Some(2)),
            ("pct:depth=drawn", None),
            ("pct:depth=2,at=sync", None),
            ("pct:steps=9", None),
            ("pos", None),
            ("conflict:pct:depth=2", None),
        ] {
            assert_eq!(Lanes::parse(spec, Portfolio::Tests).unwrap().get(0).pct_depth, depth, "{spec}");
        }
    }
}
