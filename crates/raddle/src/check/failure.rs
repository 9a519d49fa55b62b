//! A run that failed: as a value, as a text and as a file.

use super::ordinal;
use super::panics::Panic;
use super::verdict::Failure;
use raddle_model::TraceFile;
use raddle_report::run_text::{RunContext, Terminal, reduction, run, verdict};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

/// A run that failed. Its text is the whole report: every step with its place in the code, what was wrong, and how to
/// run it again.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Failed {
    /// What was wrong.
    pub failure: Failure,
    /// Which run of [`Failed::strategy`] it was, from 0.
    pub run: u64,
    /// Which run of the check it was, from 0; none for a replay. The same for any number of jobs.
    pub number: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// The strategy that found it.
    pub strategy: String,
    /// The panics of the run, in order, with those that the test caught or never looked at.
    pub panics: Vec<Panic>,
    /// Everything that happened.
    pub(crate) trace: TraceFile,
    /// Which two operations have to be swapped for the run to pass, if a pair was looked for and found.
    pub explanation: Option<String>,
    /// Where and why the run left the recorded one, if it is a replay that went on from there.
    pub left: Option<String>,
    /// The file that holds the trace.
    pub file: FailureFile,
}

/// Where a failing run was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureFile {
    /// In this file.
    At(PathBuf),
    /// Nowhere, because no file was wanted.
    Unwanted,
    /// Nowhere, because the file could not be written.
    Unwritable(String),
}

impl Failed {
    /// Returns everything that happened, as the text of a failure file.
    pub fn to_json(&self) -> String {
        self.trace.to_json()
    }

    /// The first line of the failure, for a list.
    pub fn headline(&self) -> String {
        verdict(&self.trace).into_iter().next().unwrap_or_default()
    }

    /// The command that runs the failing schedule again, if it was recorded.
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

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The columns of the text.
const WIDTH: usize = 120;

impl std::error::Error for Failed {}

impl Display for Failed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` fails under this schedule:\n", self.trace.program)?;
        f.write_str(&run(&self.trace, RunContext::default(), Terminal::of_width(WIDTH)))?;
        let failing = |panic: &Panic| match self.trace.verdict.failure() {
            Some(raddle_model::Failure::Assertion { thread, message, .. }) => {
                panic.thread == thread.0 && panic.message == *message
            }
            _ => false,
        };
        for panic in self.panics.iter().filter(|panic| !failing(panic)) {
            let name = self.trace.threads.get(panic.thread as usize).map_or("an unknown thread", |name| name);
            writeln!(f, "also in this run, {name} panicked at {}: {}", panic.place, panic.message)?;
        }
        if let Some(explanation) = &self.explanation {
            writeln!(f, "\n{explanation}")?;
        }
        write!(f, "\nfound in run {} of {}, seed {}", self.run, self.strategy, self.seed)?;
        match self.number {
            Some(number) if number != self.run => writeln!(f, " (run {number} of the check)")?,
            _ => writeln!(f)?,
        }
        if let Some(reduction) = reduction(&self.trace) {
            writeln!(f, "{reduction}")?;
        }
        if let Some(left) = &self.left {
            return write!(
                f,
                "this was a replay; it left the recorded run {left}\nand followed it as far as possible"
            );
        }
        match (&self.file, self.replay_command()) {
            (_, Some(command)) => write!(f, "replay it: {command}"),
            (FailureFile::Unwritable(why), _) => write!(f, "it could not be recorded: {why}"),
            _ => write!(f, "it was not recorded: the settings name no directory for failures"),
        }
    }
}
