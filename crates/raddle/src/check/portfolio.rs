//! The strategies of a check; [`raddle_strategies::portfolio`] says whose turn it is.

use raddle_engine::Strategy;
use raddle_strategies::SpecError;
pub use raddle_strategies::portfolio::PORTFOLIO;
use raddle_strategies::portfolio::pct_depth;

/// What the default is called.
pub(super) const NAME: &str = "portfolio";

/// One strategy of a check.
pub(super) struct Lane {
    pub(super) spec: String,
    /// Never run; copied for whoever runs it.
    pub(super) strategy: Box<dyn Strategy>,
    /// The depth for which the runs of this strategy have PCT's guarantee as published.
    pub(super) pct_depth: Option<u64>,
}

impl Lane {
    /// The lane of `strategy`, whose specification is `spec`.
    pub(super) fn of(spec: &str, strategy: Box<dyn Strategy>) -> Lane {
        Lane { spec: spec.to_owned(), strategy, pct_depth: pct_depth(spec) }
    }

    /// Whether nothing is left to try, once this strategy has no schedule left.
    pub(super) fn covers_everything(&self) -> bool {
        matches!(&self.spec[..], "dfs" | "dpor" | "preemption" | "delay")
    }
}

/// The strategies that `text` names.
pub(super) fn lanes(text: &str) -> Result<Vec<Lane>, SpecError> {
    let specs: Vec<&str> = if text == NAME { PORTFOLIO.to_vec() } else { text.split('+').collect() };
    let lane = |&spec: &&str| Ok(Lane::of(spec, raddle_strategies::build(spec)?));
    specs.iter().map(lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_apart() {
        let specs = |text| lanes(text).unwrap().into_iter().map(|lane| lane.spec).collect::<Vec<_>>();
        assert_eq!(specs("portfolio"), PORTFOLIO);
        assert_eq!(specs("pos+pct:depth=2"), ["pos", "pct:depth=2"]);
        assert!(lanes("pos+").is_err());
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
            assert_eq!(lanes(spec).unwrap()[0].pct_depth, depth, "{spec}");
        }
    }
}
