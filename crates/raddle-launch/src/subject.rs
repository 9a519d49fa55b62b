//! The program of a failing run, restarted for more runs: the interface of a front end for replay, minimize,
//! explain and report.

use anyhow::{Context, Result};
use raddle_explain::{Effort, Execute, Explanation, MOST_AUTOMATIC_STEPS};
use raddle_model::{Reason, TraceFile};
use raddle_search::{AFTER_A_FAILURE, Deadline, Limits, Progress};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The paths of the source files in locations.
pub use raddle_symbols::runs::Sources;

/// The data of a run that only the running program has.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Its output.
    pub printed: String,
    /// For each step, the user's line that caused a library operation; see
    /// [`raddle_model::native::RunResult::callers`].
    pub callers: Vec<String>,
}

/// A replay of a recorded run.
pub struct Repeated {
    /// The run, with named locations and values.
    pub run: TraceFile,
    /// The data that only the program has.
    pub output: Output,
    /// The divergence from the recorded run, if any: the step, from 0, and the difference.
    pub divergence: Option<(usize, String)>,
}

/// Names the locations and objects of a run, and returns the paths of its sources.
pub type Namer = Box<dyn FnMut(&mut TraceFile) -> Sources>;

/// The program of a failure file, ready to execute runs.
pub trait Subject: Execute {
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
pub struct Kept {
    /// The run, minimized if possible.
    pub file: TraceFile,
    /// The data that only the program has.
    pub output: Output,
    /// The path it was written to.
    pub path: Option<PathBuf>,
    /// The reason why it was not written, or not to the requested path.
    pub not_kept: Option<String>,
}

/// The way a failing run is recorded.
pub struct Keep<'a> {
    /// The path; if it is a folder, or `None` for the current one, a file named after its id there.
    pub path: Option<&'a Path>,
    /// True to minimize it.
    pub minimize: bool,
    /// True if it is explained.
    pub explain: bool,
    /// Names its locations.
    pub namer: Namer,
    /// Restarts its program.
    pub open: &'a dyn Fn(&TraceFile) -> Result<Box<dyn Subject>>,
    /// Displays the progress of the minimization.
    pub progress: &'a dyn Progress,
}

impl Keep<'_> {
    /// Writes a run as it was found, then minimizes it there. If its program cannot be restarted, the first
    /// version remains.
    pub fn keep(self, raw: TraceFile, output: Output) -> Kept {
        let mut subject = (self.open)(&raw).ok();
        // What has read the symbols once need not read them again.
        let mut name = subject.as_ref().map_or(self.namer, |subject| subject.namer());
        let mut file = raw.clone();
        name(&mut file);
        file.id = file.short_id();
        let raw = TraceFile { id: file.id.clone(), ..raw };
        let (path, not_kept) = store(record_path(self.path, &file), &file);
        file.details.set_callers(&output.callers);
        let mut kept = Kept { file, output, path, not_kept };
        if raw.steps.len() > MOST_AUTOMATIC_STEPS {
            return kept;
        }
        let Some(subject) = &mut subject else { return kept };
        let small = if self.minimize {
            let (path, limits) = (kept.path.as_deref(), Limits::after_a_failure(raw.steps.len()));
            minimize(&mut **subject, &raw, "the failing run", limits, path, self.progress).ok().flatten()
        } else {
            None
        };
        match small {
            Some((small, output)) => (kept.file, kept.output) = (small, output),
            None => {
                let mut run = raw;
                subject.limit(Deadline::new(Some(AFTER_A_FAILURE.time)));
                let output = subject.observe(&mut run);
                name(&mut run);
                run.details.set_callers_if_none(&output.callers);
                kept.file = run;
            }
        }
        if self.explain {
            kept.file.details.reason = reason(&mut **subject, &kept.file);
        }
        // The file is there already, without that.
        _ = kept.path.as_deref().map(|path| write(path, &kept.file));
        kept
    }
}

/// Writes a failing run to `path`, or else to the current folder or that of temporary files: the failure may be rare. Returns the
/// path, and why it is another one.
fn store(path: PathBuf, file: &TraceFile) -> (Option<PathBuf>, Option<String>) {
    let Err(error) = write(&path, file) else { return (Some(path), None) };
    let others = [PathBuf::from(file.file_name()), std::env::temp_dir().join(file.file_name())];
    match others.into_iter().find(|other| *other != path && write(other, file).is_ok()) {
        Some(other) => {
            let why = format!("{error:#}; it is in {}", other.display());
            (Some(other), Some(why))
        }
        None => (None, Some(format!("{error:#}; the same command with --record FILE writes it elsewhere"))),
    }
}

/// Explains the failing run of `file` with the effort that is due while a person waits for the report.
pub fn reason(subject: &mut dyn Subject, file: &TraceFile) -> Option<Reason> {
    /// A net for programs whose runs take long without steps; everything else is bounded by runs.
    const TIME: Duration = Duration::from_secs(10);
    let deadline = Deadline::new(Some(TIME));
    subject.limit(deadline);
    let effort = Effort::after_a_failure(file.steps.len());
    let found = raddle_explain::explain(file, effort, &mut |_| !deadline.is_over(), subject)?;
    let mut run = found.run.clone().filter(|run| run.steps == file.steps)?;
    run.environment = file.environment.clone();
    subject.namer()(&mut run);
    run.values = file.values.clone();
    run.details.callers = file.details.callers.clone();
    // Objects that only other runs have touched come after those of this run.
    for (name, known) in run.objects.iter_mut().zip(&file.objects) {
        name.clone_from(known);
    }
    raddle_explain::reason(&run, &found)
}

/// Returns the path for the run of `file`: `path`, or a file named after its id in that folder, or in the
/// current one.
pub fn record_path(path: Option<&Path>, file: &TraceFile) -> PathBuf {
    match path {
        Some(folder) if folder.is_dir() => folder.join(file.file_name()),
        Some(path) => path.to_owned(),
        None => PathBuf::from(file.file_name()),
    }
}

/// Writes a failure file.
pub fn write(path: &Path, file: &TraceFile) -> Result<()> {
    raddle_search::write(path, file)
        .with_context(|| format!("cannot write the failing run to {}", path.display()))
}

/// Searches for a smaller run than that of `file`, called `shown` in messages. Smaller ones are written to `path`, as any may be the
/// last. Returns `None` if the failure does not reproduce.
pub fn minimize(
    subject: &mut dyn Subject,
    file: &TraceFile,
    shown: &str,
    limits: Limits,
    path: Option<&Path>,
    progress: &dyn Progress,
) -> Result<Option<(TraceFile, Output)>> {
    subject.limit(Deadline::new(Some(limits.time + GRACE)));
    let mut name = subject.namer();
    let mut save = |small: &TraceFile| {
        let mut named = small.clone();
        name(&mut named);
        path.map_or(Ok(()), |path| write(path, &named))
    };
    let small = raddle_search::reduce(file, subject, limits, progress, &mut save)?;
    subject.limit(Deadline::new(Some(GRACE)));
    let Some(mut small) = small else { return silence(subject, shown) };
    let output = subject.observe(&mut small);
    name(&mut small);
    small.details.set_callers_if_none(&output.callers);
    path.map_or(Ok(()), |path| write(path, &small))?;
    Ok(Some((small, output)))
}

/// Explains the failing run of `file`, which is minimized first unless it already is. No run starts after
/// `time`. Returns `None` if the failure does not reproduce.
pub fn explain(
    subject: &mut dyn Subject,
    file: &TraceFile,
    shown: &str,
    effort: Effort,
    time: Duration,
    progress: &dyn Progress,
) -> Result<Option<(Explanation, Sources)>> {
    subject.limit(Deadline::new(Some(time + GRACE)));
    let found = raddle_search::explain(file, effort, time, progress, subject);
    let Some(mut found) = found else { return silence(subject, shown) };
    subject.limit(Deadline::new(Some(GRACE)));
    let (mut sources, mut name) = (Sources::new(), subject.namer());
    for run in found.passing.iter_mut().chain(found.run.as_mut()) {
        let output = subject.observe(run);
        run.details.set_callers_if_none(&output.callers);
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
