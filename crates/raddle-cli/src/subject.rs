//! The program of a failing run, restarted for more runs: the interface of a front end for replay, minimize,
//! explain and report.

use crate::progress::Waiting;
use anyhow::{Context, Result};
use raddle_explain::{Effort, Execute, Explanation, MOST_AUTOMATIC_STEPS};
use raddle_model::TraceFile;
use raddle_search::{AFTER_A_FAILURE, Deadline, Limits};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The paths of the source files in locations.
pub(crate) use raddle_symbols::runs::Sources;

/// The data of a run that only the running program has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    /// Its output.
    pub(crate) printed: String,
    /// For each step, the user's line that caused a library operation; see
    /// [`raddle_model::native::RunResult::callers`].
    pub(crate) callers: Vec<String>,
}

/// A replay of a recorded run.
pub(crate) struct Repeated {
    /// The run, with named locations and values.
    pub(crate) run: TraceFile,
    pub(crate) output: Output,
    /// The divergence from the recorded run, if any: the step, from 0, and the difference.
    pub(crate) divergence: Option<(usize, String)>,
}

/// Names the locations and objects of a run, and returns the paths of its sources.
pub(crate) type Namer = Box<dyn FnMut(&mut TraceFile) -> Sources>;

/// The program of a failure file, ready to execute runs.
pub(crate) trait Subject: Execute {
    /// Repeats the run of `file`.
    fn replay(&mut self, file: &TraceFile) -> Result<Repeated>;

    /// Follows the run of `file` as far as the program still behaves the same.
    fn resemble(&mut self, file: &TraceFile) -> Result<Repeated>;

    /// Returns the namer of its runs.
    fn namer(&self) -> Namer {
        Box::new(|_| Sources::new())
    }

    /// Repeats `run`, one of its own, to record the values of its steps, and the output of the program.
    fn observe(&mut self, run: &mut TraceFile) -> Output;

    /// Sets the deadline after which it waits for no run.
    fn limit(&mut self, _deadline: Deadline) {}

    /// Returns the reason why it executes no more runs, if any.
    fn why_silent(&mut self) -> Option<anyhow::Error> {
        None
    }
}

/// The time for the last run after the deadline of a minimization or explanation, and for showing the result.
const GRACE: Duration = Duration::from_millis(400);

/// A recorded failing run.
pub(crate) struct Kept {
    /// The run, minimized if possible.
    pub(crate) file: TraceFile,
    pub(crate) output: Output,
    /// The path it was written to.
    pub(crate) path: Option<PathBuf>,
    /// The reason why it was not written.
    pub(crate) not_kept: Option<String>,
}

/// The way a failing run is recorded.
pub(crate) struct Keep<'a> {
    /// The path; if it is a folder, or `None` for the current one, a file named after its id there.
    pub(crate) path: Option<&'a Path>,
    /// True to minimize it.
    pub(crate) minimize: bool,
    /// Names its locations.
    pub(crate) namer: Namer,
    /// Restarts its program.
    pub(crate) open: &'a dyn Fn(&TraceFile) -> Result<Box<dyn Subject>>,
}

impl Keep<'_> {
    /// Writes a run as it was found, then minimizes it there. If its program cannot be restarted, the first
    /// version remains.
    pub(crate) fn keep(mut self, raw: TraceFile, output: Output) -> Kept {
        let mut file = raw.clone();
        (self.namer)(&mut file);
        file.id = file.short_id();
        let raw = TraceFile { id: file.id.clone(), ..raw };
        let path = record_path(self.path, &file);
        if let Err(error) = write(&path, &file) {
            return Kept { file, output, path: None, not_kept: Some(format!("{error:#}")) };
        }
        let mut kept = Kept { file, output, path: Some(path.clone()), not_kept: None };
        if raw.steps.len() > MOST_AUTOMATIC_STEPS {
            return kept;
        }
        let Ok(mut subject) = (self.open)(&raw) else { return kept };
        if self.minimize
            && let Ok(Some((small, output))) =
                minimize(&mut *subject, &raw, "the failing run", AFTER_A_FAILURE, &path)
        {
            return Kept { file: small, output, ..kept };
        }
        subject.limit(Deadline::new(Some(AFTER_A_FAILURE.time)));
        if let Ok(Repeated { run, divergence: None, .. }) = subject.replay(&raw) {
            kept.file.values = run.values;
            // The file already exists, without them.
            _ = write(&path, &kept.file);
        }
        kept
    }
}

/// Returns the path for the run of `file`: `path`, or a file named after its id in that folder, or in the
/// current one.
pub(crate) fn record_path(path: Option<&Path>, file: &TraceFile) -> PathBuf {
    match path {
        Some(folder) if folder.is_dir() => folder.join(file.file_name()),
        Some(path) => path.to_owned(),
        None => PathBuf::from(file.file_name()),
    }
}

/// Writes a failure file.
pub(crate) fn write(path: &Path, file: &TraceFile) -> Result<()> {
    raddle_search::write(path, file)
        .with_context(|| format!("cannot write the failing run to {}", path.display()))
}

/// Searches for a smaller run than that of `file`, called `shown` in messages. Every smaller one is written
/// to `path`, as it may be the last. Returns `None` if the failure does not reproduce.
pub(crate) fn minimize(
    subject: &mut dyn Subject,
    file: &TraceFile,
    shown: &str,
    limits: Limits,
    path: &Path,
) -> Result<Option<(TraceFile, Output)>> {
    subject.limit(Deadline::new(Some(limits.time + GRACE)));
    let mut name = subject.namer();
    let mut save = |small: &TraceFile| {
        let mut named = small.clone();
        name(&mut named);
        write(path, &named)
    };
    let small = raddle_search::reduce(file, subject, limits, &Waiting::default(), &mut save)?;
    subject.limit(Deadline::new(Some(GRACE)));
    let Some(mut small) = small else { return silence(subject, shown) };
    let output = subject.observe(&mut small);
    name(&mut small);
    write(path, &small)?;
    Ok(Some((small, output)))
}

/// Explains the failing run of `file`, which is minimized first unless it already is. No run starts after
/// `time`. Returns `None` if the failure does not reproduce.
pub(crate) fn explain(
    subject: &mut dyn Subject,
    file: &TraceFile,
    shown: &str,
    effort: Effort,
    time: Duration,
) -> Result<Option<(Explanation, Sources)>> {
    subject.limit(Deadline::new(Some(time + GRACE)));
    let found = raddle_search::explain(file, effort, time, &Waiting::default(), subject);
    let Some(mut found) = found else { return silence(subject, shown) };
    subject.limit(Deadline::new(Some(GRACE)));
    let (mut sources, mut name) = (Sources::new(), subject.namer());
    for run in found.passing.iter_mut().chain(found.run.as_mut()) {
        subject.observe(run);
        run.environment = file.environment.clone();
        sources.extend(name(run));
    }
    Ok(Some((found, sources)))
}

/// Returns `None`, or the reason why a program executed no run.
fn silence<T>(subject: &mut dyn Subject, shown: &str) -> Result<Option<T>> {
    match subject.why_silent() {
        Some(why) => Err(why.context(format!("{shown}: no run was made"))),
        None => Ok(None),
    }
}
