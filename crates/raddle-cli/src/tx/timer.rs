//! The time that a program takes with the transactions of a plan, and without.

use super::library::Library;
use super::plan::Plan;
use anyhow::{Context, Result, ensure};
use raddle_cc::enforce_from_environment;
use raddle_search::is_interrupted;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The end of a program is noticed this part of its time late, at most.
const POLLS: u32 = 100;
/// The longest pause before the next look.
const MOMENT: Duration = Duration::from_millis(1);

/// A program that enforces the plan that it reads.
pub(super) struct Timer<'a> {
    library: &'a Library,
    arguments: Vec<String>,
    rounds: u64,
    program: PathBuf,
    marks: PathBuf,
    /// Holds the two files.
    _folder: tempfile::TempDir,
}

impl<'a> Timer<'a> {
    pub(super) fn new(library: &'a Library, timed: Option<&str>, rounds: u64) -> Result<Timer<'a>> {
        let arguments = match timed {
            Some(text) => shlex::split(text).context("--timed: a quote is not closed")?,
            None => library.words[1..].to_vec(),
        };
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let (program, marks) = (folder.path().join("program"), folder.path().join("marks"));
        enforce_from_environment(Path::new(&library.words[0]), &program)?;
        Ok(Timer { library, arguments, rounds, program, marks, _folder: folder })
    }

    /// Returns the shortest time of the program without transactions.
    pub(super) fn plain(&self) -> Result<Duration> {
        self.shortest(Path::new(&self.library.words[0]))
    }

    /// Returns the shortest time of the program with the transactions of a plan.
    pub(super) fn with(&self, plan: &Plan) -> Result<Duration> {
        std::fs::write(&self.marks, plan.marks(self.library).lines())
            .context("cannot write a temporary file")?;
        self.shortest(&self.program)
    }

    #[expect(clippy::disallowed_methods, reason = "it measures time")]
    fn shortest(&self, program: &Path) -> Result<Duration> {
        let mut shortest = Duration::MAX;
        for _ in 0..self.rounds {
            let mut command = Command::new(program);
            command.args(&self.arguments).env(raddle_cc::MARKS, &self.marks);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let begun = Instant::now();
            let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
            let status = loop {
                if let Some(status) = child.try_wait().context("cannot wait for the program")? {
                    break status;
                }
                let spent = begun.elapsed();
                if spent >= self.library.run_time || is_interrupted() {
                    // It may have ended just now.
                    _ = child.kill();
                    break child.wait().context("cannot wait for the program")?;
                }
                // A short program ends within microseconds.
                std::thread::sleep((spent / POLLS).min(MOMENT));
            };
            shortest = shortest.min(begun.elapsed());
            ensure!(
                status.success(),
                "{} {}: it ended with {status} while it was timed\nhelp: --timed gives it other arguments",
                self.library.words[0],
                self.arguments.join(" ")
            );
        }
        Ok(shortest)
    }
}
