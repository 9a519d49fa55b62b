//! `raddle replay` of several files: recorded failures as a regression suite.

use crate::args::ReplayArgs;
use crate::ci::Reports;
use crate::interrupt::interrupted;
use crate::native;
use crate::outcome::{Outcome, described, emit};
use crate::trust::recorded;
use anyhow::{Context, Result, ensure};
use raddle_launch::{Repeated, divergence, open};
use raddle_model::native::Threads;
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, EXIT_USAGE, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, CargoTest, SuiteFile, SuiteStatus, TestStatus};
use raddle_report::text::plural;
use std::fmt::Write;
use std::path::Path;

/// Replays each file, following its schedule as far as possible.
pub(crate) fn run(args: &ReplayArgs, files: &[String]) -> Result<Outcome> {
    let mut reports = Reports::open(&args.ci)?;
    let mut counts = [0_u64; 4];
    for file in files {
        let (entry, failing) = match replayed(args, file) {
            Ok(replayed) => replayed,
            Err(error) => (SuiteFile::new(file, SuiteStatus::Error, described(&error)), None),
        };
        if interrupted().is_some() {
            break;
        }
        counts[entry.status as usize] += 1;
        emit(&if args.json { shape::line(&entry) } else { line(&entry) })?;
        reports.add(test(&entry), failing.as_ref());
    }
    reports.write(true)?;
    let [fixed, failing, changed, errors] = counts;
    let status = match () {
        () if failing + changed > 0 => EXIT_BUG_FOUND,
        () if errors > 0 => EXIT_USAGE,
        () => EXIT_NOTHING_FOUND,
    };
    let mut text = String::new();
    if !args.json {
        let mut parts = Vec::new();
        for (count, word) in
            [(fixed, "fixed"), (failing, "failing"), (changed, "changed"), (errors, "not replayed")]
        {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        let done = counts.iter().sum();
        let _ = writeln!(text, "{:>12} {}: {}", "Summary", plural(done, "failure"), parts.join(", "));
    }
    Ok(Outcome { text, status })
}

/// Returns the files and the contents of the folders, sorted by name.
pub(crate) fn files(named: &[String]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for name in named {
        if !Path::new(name).is_dir() {
            files.push(name.clone());
            continue;
        }
        let listed = std::fs::read_dir(name).with_context(|| format!("cannot read {name}"))?;
        let paths = listed.flatten().map(|entry| entry.path());
        let json = paths.filter(|path| path.is_file() && path.extension().is_some_and(|end| end == "json"));
        let mut inside: Vec<String> = json.filter_map(|path| path.to_str().map(str::to_owned)).collect();
        ensure!(!inside.is_empty(), "{name}: no failure file (.json) is in this folder");
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

/// Replays one file. Returns the result, and the run if it fails.
fn replayed(args: &ReplayArgs, name: &str) -> Result<(SuiteFile, Option<TraceFile>)> {
    check(recorded(name, &args.open)?, name, native::threads(args.threads))
}

/// Replays the run of `file`, called `name`. Returns the result, and the run if it fails.
pub(crate) fn check(file: TraceFile, name: &str, threads: Threads) -> Result<(SuiteFile, Option<TraceFile>)> {
    let mut subject = open(&file, name, threads)?;
    let exact = subject.replay(&file)?;
    let end = |run: &TraceFile| run.verdict.failure().map(|failure| failure.kind());
    let Some(left) = divergence(&file, &exact) else {
        let message = verdict(&file).join("\n");
        let status = if end(&file).is_some() { SuiteStatus::Failing } else { SuiteStatus::Fixed };
        // Code above may have moved the lines.
        let Repeated { run, .. } = exact;
        let TraceFile { verdict, threads, objects, locations, steps, .. } = run;
        let now = TraceFile { verdict, threads, objects, locations, steps, ..file };
        return Ok((SuiteFile::new(name, status, message), end(&now).is_some().then_some(now)));
    };
    let again = subject.resemble(&file)?.run;
    let at = left.step.map_or_else(
        || "its end differs from the recorded one".to_owned(),
        |step| format!("it leaves the recorded run at step {} of {}", step + 1, file.steps.len()),
    );
    let (status, message) = match (end(&file), end(&again)) {
        (_, None) => (SuiteStatus::Fixed, format!("passes; {at}")),
        (was, is) if was == is => (SuiteStatus::Failing, verdict(&again).join("\n")),
        _ => (
            SuiteStatus::Changed,
            format!("{}\n{at}; recorded: {}", verdict(&again).join("\n"), verdict(&file).join("\n")),
        ),
    };
    let failing = end(&again).is_some().then(|| TraceFile { program: file.program.clone(), ..again });
    Ok((SuiteFile::new(name, status, message), failing))
}

fn line(entry: &SuiteFile) -> String {
    let word = match entry.status {
        SuiteStatus::Fixed => "FIXED",
        SuiteStatus::Failing => "FAILING",
        SuiteStatus::Changed => "CHANGED",
        SuiteStatus::Error => "ERROR",
    };
    let mut out = format!("{word:>12} {}\n", entry.file);
    for line in entry.message.lines() {
        let _ = writeln!(out, "{:12} {line}", "");
    }
    out
}

fn test(entry: &SuiteFile) -> CargoTest {
    let failed = matches!(entry.status, SuiteStatus::Failing | SuiteStatus::Changed);
    let message = Some(entry.message.clone());
    CargoTest {
        binary: "raddle replay".to_owned(),
        test: entry.file.clone(),
        status: match entry.status {
            SuiteStatus::Fixed => TestStatus::Passed,
            SuiteStatus::Failing | SuiteStatus::Changed => TestStatus::Failed,
            SuiteStatus::Error => TestStatus::NotControllable,
        },
        kind: failed.then(|| entry.status.word().to_owned()),
        reason: message.clone(),
        message,
        failure_file: Some(entry.file.clone()),
        replay: failed.then(|| format!("raddle replay --tolerant {}", entry.file)),
        ..CargoTest::default()
    }
}
