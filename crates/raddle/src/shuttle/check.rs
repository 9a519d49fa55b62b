//! Shuttle's functions that run a test.

use super::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use super::{Config, Runner};
use std::path::Path;

/// Runs `test` once, its threads taking turns.
#[track_caller]
pub fn check<F: Fn() + Send + Sync + 'static>(test: F) {
    Runner::new(RoundRobinScheduler::new(1), Config::new()).run(test);
}

/// Runs `test` `iterations` times with random schedules.
#[track_caller]
pub fn check_random<F: Fn() + Send + Sync + 'static>(test: F, iterations: usize) {
    Runner::new(RandomScheduler::new(iterations), Config::new()).run(test);
}

/// Runs `test` `iterations` times with random schedules derived from `seed`.
#[track_caller]
pub fn check_random_with_seed<F: Fn() + Send + Sync + 'static>(test: F, seed: u64, iterations: usize) {
    Runner::new(RandomScheduler::new_from_seed(seed, iterations), Config::new()).run(test);
}

/// Runs `test` `iterations` times under PCT with bug depth `depth`.
#[track_caller]
pub fn check_pct<F: Fn() + Send + Sync + 'static>(test: F, iterations: usize, depth: usize) {
    Runner::new(PctScheduler::new(depth, iterations), Config::new()).run(test);
}

/// Runs `test` `iterations` times and samples interleavings as uniformly as the strategy `urw` can.
#[track_caller]
pub fn check_urw<F: Fn() + Send + Sync + 'static>(test: F, iterations: usize) {
    Runner::new(UrwRandomScheduler::new(iterations), Config::new()).run(test);
}

/// Runs `test` under every schedule, or the first `max_iterations` of them.
#[track_caller]
pub fn check_dfs<F: Fn() + Send + Sync + 'static>(test: F, max_iterations: Option<usize>) {
    Runner::new(DfsScheduler::new(max_iterations, false), Config::new()).run(test);
}

/// Runs `test` `max_iterations` times with random schedules and each of these a second time. Panics if the
/// second run differs from the first: the test then depends on more than the schedule, and its failures
/// cannot be replayed.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F: Fn() + Send + Sync + 'static>(test: F, max_iterations: usize) {
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(max_iterations));
    Runner::new(scheduler, Config::new()).run(test);
}

/// Runs `test` once with the schedule at the end of a failure report.
#[track_caller]
pub fn replay<F: Fn() + Send + Sync + 'static>(test: F, encoded_schedule: &str) {
    Runner::new(ReplayScheduler::new_from_encoded(encoded_schedule), Config::new()).run(test);
}

/// Runs `test` once with the schedule in `path`: a failure file, or a file with a schedule for [`replay`].
#[track_caller]
pub fn replay_from_file<F: Fn() + Send + Sync + 'static>(test: F, path: impl AsRef<Path>) {
    let scheduler = ReplayScheduler::new_from_file(path).expect("could not load schedule from file");
    Runner::new(scheduler, Config::new()).run(test);
}
