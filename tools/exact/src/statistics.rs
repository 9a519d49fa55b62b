//! A test of counts against probabilities.

/// The largest number of standard deviations that a count may be off. A fair sample exceeds this with a
/// probability of about 1e-9.
pub const MOST: f64 = 6.0;

/// Cells with a smaller expectation are combined.
const LEAST_EXPECTED: f64 = 10.0;

/// Returns the number of standard deviations by which the chi-square statistic of `(count, probability)` lies
/// above its mean, by the approximation of Wilson and Hilferty; `None` if there are fewer than two cells to
/// compare.
pub fn deviation(cells: &[(u64, f64)]) -> Option<f64> {
    let total: u64 = cells.iter().map(|(count, _)| count).sum();
    let expected = |probability: f64| probability * total as f64;
    let (large, small): (Vec<_>, Vec<_>) = cells.iter().partition(|(_, p)| expected(*p) >= LEAST_EXPECTED);
    let mut large: Vec<(u64, f64)> = large;
    let rest = small.iter().fold((0, 0.0), |(count, p), (c, q)| (count + c, p + q));
    if expected(rest.1) >= LEAST_EXPECTED {
        large.push(rest);
    } else if let Some(last) = large.last_mut() {
        *last = (last.0 + rest.0, last.1 + rest.1);
    }
    if large.len() < 2 {
        return None;
    }
    let terms = large.iter().map(|(count, p)| (*count as f64 - expected(*p)).powi(2) / expected(*p));
    let (statistic, freedom) = (terms.sum::<f64>(), large.len() as f64 - 1.0);
    let spread = 2.0 / (9.0 * freedom);
    Some(((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fair_sample_fits_and_a_bent_one_does_not() {
        let cells = |counts: [u64; 4]| counts.map(|count| (count, 0.25));
        // 99 % of the chi-square distribution with 3 degrees of freedom lie below 11.345.
        let close = deviation(&cells([250 + 38, 250 - 38, 250, 250])).unwrap();
        assert!((close - 2.35).abs() < 0.05, "{close}");
        assert!(deviation(&cells([250, 251, 249, 250])).unwrap() < 0.0);
        assert!(deviation(&cells([400, 200, 200, 200])).unwrap() > MOST);
        assert!(deviation(&[(10, 1.0)]).is_none());
    }
}
