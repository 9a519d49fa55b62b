//! The tests of one call: counted, reported and summarized.

use crate::args::CargoTestArgs;
use crate::ci::Reports;
use crate::notes::{early_timeouts, forks, missed_memory, reset_difference};
use crate::outcome::{Outcome, emit};
use crate::result::{Executed, MergedTarget, TargetResult};
use crate::show;
use anyhow::{Context, Result};
use raddle_cargo::without_harness;
use raddle_launch::Kept;
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, MemoryModel, Settings, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, CargoTest, CargoTests, MissedBug, TestStatus};
use raddle_report::{cargo_text, search_text};
use raddle_search::{Lanes, Tally, claims};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The number of threads of a test that creates none: the harness's, and its own.
pub(super) const FEWEST: u64 = 2;
/// The bug depths for which PCT's guarantee is reported.
const DEPTHS: [u64; 3] = [1, 2, 3];

/// The tests of one call.
pub(super) struct Session<'a> {
    pub(super) args: &'a CargoTestArgs,
    pub(super) memory: MemoryModel,
    pub(super) width: usize,
    /// The folder of failing runs.
    pub(super) folder: PathBuf,
    pub(super) reports: Reports,
    pub(super) all: CargoTests,
    /// The first names that the filter excludes.
    pub(super) others: Vec<String>,
    /// True if `cargo test` would also run tests in the documentation.
    pub(super) has_documentation: bool,
    /// The results of a shard.
    pub(super) results: Vec<TargetResult>,
}

/// A test that was run.
pub(super) struct Tested {
    pub(super) test: CargoTest,
    /// The failing run for a person.
    pub(super) report: String,
    pub(super) failing: Option<TraceFile>,
}

/// A test, as results of shards store it.
#[derive(Serialize, Deserialize)]
pub(super) struct Facts {
    /// The test without its numbers; its status, if it was not run.
    pub(super) test: CargoTest,
    pub(super) settings: Settings,
    /// The number of tests that the filter excludes.
    pub(super) filtered: u64,
    /// True if `cargo test` would also run tests in the documentation.
    pub(super) has_documentation: bool,
}

impl Session<'_> {
    /// Counts a test and reports it.
    pub(super) fn add(&mut self, test: CargoTest, report: &str, failing: Option<&TraceFile>) -> Result<()> {
        let all = &mut self.all;
        let (counter, ran) = match test.status {
            TestStatus::Passed => (&mut all.passed, true),
            TestStatus::Failed => (&mut all.failed, true),
            TestStatus::NotConcurrent => (&mut all.not_concurrent, true),
            TestStatus::Inconclusive => (&mut all.inconclusive, true),
            TestStatus::NotControllable => (&mut all.not_controllable, true),
            TestStatus::Ignored => (&mut all.ignored, false),
            TestStatus::Skipped => (&mut all.skipped, false),
        };
        *counter += 1;
        all.tests += u64::from(ran);
        // Excluded tests are reported to programs, not to people.
        if self.args.search.part.unit.is_some() {
            // The output of a worker is for its results.
        } else if self.args.search.json {
            emit(&shape::line(&test))?;
        } else if ran {
            emit(&format!("{}{report}", cargo_text::test(&test, console::colors_enabled())))?;
        }
        self.reports.add(test, failing);
        Ok(())
    }

    /// Writes the rest of the output, even after an error. A failed test is not lost with it.
    pub(super) fn finish(mut self, ended: Result<()>) -> Result<Executed> {
        let written = self.reports.write(self.args.strict);
        let (is_complete, results) = (ended.is_ok(), std::mem::take(&mut self.results));
        let error = ended.and(written).err();
        self.all.stopped = error.as_ref().map(|error| format!("{error:#}"));
        let (strict, json) = (self.args.strict, self.args.search.json);
        let status = if cargo_text::fails(&self.all, strict) { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
        let mut text = if json {
            shape::line(&self.all)
        } else {
            cargo_text::summary(&self.all, strict, console::colors_enabled())
        };
        if let Some(error) = error {
            if status == EXIT_NOTHING_FOUND {
                if self.args.search.part.unit.is_none() {
                    emit(&text)?;
                }
                return Err(error);
            }
            return Ok(Executed { outcome: Outcome { text, status }, results, is_complete });
        }
        if !self.args.search.json && self.has_documentation {
            text.push_str(
                "Documentation tests were not run; `cargo test --doc` runs them without control.\n",
            );
        }
        Ok(Executed { outcome: Outcome { text, status }, results, is_complete })
    }

    /// Sets the result of a test from its runs and the first failing one, with its number. Returns the report of that run.
    pub(super) fn judge(
        &self,
        tested: &mut CargoTest,
        (tally, lanes): (&Tally, &Lanes),
        first: Option<&(u64, Kept)>,
        settings: Settings,
    ) -> String {
        let mut report = String::new();
        let part = &self.args.search.part;
        judge(tested, tally, part.shard.is_some() || part.unit.is_some());
        tested.claims = claims(tally, lanes);
        if let Some((number, kept)) = first {
            tested.notes.extend(early_timeouts(&kept.file, settings));
            let name = tested.test.clone();
            self.fail(tested, &mut report, *number, kept, &name);
        } else if tested.status == TestStatus::Passed {
            tested.bounds = if tally.exhausted { Vec::new() } else { bounds(tally, lanes) };
        }
        report
    }

    /// Reports the merged results of shards.
    fn merged(&mut self, target: MergedTarget) -> Result<()> {
        let Facts { test: mut tested, settings, filtered, has_documentation } = target.facts()?;
        (self.all.filtered, self.has_documentation) = (filtered, has_documentation);
        tested.seconds = target.seconds;
        if tested.status != TestStatus::Passed {
            return self.add(tested, "", None);
        }
        if let Some(why) = target.lost {
            tested.status = TestStatus::NotControllable;
            tested.reason = Some(why);
            return self.add(tested, "", None);
        }
        let merged = target.runs.context("the results have no runs\nhelp: run the shards again")?;
        let first = merged.first.map(|(number, failing)| (number, failing.keep(Some(&self.folder))));
        let lanes = Lanes::of_specs(&target.strategies)?;
        let report = self.judge(&mut tested, (&merged.tally, &lanes), first.as_ref(), settings);
        self.add(tested, &report, first.as_ref().map(|(_, kept)| &kept.file))
    }

    /// Reports the first failing run.
    fn fail(&self, tested: &mut CargoTest, report: &mut String, number: u64, found: &Kept, name: &str) {
        tested.kind = found.file.verdict.failure().map(|failure| failure.kind().to_owned());
        tested.message = Some(verdict(&found.file).join("\n"));
        tested.first_failure = Some(number);
        let printed = without_harness(&found.output.printed, name);
        tested.output = Some(printed).filter(|printed| !printed.is_empty());
        tested.notes.extend(found.not_kept.clone());
        if let Some(path) = &found.path {
            let path = from_here(path).display().to_string();
            tested.replay = Some(format!("raddle replay {path}"));
            tested.failure_file = Some(path);
        }
        if self.args.search.json {
            return;
        }
        show::run(report, &found.file, &found.output, show::terminal(self.args.search.show, self.width));
        tested.failure_file.iter().for_each(|path| show::commands(report, path));
        report.push('\n');
    }
}

/// Prints the report of merged shards.
pub(crate) fn merged(
    args: &CargoTestArgs,
    targets: Vec<MergedTarget>,
    reports: Reports,
    width: usize,
) -> Result<Outcome> {
    let mut session = Session {
        args,
        memory: args.memory.model()?,
        width,
        folder: args.record.clone().unwrap_or_else(|| PathBuf::from(".")),
        reports,
        all: CargoTests::default(),
        others: Vec::new(),
        has_documentation: false,
        results: Vec::new(),
    };
    session.all.seconds = targets.iter().map(|target| target.seconds).sum();
    let ended = targets.into_iter().try_for_each(|target| session.merged(target));
    Ok(session.finish(ended)?.outcome)
}

/// Returns true if the test created no thread in its runs.
pub(super) fn is_single(tally: &Tally) -> bool {
    tally.runs > 0 && tally.threads <= FEWEST
}

/// Sets the result of a test from its runs.
fn judge(tested: &mut CargoTest, tally: &Tally, is_part: bool) {
    tested.status = if tally.failures > 0 {
        TestStatus::Failed
    } else if tally.inconclusive > 0 && tally.inconclusive == tally.runs {
        TestStatus::Inconclusive
    } else if is_single(tally) {
        TestStatus::NotConcurrent
    } else if tally.runs == 0 && !is_part {
        tested.reason = Some("no run ended".to_owned());
        TestStatus::NotControllable
    } else {
        TestStatus::Passed
    };
    tested.runs = tally.runs;
    tested.forks = forks(tally);
    tested.failures = tally.failures;
    tested.partial_orders = tally.partial_orders();
    tested.threads = tally.threads.saturating_sub(1);
    tested.steps = tally.steps;
    tested.rests = tally.rests;
    tested.exhausted = tally.exhausted;
    if tally.inconclusive > 0 {
        tested.notes.push(search_text::inconclusive(tally.inconclusive, tally.runs, tally.steps));
    }
    if tally.outside_waits > 0 {
        tested.notes.push("runs waited for something from outside; they may not repeat".to_owned());
    }
    if tally.processes > 0 {
        tested.notes.push("processes that the test starts are not under control".to_owned());
    }
    tested.notes.extend(missed_memory(tally));
    tested.notes.extend(reset_difference(tally));
}

/// Returns the bounds of PCT's guarantee for its runs, by depth.
fn bounds(tally: &Tally, lanes: &Lanes) -> Vec<MissedBug> {
    let bounds = tally.missed_by_depth(lanes, &DEPTHS).into_iter();
    bounds.map(|(depth, runs, missed)| MissedBug { depth, runs, made: true, missed }).collect()
}

/// Returns the shortest path from the current folder.
pub(super) fn from_here(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_run_nothing_is_known() {
        let judged = |runs, threads| {
            let mut tested = CargoTest::default();
            judge(&mut tested, &Tally { runs, threads, ..Tally::default() }, false);
            tested.status
        };
        assert_eq!(judged(0, 0), TestStatus::NotControllable);
        assert_eq!(judged(1, FEWEST), TestStatus::NotConcurrent);
        assert_eq!(judged(1, FEWEST + 1), TestStatus::Passed);
    }

    #[test]
    fn a_test_whose_runs_all_reach_the_step_limit_is_inconclusive() {
        let judged = |inconclusive| {
            let mut tested = CargoTest::default();
            judge(
                &mut tested,
                &Tally { runs: 2, threads: 3, steps: 9, inconclusive, ..Tally::default() },
                false,
            );
            (tested.status, tested.notes)
        };
        assert_eq!(judged(0), (TestStatus::Passed, vec![]));
        let note = "1 of 2 runs reached the step limit of 9 and is inconclusive; --step-limit sets the limit";
        assert_eq!(judged(1), (TestStatus::Passed, vec![note.to_owned()]));
        assert_eq!(judged(2).0, TestStatus::Inconclusive);
    }
}
