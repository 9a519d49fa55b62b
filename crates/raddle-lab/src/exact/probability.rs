//! Numbers for probabilities: fractions of any size, or floating point where speed matters more.

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};

/// A number type for the computations.
pub trait Probability: Clone + PartialOrd + std::fmt::Debug {
    /// Creates a fraction; the denominator is positive.
    fn ratio(numerator: u64, denominator: u64) -> Self;

    /// Adds `other`.
    fn add(&mut self, other: &Self);

    /// Returns this number times a fraction with a positive denominator.
    #[must_use]
    fn times(&self, numerator: u64, denominator: u64) -> Self;

    /// Returns the nearest floating-point number, or one next to it.
    fn to_f64(&self) -> f64;
}

impl Probability for f64 {
    fn ratio(numerator: u64, denominator: u64) -> f64 {
        numerator as f64 / denominator as f64
    }

    fn add(&mut self, other: &f64) {
        *self += other;
    }

    fn times(&self, numerator: u64, denominator: u64) -> f64 {
        self * numerator as f64 / denominator as f64
    }

    fn to_f64(&self) -> f64 {
        *self
    }
}

impl Probability for BigRational {
    fn ratio(numerator: u64, denominator: u64) -> BigRational {
        Ratio::new(BigInt::from(numerator), BigInt::from(denominator))
    }

    fn add(&mut self, other: &BigRational) {
        *self += other;
    }

    fn times(&self, numerator: u64, denominator: u64) -> BigRational {
        self * <BigRational as Probability>::ratio(numerator, denominator)
    }

    fn to_f64(&self) -> f64 {
        let (numerator, denominator) = (self.numer().magnitude(), self.denom().magnitude());
        // The quotient is scaled to have 64 or 65 bits, of which 53 survive the conversion.
        let shift = 64 + denominator.bits() as i64 - numerator.bits() as i64;
        let scaled = match shift {
            0.. => (numerator << shift as u64) / denominator,
            _ => numerator / (denominator << shift.unsigned_abs()),
        };
        let digits = scaled.to_u64_digits();
        let value = digits.iter().rev().fold(0.0, |value, &digit| value * 2_f64.powi(64) + digit as f64);
        let sign = if *self.numer() < BigInt::from(0) { -1.0 } else { 1.0 };
        // Two factors, because the power alone may be too small for a number that is not.
        let half = -shift / 2;
        sign * value * 2_f64.powi(half as i32) * 2_f64.powi((-shift - half) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_become_the_nearest_number() {
        for (numerator, denominator) in [(1, 3), (1, 128), (0, 7), (5, 288), (3, 1), (u64::MAX, u64::MAX - 1)]
        {
            let fraction = <BigRational as Probability>::ratio(numerator, denominator);
            let expected = numerator as f64 / denominator as f64;
            assert!((fraction.to_f64() - expected).abs() <= expected * 3e-16, "{fraction} {expected}");
        }
        let mut tiny = <BigRational as Probability>::ratio(1, 1);
        for _ in 0..300 {
            tiny = tiny.times(1, 10);
        }
        assert!((tiny.to_f64() / 1e-300 - 1.0).abs() < 1e-12, "{}", tiny.to_f64());
    }

    #[test]
    fn both_kinds_agree() {
        fn sum<P: Probability>() -> P {
            let mut sum = P::ratio(1, 6);
            sum.add(&P::ratio(2, 5).times(3, 7));
            sum
        }
        assert_eq!(sum::<BigRational>().to_string(), "71/210");
        assert!((sum::<f64>() - 71.0 / 210.0).abs() < 1e-15);
    }
}
