//! Counting hits over fixed seeds and comparing the count with a bound.

/// How many of the seeds `0..runs` hit, of as many of them as are [`affordable`].
pub fn hits(runs: u64, mut hit: impl FnMut(u64) -> bool) -> u64 {
    (0..affordable(runs)).filter(|&seed| hit(seed)).count() as u64
}

/// As many of `runs` as there is time for: under Miri, which is ten thousand times slower, one in 5,000, and three at least.
pub fn affordable(runs: u64) -> u64 {
    if cfg!(miri) { (runs / 5_000).max(3) } else { runs }
}

/// As [`affordable`], for rounds of a loop that cost far less than a run: one in 100.
pub fn affordable_rounds(rounds: u64) -> u64 {
    if cfg!(miri) { rounds / 100 } else { rounds }
}

/// As [`affordable`], for programs that are run under every schedule: one.
pub fn affordable_searches(programs: u64) -> u64 {
    if cfg!(miri) { 1 } else { programs }
}

/// Whether so much was done that a test can tell how much of everything it has seen. Under Miri it was not.
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
        "{count} hits in {runs} runs, a probability of {bound} promises at least {least:.1}"
    );
}

/// Asserts that no run hits.
pub fn assert_never(runs: u64, hit: impl FnMut(u64) -> bool) {
    let count = hits(runs, hit);
    assert_eq!(count, 0, "{count} hits in {runs} runs of something that cannot happen");
}
