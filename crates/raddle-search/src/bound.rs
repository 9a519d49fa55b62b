//! The guarantees of PCT and POS in numbers, and what they mean for a number of runs.
//!
//! Everything is computed with logarithms, because guarantees for long runs are below what a floating-point number
//! can hold.

use raddle_engine::Census;
use std::f64::consts::LN_10;

/// What is known about a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// At most so many threads, `n`.
    pub threads: u64,
    /// At most so many steps, `k`.
    pub steps: u64,
}

/// Why there is no guarantee.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// A program has at least one thread.
    #[error("a program has at least 1 thread, not 0")]
    NoThreads,
    /// A run has at least one step.
    #[error("a run has at least 1 step, not 0")]
    NoSteps,
    /// The depth is not between 1 and the number of steps.
    #[error("the depth is {depth}; it is at least 1 and at most the number of steps, {steps}")]
    Depth {
        /// The depth.
        depth: u64,
        /// The number of steps.
        steps: u64,
    },
    /// There cannot be so many conflicts.
    #[error(
        "{conflicts} conflicts are too many: each of the steps conflicts with at most one event of each other \
             thread, so there are at most {most}"
    )]
    Conflicts {
        /// The number of conflicts.
        conflicts: u64,
        /// How many there can be.
        most: u128,
    },
    /// A confidence is between 0 and 1.
    #[error("the confidence is {confidence}; it must be above 0 and below 1")]
    Confidence {
        /// The confidence.
        confidence: f64,
    },
    /// There cannot be more hits than runs, nor a ratio of no runs.
    #[error("{hits} hits in {runs} runs: there must be at least 1 run, and not more hits than runs")]
    Hits {
        /// The hits.
        hits: u64,
        /// The runs.
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
    /// That of PCT for a bug of a given depth: `1 / (n k^(d-1))` (ASPLOS 2010, theorem 9).
    pub fn pct(size: Size, depth: u64) -> Result<Guarantee, BoundError> {
        let (n, k) = size.check()?;
        if !(1..=size.steps).contains(&depth) {
            return Err(BoundError::Depth { depth, steps: size.steps });
        }
        Ok(Guarantee { ln: -(n.ln() + (depth - 1) as f64 * k.ln()) })
    }

    /// That of POS for any partial order whose schedules have at most `conflicts` direct conflicts: `n^-k r^u` with
    /// `l = ceil(c / (n-1))`, `r = n k / (k + (n-1) l)` and `u = (k - l) / 2` (thesis, corollary 3.7).
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

    /// The probability; 0 if it is too small for a floating-point number.
    pub fn probability(self) -> f64 {
        self.ln.exp()
    }

    /// The decimal logarithm of the probability.
    pub fn log10(self) -> f64 {
        self.ln / LN_10
    }

    /// The chance that such a bug has been missed in all of `runs` runs: `(1 - p)^runs`, at most.
    pub fn missed(self, runs: u64) -> f64 {
        // 0 times minus infinity is not a number, but no run has surely missed.
        if runs == 0 { 1.0 } else { (runs as f64 * self.ln_miss()).exp() }
    }

    /// How many runs are needed to hit at least once with this probability; infinite if there is no such number.
    pub fn runs_for(self, confidence: f64) -> Result<f64, BoundError> {
        let wanted = check_confidence(confidence)?;
        Ok((wanted / self.ln_miss()).ceil().max(1.0))
    }

    /// The decimal logarithm of [`Guarantee::runs_for`], for numbers of runs that have no name.
    pub fn log10_runs_for(self, confidence: f64) -> Result<f64, BoundError> {
        let runs = self.runs_for(confidence)?;
        if runs.is_finite() {
            return Ok(runs.log10());
        }
        // For a tiny p, -ln(1 - p) is p.
        Ok((-check_confidence(confidence)?).log10() - self.log10())
    }

    /// The logarithm of the probability to miss in one run.
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

/// The logarithm of the wanted chance to miss.
fn check_confidence(confidence: f64) -> Result<f64, BoundError> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok((-confidence).ln_1p())
    } else {
        Err(BoundError::Confidence { confidence })
    }
}

/// The Wilson score interval: between which bounds the probability of a hit lies, with 95 % confidence, if `hits` of
/// `runs` independent runs hit.
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

/// How much larger or smaller than estimated the number of unseen partial orders may be. See [`unseen_interval`].
const UNSEEN_FACTOR: f64 = 4.0;

/// Returns between which numbers the number of all partial orders probably lies, of which a strategy has `seen` some and
/// estimates that there are `estimate`: the unseen ones may be four times as many as estimated, or a quarter of that.
///
/// This is no theorem. It held for at least 90 % of the generated programs of the test `the_interval_covers_the_true_number`
/// (raddle-lab, tests/claims.rs), which are small.
pub fn unseen_interval(seen: u64, estimate: f64) -> (f64, f64) {
    let seen = seen as f64;
    let unseen = (estimate - seen).max(0.0);
    ((seen + unseen / UNSEEN_FACTOR).floor(), (seen + unseen * UNSEEN_FACTOR).ceil())
}

/// Returns the chance that one more run has a partial order that none had, if all runs are independent draws from one distribution:
/// the estimate of Good and Turing, which is the share of runs whose partial order came up once, and an upper bound with a
/// confidence of 95 % (McAllester and Schapire, COLT 2000: `(2 sqrt 2 + sqrt 3) sqrt(ln(3 / 0.05) / n)` above the estimate). Nothing
/// without runs.
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
        // With all conflicts it is random walk's guarantee, with one thread it is certain.
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
    fn wilson_as_in_tables() {
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
