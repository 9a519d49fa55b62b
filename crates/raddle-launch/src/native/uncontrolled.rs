//! The unmodified program, repeatedly, for comparison. Nothing is under control, so a run can neither be
//! identified nor replayed.

use super::launch::{library, preload};
use crate::temporary::Temporary;
use anyhow::{Context, Error, Result};
use raddle_model::native::DELAY;
use raddle_search::{
    Budget, Details, FinishedRun, Lanes, Outcome, Portfolio, Request, Run, Search, Seen, Target, Worker,
    is_interrupted, search,
};
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The interval at which the end of a run is polled.
const MOMENT: Duration = Duration::from_micros(200);

/// A program without control. The strategy of its search has no effect.
pub struct Uncontrolled<'a> {
    words: &'a [String],
    seed: u64,
    /// A run that takes longer hangs.
    run_time: Duration,
    fail_on_exit: bool,
    /// The library for random delays, if requested.
    library: Option<Temporary>,
}

impl<'a> Uncontrolled<'a> {
    /// Creates a target whose runs take at most `run_time`.
    pub fn new(words: &'a [String], seed: u64, run_time: Duration, fail_on_exit: bool) -> Uncontrolled<'a> {
        Uncontrolled { words, seed, run_time, fail_on_exit, library: None }
    }

    /// Adds random delays before operations of threads.
    pub fn with_delays(self) -> Result<Uncontrolled<'a>> {
        Ok(Uncontrolled { library: Some(library()?), ..self })
    }

    /// Executes runs. A failure is known by its kind only.
    pub fn search(
        &self,
        budget: Budget,
        jobs: usize,
        watch: &(dyn Fn(Seen<'_>) + Sync),
    ) -> Result<Outcome<String, Error>> {
        // A strategy is required for the turns; it has no effect here.
        let lanes = Lanes::parse("random-walk", Portfolio::Programs)?;
        search(
            &Started(self),
            &Search { lanes: &lanes, budget, jobs, part: None, known: None, watch, every: 1 },
        )
    }
}

/// Starts its processes.
struct Started<'a>(&'a Uncontrolled<'a>);

impl<'a> Target for Started<'a> {
    type Worker = Process<'a>;

    fn start(&self, _job: usize) -> Result<Process<'a>> {
        let preloaded = self.0.library.as_ref().map(|library| preload(library.path().as_os_str()).0);
        Ok(Process { target: self.0, preloaded, requested: None })
    }
}

/// Starts a process for each run.
struct Process<'a> {
    target: &'a Uncontrolled<'a>,
    preloaded: Option<OsString>,
    requested: Option<u64>,
}

impl Worker for Process<'_> {
    /// The kind of failure.
    type Failure = String;
    type Error = anyhow::Error;
    const IS_REMOTE: bool = false;

    fn request(&mut self, requests: &[Request]) -> Result<()> {
        self.requested = requests.first().map(|request| request.turn.number);
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<FinishedRun<String>>> {
        let Some(number) = self.requested.take() else { return Ok(None) };
        let failure = self.once(number)?;
        let details =
            failure.clone().map(|kind| Box::new(Details { kind: Some(kind), ..Details::default() }));
        Ok(Some(FinishedRun { run: Run { details, ..Run::default() }, failure }))
    }
}

impl Process<'_> {
    /// Executes one run. Returns the kind of failure, if it failed.
    fn once(&self, number: u64) -> Result<Option<String>> {
        let Uncontrolled { words, seed, run_time, fail_on_exit, .. } = *self.target;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).process_group(0);
        if let Some(preloaded) = &self.preloaded {
            let seed = seed.wrapping_mul(0x0001_0000_0000).wrapping_add(number);
            command.env("LD_PRELOAD", preloaded).env(DELAY, seed.to_string());
        }
        let mut complaints =
            tempfile::tempfile().context("cannot make a file for what the program complains of")?;
        let stderr = complaints.try_clone().context("cannot share a file")?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", words[0]))?;
        let Some(status) = wait(&mut child, run_time)? else {
            // A run that an interrupt ends does not hang.
            return Ok((!is_interrupted()).then(|| "hang".to_owned()));
        };
        let mut text = Vec::new();
        complaints
            .rewind()
            .and_then(|()| complaints.read_to_end(&mut text))
            .context("cannot read a file back")?;
        Ok(kind(status, &String::from_utf8_lossy(&text), fail_on_exit))
    }
}

/// Waits for the end of a run, at most for `most`.
#[expect(clippy::disallowed_methods, reason = "a program that hangs is not waited for")]
fn wait(child: &mut std::process::Child, most: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the program")? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= most || is_interrupted() {
            // It may have ended just now.
            _ = child.kill();
            child.wait().context("cannot wait for the program")?;
            return Ok(None);
        }
        std::thread::sleep(MOMENT);
    }
}

/// Returns the kind of failure of an exit status, with the names of controlled runs.
fn kind(status: ExitStatus, complaints: &str, fail_on_exit: bool) -> Option<String> {
    const SIGABRT: i32 = 6;
    if fail_on_exit && status.code().is_some_and(|code| code != 0) {
        return Some("exit".to_owned());
    }
    match status.signal()? {
        SIGABRT if complaints.contains("Assertion") => Some("assertion".to_owned()),
        _ => Some("signal".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        let kind = |status, complaints, strict| kind(ExitStatus::from_raw(status), complaints, strict);
        assert_eq!(kind(0, "", true), None);
        assert_eq!(kind(3 << 8, "Assertion", false), None, "a status is no failure");
        assert_eq!(kind(3 << 8, "Assertion", true).as_deref(), Some("exit"));
        assert_eq!(kind(6, "a.c:3: main: Assertion `x' failed.", true).as_deref(), Some("assertion"));
        assert_eq!(kind(6, "", false).as_deref(), Some("signal"));
        assert_eq!(kind(11, "", false).as_deref(), Some("signal"));
    }
}
