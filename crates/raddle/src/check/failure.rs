//! A failed run: as a value, as text and as a file.

use super::ordinal;
use super::panics::Panic;
use super::verdict::Failure;
use raddle_model::TraceFile;
use raddle_report::run_text::{REPORT, RunContext, Terminal, reduction, run, verdict};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

/// A failed run. Its text is the whole report: every step with its source location, the failure, and how to
/// replay it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Failed {
    /// The failure.
    pub failure: Failure,
    /// The run number within [`Failed::strategy`], from 0.
    pub run: u64,
    /// The run number within the check, from 0; `None` for a replay. The same for any number of jobs.
    pub number: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// The strategy that found it.
    pub strategy: String,
    /// The panics of the run, in order, including those that the test caught or ignored.
    pub panics: Vec<Panic>,
    /// The trace of the run.
    pub(crate) trace: TraceFile,
    /// The order of operations that makes the run fail, in sentences, if it was found.
    pub explanation: Option<String>,
    /// The location and cause of the divergence from the recorded run, if this is a replay that continued
    /// after it.
    pub divergence: Option<String>,
    /// The file that holds the trace.
    pub file: FailureFile,
}

/// The location of a recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureFile {
    /// Recorded in this file.
    At(PathBuf),
    /// Not recorded, because no file was requested.
    Unwanted,
    /// Not recorded, because the file could not be written.
    Unwritable(String),
}

impl Failed {
    /// Returns the trace as the text of a failure file.
    pub fn to_json(&self) -> String {
        self.trace.to_json()
    }

    /// Returns the first line of the failure, for a list.
    pub fn headline(&self) -> String {
        verdict(&self.trace).into_iter().next().unwrap_or_default()
    }

    /// Returns the location of the latest operation of a thread, which waits or spins there.
    pub(crate) fn latest_location(&self, thread: &str) -> Option<&str> {
        let number = self.trace.threads.iter().position(|name| name == thread)? as u32;
        let blocked = match self.trace.verdict.failure() {
            Some(raddle_model::Failure::Deadlock { blocked, .. }) => {
                blocked.iter().find(|entry| entry.thread.0 == number).map(|entry| entry.location)
            }
            _ => None,
        };
        let latest = || self.trace.steps.iter().rfind(|step| step.thread == number);
        let location = blocked.or_else(|| latest().map(|step| step.operation.location))?;
        self.trace.locations.get(location.index()).map(String::as_str)
    }

    /// Returns the command that replays the failing schedule, if it was recorded.
    pub fn replay_command(&self) -> Option<String> {
        let FailureFile::At(path) = &self.file else { return None };
        let path = quoted(&path.display().to_string());
        let name = ordinal::test(&self.trace.program);
        let Some(executable) = self.trace.environment.executable.as_ref().filter(|_| name == "main") else {
            return Some(format!(
                "RADDLE_REPLAY={path} cargo test {} -- --exact --include-ignored",
                quoted(name)
            ));
        };
        let words: Vec<String> =
            self.trace.arguments.iter().map(|word| format!(" {}", quoted(word))).collect();
        Some(format!("RADDLE_REPLAY={path} {}{}", quoted(executable), words.concat()))
    }

    /// Records the run in `directory`.
    pub(super) fn write(&mut self, directory: Option<&Path>) {
        self.file = match directory {
            None => FailureFile::Unwanted,
            Some(directory) => {
                self.try_write(directory).map_or_else(FailureFile::Unwritable, FailureFile::At)
            }
        };
    }

    fn try_write(&self, directory: &Path) -> Result<PathBuf, String> {
        let path = directory.join(self.trace.file_name());
        let written = std::path::absolute(path).and_then(|path| {
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            raddle_search::write(&path, &self.trace)?;
            Ok(path)
        });
        written.map_err(|error| format!("{}: {error}", directory.display()))
    }
}

/// Returns `text` as one shell word.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The width of the text in columns.
const WIDTH: usize = 120;

impl std::error::Error for Failed {}

impl Display for Failed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` fails under this schedule:\n", self.trace.program)?;
        let terminal = Terminal { hint: REPORT, ..Terminal::of_width(WIDTH) };
        f.write_str(&run(&self.trace, RunContext::default(), terminal))?;
        let failing = |panic: &Panic| match self.trace.verdict.failure() {
            Some(raddle_model::Failure::Assertion { thread, message, .. }) => {
                panic.thread == thread.0 && panic.message == *message
            }
            _ => false,
        };
        for panic in self.panics.iter().filter(|panic| !failing(panic)) {
            let name = self.trace.threads.get(panic.thread as usize).map_or("an unknown thread", |name| name);
            writeln!(f, "also in this run, {name} panicked at {}: {}", panic.location, panic.message)?;
        }
        write!(f, "\nfound in run {} of {}, seed {}", self.run, self.strategy, self.seed)?;
        match self.number {
            Some(number) if number != self.run => writeln!(f, " (run {number} of the check)")?,
            _ => writeln!(f)?,
        }
        if let Some(reduction) = reduction(&self.trace) {
            writeln!(f, "{reduction}")?;
        }
        if let Some(divergence) = &self.divergence {
            return write!(
                f,
                "this was a replay; it diverged from the recorded run {divergence}\nand followed it as far as possible"
            );
        }
        match (&self.file, self.replay_command()) {
            (_, Some(command)) => write!(f, "replay: {command}"),
            (FailureFile::Unwritable(why), _) => write!(f, "the failure could not be recorded: {why}"),
            _ => write!(f, "not recorded: no directory for failures is set\nhelp: set `Config::failures`"),
        }
    }
}
