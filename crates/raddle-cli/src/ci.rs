//! Reports for continuous integration: JUnit XML, SARIF and GitHub annotations.

use crate::args::CiArgs;
use crate::terminal::printable;
use anyhow::{Context, Result};
use raddle_model::{FrontEnd, TraceFile};
use raddle_report::FailureReport;
use raddle_report::format::{github, junit_tests, sarif_all};
use raddle_report::shape::{CargoTest, NativeRun, TestStatus};
use raddle_symbols::Symbols;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The results of a command, and the files they are written to. Files are opened before the work starts.
pub(crate) struct Reports {
    junit: Option<Report>,
    sarif: Option<Report>,
    annotates: bool,
    tests: Vec<CargoTest>,
    failures: Vec<FailureReport>,
}

/// A report file. It keeps its contents until the report is written.
struct Report {
    path: PathBuf,
    file: File,
}

impl Reports {
    /// Opens the files, and creates their folders.
    pub(crate) fn open(args: &CiArgs) -> Result<Reports> {
        let open = |path: &PathBuf| -> Result<Report> {
            // `target/` may not exist before the build.
            let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            let open = || OpenOptions::new().write(true).create(true).truncate(false).open(path);
            let file = folder.and_then(|()| open());
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            Ok(Report { path: path.clone(), file })
        };
        let on_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        Ok(Reports {
            junit: args.junit.as_ref().map(open).transpose()?,
            sarif: args.sarif.as_ref().map(open).transpose()?,
            annotates: args.github || on_github,
            tests: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// Adds a test and its failing run, if it has one.
    pub(crate) fn add(&mut self, test: CargoTest, failing: Option<&TraceFile>) {
        self.tests.push(test);
        failing.into_iter().for_each(|file| self.add_failure(file));
    }

    /// Adds a failing run.
    pub(crate) fn add_failure(&mut self, file: &TraceFile) {
        if self.sarif.is_some() || self.annotates {
            let mut report = FailureReport::of(file);
            locate(&mut report, file);
            self.failures.push(report);
        }
    }

    /// Returns the tests so far.
    pub(crate) fn tests(&self) -> &[CargoTest] {
        &self.tests
    }

    /// Writes all reports. If `strict`, tests that cannot be controlled are errors in JUnit XML.
    pub(crate) fn write(&self, strict: bool) -> Result<()> {
        let failures: Vec<&FailureReport> = self.failures.iter().collect();
        if self.annotates {
            let text: String = failures.iter().map(|report| github(report)).collect();
            // A failure to write to standard error cannot be reported.
            _ = std::io::stderr().lock().write_all(printable(&text).as_bytes());
        }
        for (report, text) in [
            (&self.junit, self.junit.as_ref().map(|_| junit_tests(&self.tests, strict))),
            (&self.sarif, self.sarif.as_ref().map(|_| sarif_all(&failures))),
        ] {
            if let (Some(Report { path, file }), Some(text)) = (report, text) {
                replace(file, &text).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }
}

impl Drop for Reports {
    /// Removes files that are still empty: an empty report would be misleading.
    fn drop(&mut self) {
        for Report { path, .. } in self.junit.iter().chain(&self.sarif) {
            if std::fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0) {
                _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Replaces the contents of `file` by `text`.
fn replace(mut file: &File, text: &str) -> std::io::Result<()> {
    // Only a regular file has a length.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes())
}

/// Returns a search of one program as a test of `suite`.
pub(crate) fn searched(suite: &str, name: String, report: &NativeRun) -> CargoTest {
    CargoTest {
        binary: suite.to_owned(),
        test: name,
        status: match () {
            () if report.failures > 0 => TestStatus::Failed,
            () if report.inconclusive > 0 && report.inconclusive == report.runs => TestStatus::Inconclusive,
            () => TestStatus::Passed,
        },
        runs: report.runs,
        failures: report.failures,
        partial_orders: report.partial_orders,
        threads: report.threads,
        steps: report.steps,
        rests: report.rests,
        exhausted: report.exhausted,
        strategy: report.strategy.clone(),
        seed: report.seed,
        memory: report.memory,
        claims: report.claims.clone(),
        kind: report.kind.clone(),
        message: report.message.clone(),
        first_failure: report.first_failure,
        failure_file: report.failure_file.clone(),
        replay: report.failure_file.as_ref().map(|file| format!("raddle replay {file}")),
        notes: report.notes.clone(),
        ..CargoTest::default()
    }
}

/// Makes the paths of source files relative to the current folder, as services expect. Debug information has the full paths.
fn locate(report: &mut FailureReport, file: &TraceFile) {
    if file.front_end != FrontEnd::Native {
        return;
    }
    let known = Symbols::new().sources(Path::new(&file.program));
    let Ok(here) = std::env::current_dir() else { return };
    report.rename_files(|name| {
        let path = known.iter().map(Path::new).find(|path| path.ends_with(name))?;
        Some(path.strip_prefix(&here).ok()?.to_str()?.to_owned())
    });
}
