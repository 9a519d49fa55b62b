//! Counting hits over fixed seeds and comparing the count with a bound.

/// Returns the number of hits among the seeds `0..runs`, or among as many of them as are [`affordable`].
pub fn hits(runs: u64, mut hit: impl FnMut(u64) -> bool) -> u64 {
    (0..affordable(runs)).filter(|&seed| hit(seed)).count() as u64
}

/// Returns the number of `runs` to execute: under Miri, which is ten thousand times slower, one in 5,000, and
/// at least three.
pub fn affordable(runs: u64) -> u64 {
    if cfg!(miri) { (runs / 5_000).max(3) } else { runs }
}

/// Does [`affordable`] for rounds of a loop that cost far less than a run: one in 100.
pub fn affordable_rounds(rounds: u64) -> u64 {
    if cfg!(miri) { rounds / 100 } else { rounds }
}

/// Does [`affordable`] for programs that are run under every schedule: one.
pub fn affordable_searches(programs: u64) -> u64 {
    if cfg!(miri) { 1 } else { programs }
}

/// Returns true if enough runs are executed for a test to compare counts. False under Miri.
pub const fn is_thorough() -> bool {
    !cfg!(miri)
}

/// Asserts that the number of hits in `runs` runs is at least what probability `bound` promises, less three sigma.
///
/// The seeds are fixed, so that the result is the same on every machine; the margin only has to cover the luck of
/// this one set of seeds.
pub fn assert_hit_rate(runs: u64, bound: f64, hit: impl FnMut(u64) -> bool) {
    let count = hits(runs, hit);
    let runs = affordable(runs);
    let mean = bound * runs as f64;
    let least = mean - 3.0 * (mean * (1.0 - bound)).sqrt();
    assert!(
        count as f64 >= least,
        "{count} hits in {runs} runs, a probability of {bound} requires at least {least:.1}"
    );
}

/// Asserts that no run hits.
pub fn assert_never(runs: u64, hit: impl FnMut(u64) -> bool) {
    let count = hits(runs, hit);
    assert_eq!(count, 0, "{count} hits in {runs} runs of an impossible event");
}
