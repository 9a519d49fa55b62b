//! A failing run, after the search: reduced, explained and stored in a file.

use raddle_explain::{Budget, Effort, Execute, Explanation, Smallest, minimize};
use raddle_model::{MADE, TraceFile};
use std::path::Path;
use std::time::Duration;

use crate::budget::Deadline;
use crate::signature::sign;

/// The limits of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The largest number of runs.
    pub runs: u64,
    /// No run starts after this time.
    pub time: Duration,
    /// The number of runs without a smaller one after which it ends; after half of all runs, if that is later.
    pub fruitless: u64,
}

/// The limits after a failure, when a person waits for the report.
pub const AFTER_A_FAILURE: Limits = Limits { runs: 600, time: Duration::from_secs(10), fruitless: 100 };

/// The time between two saved runs of a reduction.
const PAUSE: Duration = Duration::from_secs(1);

impl Limits {
    /// Returns the limits after a failure in a run of `steps` steps: fewer runs if they are long.
    pub fn after_a_failure(steps: usize) -> Limits {
        const STEPS: u64 = 500_000;
        const FEWEST: u64 = 60;
        let runs = (STEPS / (steps as u64).max(1)).clamp(FEWEST, AFTER_A_FAILURE.runs);
        Limits { runs, ..AFTER_A_FAILURE }
    }
}

/// A progress display for a reduction or an explanation. Called after each run.
pub trait Progress {
    /// Starts a phase of `runs` runs.
    fn begin(&self, runs: u64);

    /// Reports a finished run; `note` describes the state.
    fn ran(&self, note: &dyn Fn() -> String);
}

/// Searches for a smaller run with the same failure as that of `file`. `save` gets smaller ones, as any may be the last, but at
/// most one in a second: naming and writing a run may take longer than finding it.
///
/// Returns `None` if the failure does not occur again, and the first error of `save`.
pub fn reduce<E>(
    file: &TraceFile,
    execute: &mut dyn Execute,
    limits: Limits,
    progress: &dyn Progress,
    save: &mut dyn FnMut(&TraceFile) -> Result<(), E>,
) -> Result<Option<TraceFile>, E> {
    let deadline = Deadline::new(Some(limits.time));
    progress.begin(limits.runs);
    let mut saved = Ok(());
    let mut pause: Option<Deadline> = None;
    let mut newest = 0;
    let mut go_on = |best: &Smallest, is_new: bool| {
        if is_new {
            newest = best.executions;
        }
        let is_fruitless = best.executions - newest >= limits.fruitless.max(newest);
        progress.ran(&|| format!("{} switches", best.cost.switches));
        if is_new && saved.is_ok() && pause.is_none_or(|pause| pause.is_over()) {
            saved = save(&with_origin(file, best.run.clone()));
            pause = Some(Deadline::new(Some(PAUSE)));
        }
        saved.is_ok() && !is_fruitless && !deadline.is_over()
    };
    let budget = Budget { executions: limits.runs, go_on: &mut go_on };
    let smallest = minimize(file, budget, execute);
    saved?;
    Ok(smallest.map(|smallest| with_origin(file, smallest.run)))
}

/// Explains the failing run of `file`, after reducing it unless that was done. No run starts after `time`.
pub fn explain(
    file: &TraceFile,
    effort: Effort,
    time: Duration,
    progress: &dyn Progress,
    execute: &mut dyn Execute,
) -> Option<Explanation> {
    let deadline = Deadline::new(Some(time));
    // A smaller run is explained sooner, but most of the time is for the explanation.
    let limits = Limits { time: AFTER_A_FAILURE.time.min(time / 3), ..AFTER_A_FAILURE };
    let small = match file.minimized {
        Some(_) => None,
        None => {
            let kept: Result<_, std::convert::Infallible> =
                reduce(file, execute, limits, progress, &mut |_| Ok(()));
            let Ok(small) = kept;
            small
        }
    };
    progress.begin(effort.executions);
    let mut go_on = |found: &Explanation| {
        progress.ran(&|| so_far(found));
        !deadline.is_over()
    };
    raddle_explain::explain(small.as_ref().unwrap_or(file), effort, &mut go_on, execute)
}

fn so_far(found: &Explanation) -> String {
    let swaps = format!("{} of {} swaps tried", found.tried, found.candidates);
    match found.swapped.len() {
        0 => swaps,
        1 => format!("{swaps}, one makes it pass"),
        more => format!("{swaps}, {more} together make it pass"),
    }
}

/// Returns the text of a failure file with the user's signature.
pub fn signed(file: &TraceFile) -> String {
    TraceFile { signature: sign(file), ..file.clone() }.to_json()
}

/// Signs a failure file and writes it, atomically: no reader ever sees half of it.
pub fn write(path: &Path, file: &TraceFile) -> std::io::Result<()> {
    replace(path, &signed(file))
}

/// Writes a failure file with the signature that it has, atomically.
pub fn write_as_is(path: &Path, file: &TraceFile) -> std::io::Result<()> {
    replace(path, &file.to_json())
}

/// Replaces the contents of a file, atomically.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // An existing file that is not a regular file, such as a pipe, is not replaced.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, text);
    }
    let mut half = path.as_os_str().to_owned();
    half.push(format!(".{}.part", std::process::id()));
    let written = std::fs::write(&half, text).and_then(|()| std::fs::rename(&half, path));
    if written.is_err() {
        // A partial file on a full disk is useless.
        _ = std::fs::remove_file(&half);
    }
    written
}

/// Returns the origin of the run of a file, without the run.
pub fn origin(file: &TraceFile) -> TraceFile {
    TraceFile {
        id: file.id.clone(),
        program: file.program.clone(),
        arguments: file.arguments.clone(),
        build: file.build.clone(),
        environment: file.environment.clone(),
        signature: None,
        parameters: file.parameters.clone(),
        settings: file.settings,
        strategy: file.strategy.clone(),
        seed: file.seed,
        run: file.run,
        minimized: file.minimized,
        ..TraceFile::new(file.front_end)
    }
}

/// Returns the steps of `run` with the origin of `file`. Statistics of an earlier reduction are kept.
fn with_origin(file: &TraceFile, run: TraceFile) -> TraceFile {
    let mut minimized = run.minimized;
    if let (Some(now), Some(before)) = (&mut minimized, file.minimized) {
        now.executions += before.executions;
        (now.switches_before, now.steps_before) = (before.switches_before, before.steps_before);
    }
    // The creation times of threads are part of the run.
    let is_made = |(name, _): &(String, i64)| name == MADE;
    let kept = file.parameters.iter().filter(|parameter| !is_made(parameter)).cloned();
    TraceFile {
        parameters: kept.chain(run.parameters.into_iter().filter(is_made)).collect(),
        minimized,
        verdict: run.verdict,
        fingerprint: run.fingerprint,
        threads: run.threads,
        objects: run.objects,
        locations: run.locations,
        steps: run.steps,
        picks: run.picks,
        values: run.values,
        ..origin(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::{FrontEnd, Settings};

    fn file(parameters: &[(&str, i64)]) -> TraceFile {
        TraceFile {
            id: "a".into(),
            parameters: parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            settings: Settings { step_limit: 9, ..Settings::default() },
            ..TraceFile::new(FrontEnd::Beam)
        }
    }

    #[test]
    fn creation_times_of_threads_are_those_of_the_smaller_run() {
        let (found, run) = (file(&[("shared", 7), (MADE, 0), (MADE, 5)]), file(&[(MADE, 0), (MADE, 2)]));
        assert_eq!(with_origin(&found, run), file(&[("shared", 7), (MADE, 0), (MADE, 2)]));
    }
}
