//! `raddle run --baseline`: the program as it is, again and again, for comparison. Nothing is under control, so that a run
//! can neither be named nor repeated.

use super::launch::{Temporary, preload};
use crate::args::{BaselineArg, NativeArgs, cores};
use crate::progress::Progress;
use anyhow::{Context, Result};
use raddle_model::native::DELAY;
use raddle_report::shape::NativeRun;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long to wait before looking again whether a run has ended.
const MOMENT: Duration = Duration::from_micros(200);

#[derive(Default)]
struct Tally {
    runs: u64,
    kinds: BTreeMap<String, u64>,
    first: Option<(u64, String)>,
}

/// Runs the program without control.
#[expect(clippy::disallowed_methods, reason = "nothing here is repeatable anyway")]
pub(super) fn run(args: &NativeArgs, kind: BaselineArg, words: &[String]) -> Result<NativeRun> {
    let library = (kind == BaselineArg::Delay).then(Temporary::library).transpose()?;
    let progress = Progress::new(args.runs);
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let begun = Instant::now();
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = args.time.is_some_and(|time| begun.elapsed() >= time);
            if late || number >= args.runs {
                return Ok(());
            }
            let failed = once(args, library.as_ref(), words, number)?;
            let mut tally = tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            tally.runs += 1;
            progress.add(1);
            let Some(failed) = failed else { continue };
            *tally.kinds.entry(failed.clone()).or_default() += 1;
            if tally.first.as_ref().is_none_or(|(first, _)| number < *first) {
                tally.first = Some((number, failed));
            }
            if !args.keep_going {
                next.store(args.runs, Ordering::Relaxed);
            }
        }
    };
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores(args.jobs)).map(|_| scope.spawn(work)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            worker.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        };
        workers.into_iter().map(join).collect()
    });
    outcomes.into_iter().collect::<Result<()>>()?;
    let tally = tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let failures = tally.kinds.values().sum();
    Ok(NativeRun {
        verdict: if failures > 0 { "failed" } else { "passed" }.to_owned(),
        kind: tally.first.as_ref().map(|(_, kind)| kind.clone()),
        runs: tally.runs,
        failures,
        kinds: tally.kinds,
        first_failure: tally.first.map(|(number, _)| number),
        strategy: if kind == BaselineArg::Delay {
            "random delays, uncontrolled"
        } else {
            "stress, uncontrolled"
        }
        .to_owned(),
        seed: args.seed,
        ..NativeRun::default()
    })
}

/// One run; tells how it failed, if it did.
fn once(
    args: &NativeArgs,
    library: Option<&Temporary>,
    words: &[String],
    number: u64,
) -> Result<Option<String>> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if let Some(library) = library {
        let seed = args.seed.wrapping_mul(0x0001_0000_0000).wrapping_add(number);
        command.env("LD_PRELOAD", preload(library.path().as_os_str()).0).env(DELAY, seed.to_string());
    }
    let mut complaints =
        tempfile::tempfile().context("cannot make a file for what the program complains of")?;
    let stderr = complaints.try_clone().context("cannot share a file")?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", words[0]))?;
    let Some(status) = wait(&mut child, args.run_time)? else { return Ok(Some("hang".to_owned())) };
    let mut text = Vec::new();
    complaints
        .rewind()
        .and_then(|()| complaints.read_to_end(&mut text))
        .context("cannot read a file back")?;
    Ok(kind(status, &String::from_utf8_lossy(&text), args.fail_on_exit))
}

/// Waits for the end of a run, but no longer than `most`.
#[expect(clippy::disallowed_methods, reason = "a program that hangs is not waited for")]
fn wait(child: &mut std::process::Child, most: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the program")? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= most {
            // It may have ended just now.
            _ = child.kill();
            child.wait().context("cannot wait for the program")?;
            return Ok(None);
        }
        std::thread::sleep(MOMENT);
    }
}

/// The kind of failure that an end is, by the names of controlled runs.
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
