//! Several strategies that take turns.
//!
//! Run `r` of a check with `n` strategies is run `r / n` of strategy `r mod n`, in the order in which they are listed. So
//! the runs of each are those that it would make alone with the same seed, and nothing depends on how fast they are. A
//! strategy that has no schedule left gives up its turns.

use raddle_engine::Strategy;
use raddle_strategies::SpecError;

/// The strategies of `portfolio`, in the order of their turns. None is best for every program: POS and OOS vary the order
/// of conflicting accesses, PCT finds bugs that need few ordered events in long runs, SURW and UPO sample what they have
/// learnt to count, and the random walk assumes nothing.
pub const PORTFOLIO: &[&str] = &["pos", "pct:depth=3", "surw", "oos", "upo", "random-walk"];

/// One strategy of a check.
pub(super) struct Lane {
    pub(super) spec: String,
    /// Never run; copied for whoever runs it.
    pub(super) strategy: Box<dyn Strategy>,
    /// The depth for which the runs of this strategy have PCT's guarantee as published.
    pub(super) pct_depth: Option<u64>,
}

impl Lane {
    /// Whether nothing is left to try, once this strategy has no schedule left.
    pub(super) fn covers_everything(&self) -> bool {
        matches!(&self.spec[..], "dfs" | "dpor" | "preemption" | "delay")
    }
}

fn pct_depth(spec: &str) -> Option<u64> {
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    match parameters.split_once('=') {
        _ if name != "pct" => None,
        None => Some(3),
        Some(("depth", depth)) => depth.parse().ok(),
        Some(_) => None,
    }
}

/// The strategies that `text` names.
pub(super) fn lanes(text: &str) -> Result<Vec<Lane>, SpecError> {
    let specs: Vec<&str> = if text == "portfolio" { PORTFOLIO.to_vec() } else { text.split('+').collect() };
    let lane = |&spec: &&str| {
        let strategy = raddle_strategies::build(spec)?;
        Ok(Lane { spec: spec.to_owned(), strategy, pct_depth: pct_depth(spec) })
    };
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
