//! Sampling: many runs on all cores, with the same result for any number of them.

use raddle_engine::Config;
use raddle_search::{
    Budget, CopyProgram, InProcess, Lanes, Outcome, Part, Recording, Search, Seen, search_all,
};
use std::io;

/// One program under some strategies.
pub struct Job {
    /// The program.
    pub program: Box<dyn CopyProgram>,
    /// The strategies.
    pub lanes: Lanes,
    /// The engine's settings.
    pub config: Config,
    /// The seed.
    pub seed: u64,
    /// Number of runs, and the failure that ends them.
    pub budget: Budget,
}

/// The result of a job.
pub type Sampled = Outcome<Box<Recording>, io::Error>;

/// Number of runs between two progress calls.
const EVERY: u64 = 8_192;

/// Runs one job. See [`sample_all`].
pub fn sample(job: Job, cores: usize) -> io::Result<Sampled> {
    let mut sampled = sample_all(&[job], cores, &|_| ())?;
    Ok(sampled.pop().expect("one job has one outcome"))
}

/// Runs all jobs on `cores` cores and returns their results, in order. `progress` is called with numbers of
/// completed runs. The result does not depend on `cores`.
///
/// Fails if a thread cannot be started.
pub fn sample_all(jobs: &[Job], cores: usize, progress: &(dyn Fn(u64) + Sync)) -> io::Result<Vec<Sampled>> {
    sample_part(jobs, None, cores, progress)
}

/// Runs a part of each job. See [`sample_all`].
pub fn sample_part(
    jobs: &[Job],
    part: Option<Part>,
    cores: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> io::Result<Vec<Sampled>> {
    let watch = |seen: Seen<'_>| progress(seen.turns);
    let searches = jobs.iter().map(|job| {
        let Job { program, lanes, config, seed, budget } = job;
        let target = InProcess { program: &**program, lanes, config: *config, seed: *seed };
        let budget = budget.clone();
        (target, Search { lanes, budget, jobs: cores, part, known: None, watch: &watch, every: EVERY })
    });
    let searches: Vec<_> = searches.collect();
    search_all(&searches, cores).into_iter().collect()
}
