//! The guarantees of PCT and POS in numbers, and their meaning for a number of runs.
//!
//! Everything is computed with logarithms, because guarantees for long runs are smaller than any
//! floating-point number.

use raddle_engine::Census;
use std::f64::consts::LN_10;

/// The size of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// The largest number of threads, `n`.
    pub threads: u64,
    /// The largest number of steps, `k`.
    pub steps: u64,
}

/// The reason why there is no guarantee.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// The number of threads is 0.
    #[error("the number of threads must be at least 1")]
    NoThreads,
    /// The number of steps is 0.
    #[error("the number of steps must be at least 1")]
    NoSteps,
    /// The depth is not between 1 and the number of steps.
    #[error("the depth must be from 1 to the number of steps ({steps}), not {depth}")]
    Depth {
        /// The depth.
        depth: u64,
        /// The number of steps.
        steps: u64,
    },
    /// There are more conflicts than possible.
    #[error(
        "{conflicts} conflicts are too many: each of the steps conflicts with at most one event of each other \
             thread, so there are at most {most}"
    )]
    Conflicts {
        /// The number of conflicts.
        conflicts: u64,
        /// The largest possible number of conflicts.
        most: u128,
    },
    /// The confidence is not between 0 and 1.
    #[error("the confidence must be above 0 and below 1, not {confidence}")]
    Confidence {
        /// The confidence.
        confidence: f64,
    },
    /// There are more hits than runs, or no runs.
    #[error("{hits} hits in {runs} runs: there must be at least 1 run, and not more hits than runs")]
    Hits {
        /// Number of hits.
        hits: u64,
        /// Number of runs.
        runs: u64,
    },
}

/// A lower bound on the probability that one run hits.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Guarantee {
    /// The natural logarithm of the probability; never above 0.
    ln: f64,
}

impl Guarantee {
    /// Returns the guarantee of PCT for a bug of a given depth: `1 / (n k^(d-1))` (ASPLOS 2010, theorem 9).
    pub fn pct(size: Size, depth: u64) -> Result<Guarantee, BoundError> {
        let (n, k) = size.check()?;
        if !(1..=size.steps).contains(&depth) {
            return Err(BoundError::Depth { depth, steps: size.steps });
        }
        Ok(Guarantee { ln: -(n.ln() + (depth - 1) as f64 * k.ln()) })
    }

    /// Returns the guarantee of POS for any partial order whose schedules have at most `conflicts` direct
    /// conflicts: `n^-k r^u` with `l = ceil(c / (n-1))`, `r = n k / (k + (n-1) l)` and `u = (k - l) / 2`
    /// (thesis, corollary 3.7).
    pub fn pos(size: Size, conflicts: u64) -> Result<Guarantee, BoundError> {
        let (n, k) = size.check()?;
        let others = size.threads - 1;
        let most = u128::from(others) * u128::from(size.steps);
        if u128::from(conflicts) > most {
            return Err(BoundError::Conflicts { conflicts, most });
        }
        if others == 0 {
            // A single thread has one schedule.
            return Ok(Guarantee { ln: 0.0 });
        }
        let l = conflicts.div_ceil(others) as f64;
        let r = n * k / (k + others as f64 * l);
        let ln = -k * n.ln() + (k - l) / 2.0 * r.ln();
        Ok(Guarantee { ln: ln.min(0.0) })
    }

    /// Returns the probability; 0 if it is too small for a floating-point number.
    pub fn probability(self) -> f64 {
        self.ln.exp()
    }

    /// Returns the decimal logarithm of the probability.
    pub fn log10(self) -> f64 {
        self.ln / LN_10
    }

    /// Returns an upper bound on the probability that all of `runs` runs miss such a bug: `(1 - p)^runs`.
    pub fn missed(self, runs: u64) -> f64 {
        // 0 times minus infinity is not a number, but without runs the bug is certainly missed.
        if runs == 0 { 1.0 } else { (runs as f64 * self.ln_miss()).exp() }
    }

    /// Returns the number of runs needed to hit at least once with this probability; infinite if there is no
    /// such number.
    pub fn runs_for(self, confidence: f64) -> Result<f64, BoundError> {
        let wanted = check_confidence(confidence)?;
        Ok((wanted / self.ln_miss()).ceil().max(1.0))
    }

    /// Returns the decimal logarithm of [`Guarantee::runs_for`], for very large numbers of runs.
    pub fn log10_runs_for(self, confidence: f64) -> Result<f64, BoundError> {
        let runs = self.runs_for(confidence)?;
        if runs.is_finite() {
            return Ok(runs.log10());
        }
        // For a tiny p, -ln(1 - p) is p.
        Ok((-check_confidence(confidence)?).log10() - self.log10())
    }

    /// Returns the logarithm of the probability to miss in one run.
    fn ln_miss(self) -> f64 {
        (-self.probability()).ln_1p()
    }
}

impl Size {
    fn check(self) -> Result<(f64, f64), BoundError> {
        if self.threads == 0 {
            return Err(BoundError::NoThreads);
        }
        if self.steps == 0 {
            return Err(BoundError::NoSteps);
        }
        Ok((self.threads as f64, self.steps as f64))
    }
}

/// Returns the logarithm of the wanted probability to miss.
fn check_confidence(confidence: f64) -> Result<f64, BoundError> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok((-confidence).ln_1p())
    } else {
        Err(BoundError::Confidence { confidence })
    }
}

/// Returns the Wilson score interval: the bounds between which the probability of a hit lies, with 95 %
/// confidence, if `hits` of `runs` independent runs hit.
pub fn interval(hits: u64, runs: u64) -> Result<(f64, f64), BoundError> {
    /// The 97.5th percentile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    if runs == 0 || hits > runs {
        return Err(BoundError::Hits { hits, runs });
    }
    let n = runs as f64;
    let p = hits as f64 / n;
    let scale = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    let low = if hits == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if hits == runs { 1.0 } else { (centre + half).min(1.0) };
    Ok((low, high))
}

/// The factor by which the number of unseen partial orders may differ from the estimate. See
/// [`unseen_interval`].
const UNSEEN_FACTOR: f64 = 4.0;

/// Returns the bounds between which the number of all partial orders probably lies, if a strategy has seen
/// `own` of them and estimates `estimate` in total: those that it has not seen may be four times as many as it
/// estimates, or a quarter of that. `seen` of them, with those of other strategies, certainly exist.
///
/// This is not a theorem. It held for at least 90 % of the generated programs of the test
/// `the_interval_covers_the_true_number` (raddle-lab, tests/claims.rs), which are small, and for at least 85 %
/// where three of four runs were those of other strategies.
pub fn unseen_interval(seen: u64, own: u64, estimate: f64) -> (f64, f64) {
    let (seen, own) = (seen as f64, own.min(seen) as f64);
    let unseen = (estimate - own).max(0.0);
    let (low, high) = (own + unseen / UNSEEN_FACTOR, own + unseen * UNSEEN_FACTOR);
    (low.floor().max(seen), high.ceil().max(seen))
}

/// Returns the probability that one more run has a partial order that no earlier run had, if all runs are
/// independent draws from one distribution: the Good-Turing estimate, which is the share of runs whose
/// partial order occurred once, and an upper bound with a confidence of 95 % (McAllester and Schapire, COLT
/// 2000: `(2 sqrt 2 + sqrt 3) sqrt(ln(3 / 0.05) / n)` above the estimate). `None` without runs.
pub fn next_new(census: &Census) -> Option<(f64, f64)> {
    let (mut runs, mut single) = (0_u64, 0_u64);
    for (_, count) in census.iter() {
        runs += count;
        single += u64::from(count == 1);
    }
    if runs == 0 {
        return None;
    }
    let chance = single as f64 / runs as f64;
    let margin = (2.0 * 2_f64.sqrt() + 3_f64.sqrt()) * (60_f64.ln() / runs as f64).sqrt();
    Some((chance, (chance + margin).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size { threads: 2, steps: 10 };

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn pct_is_one_in_n_k_to_the_d_minus_one() {
        close(Guarantee::pct(SMALL, 3).unwrap().probability(), 1.0 / 200.0);
        close(Guarantee::pct(SMALL, 1).unwrap().probability(), 0.5);
        let deep = Guarantee::pct(Size { threads: 10, steps: 1_000_000 }, 101).unwrap();
        assert_eq!(deep.probability(), 0.0);
        close(deep.log10(), -601.0);
        assert_eq!(deep.missed(u64::MAX), 1.0);
    }

    #[test]
    fn pos_is_the_corollary() {
        // l = 4, r = 2*6 / (6 + 4), u = 1.
        let size = Size { threads: 2, steps: 6 };
        close(Guarantee::pos(size, 4).unwrap().probability(), 1.2 / 64.0);
        // l = ceil(5 / 2) = 3, r = 3*8 / (8 + 2*3), u = 5/2.
        let size = Size { threads: 3, steps: 8 };
        close(Guarantee::pos(size, 5).unwrap().probability(), (24_f64 / 14.0).powf(2.5) / 3_f64.powi(8));
        // With all conflicts it equals the guarantee of random walk, with one thread it is certain.
        close(Guarantee::pos(SMALL, 10).unwrap().probability(), 2_f64.powi(-10));
        assert_eq!(Guarantee::pos(Size { threads: 1, steps: 5 }, 0).unwrap().probability(), 1.0);
        let long = Guarantee::pos(Size { threads: 4, steps: 10_000 }, 0).unwrap();
        close(long.log10(), -5_000.0 * 4_f64.log10());
    }

    #[test]
    fn runs_follow_from_the_probability() {
        let guarantee = Guarantee::pct(SMALL, 3).unwrap();
        close(guarantee.missed(598), 0.995_f64.powi(598));
        assert_eq!(guarantee.missed(0), 1.0);
        for confidence in [0.95, 0.99] {
            let runs = guarantee.runs_for(confidence).unwrap();
            assert!(guarantee.missed(runs as u64) <= 1.0 - confidence);
            assert!(guarantee.missed(runs as u64 - 1) > 1.0 - confidence, "one run fewer is not enough");
        }
        assert_eq!(guarantee.runs_for(0.95), Ok(598.0));
        assert_eq!(Guarantee::pct(Size { threads: 1, steps: 1 }, 1).unwrap().runs_for(0.99), Ok(1.0));
        let deep = Guarantee::pct(Size { threads: 10, steps: 1_000_000 }, 101).unwrap();
        assert_eq!(deep.runs_for(0.95), Ok(f64::INFINITY));
        close(deep.log10_runs_for(0.95).unwrap(), 601.0 + (-(0.05_f64.ln())).log10());
    }

    #[test]
    fn nonsense_is_refused() {
        let size = |threads, steps| Size { threads, steps };
        assert_eq!(Guarantee::pct(size(0, 5), 1), Err(BoundError::NoThreads));
        assert_eq!(Guarantee::pos(size(2, 0), 0), Err(BoundError::NoSteps));
        assert_eq!(Guarantee::pct(size(2, 5), 0), Err(BoundError::Depth { depth: 0, steps: 5 }));
        assert_eq!(Guarantee::pct(size(2, 5), 6), Err(BoundError::Depth { depth: 6, steps: 5 }));
        assert!(Guarantee::pct(size(2, 5), 5).is_ok());
        assert_eq!(Guarantee::pos(size(3, 5), 11), Err(BoundError::Conflicts { conflicts: 11, most: 10 }));
        assert_eq!(Guarantee::pos(size(1, 5), 1), Err(BoundError::Conflicts { conflicts: 1, most: 0 }));
        assert!(Guarantee::pos(size(u64::MAX, u64::MAX), u64::MAX).is_ok());
        let guarantee = Guarantee::pct(size(2, 5), 2).unwrap();
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(guarantee.runs_for(confidence).is_err(), "{confidence}");
        }
    }

    #[test]
    fn partial_orders_of_other_strategies_are_within_the_interval() {
        assert_eq!(unseen_interval(216, 216, 334.0), (245.0, 688.0));
        // All 216 have been seen, but the strategy with the estimate has seen 100 of them.
        assert_eq!(unseen_interval(216, 100, 334.0), (216.0, 1_036.0));
        assert_eq!(unseen_interval(216, 500, 216.0), (216.0, 216.0));
    }

    #[test]
    fn the_wilson_interval_matches_published_tables() {
        let within = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!((low - expected.0).abs() < 5e-5 && (high - expected.1).abs() < 5e-5, "{low} {high}");
        };
        within(interval(5, 10).unwrap(), (0.2366, 0.7634));
        within(interval(0, 10).unwrap(), (0.0, 0.2775));
        within(interval(10, 10).unwrap(), (0.7225, 1.0));
        within(interval(15, 148).unwrap(), (0.0624, 0.1605));
        assert!(interval(0, 0).is_err() && interval(3, 2).is_err());
    }
}
