//! `cargo raddle test`.

use super::settings::{Budget, Settings, Share};
use crate::args::{CargoTestArgs, SearchArgs, one_run};
use crate::ci::Reports;
use crate::interrupt::{Interrupted, interrupted};
use crate::notes::{early_timeouts, missed_memory, reset_difference};
use crate::outcome::{Outcome, emit};
use crate::progress::{Progress, Waiting};
use crate::show;
use anyhow::{Context, Result, bail};
use raddle_cargo::{self as cargo, Binary, LeftOut, Listed, Selection, Wanted, Workspace, without_harness};
use raddle_launch::native::{self, Native};
use raddle_launch::server::NotControllable;
use raddle_launch::{Keep, Kept, Output, Subject};
use raddle_model::native::{Setup, Threads};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Environment, MemoryModel, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, CargoTest, CargoTests, MissedBug, TestStatus};
use raddle_report::{cargo_text, search_text};
use raddle_search::{Lanes, Portfolio, Seen, Stop, Tally, claims};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

/// The number of threads of a test that creates none: the harness's, and its own.
const FEWEST: u64 = 2;
/// The maximum number of names that are listed if a filter matches none.
const MOST_NAMES: usize = 8;
/// The bug depths for which PCT's guarantee is reported.
const DEPTHS: [u64; 3] = [1, 2, 3];

pub(super) fn run(args: &CargoTestArgs, width: usize) -> Result<Outcome> {
    let selection = Selection::new(args.filter.as_deref(), &args.harness)?;
    Lanes::parse(&args.search.strategy(), Portfolio::Programs)?;
    let workspace = Workspace::find(args.build.manifest_path.as_deref())?;
    Settings::check(&workspace)?;
    let reports = Reports::open(&args.search.ci)?;
    let targets = targets(args);
    // By default cargo would build the examples as well, which have no tests.
    let all = ["--tests".to_owned()];
    let chosen = if targets.is_empty() { &all[..] } else { &targets[..] };
    let words = [&["test".to_owned(), "--no-run".to_owned()][..], chosen].concat();
    let memory = args.memory.model()?;
    // Without hooks in the standard library most data races would be false alarms.
    let with_std = args.build.build_std || args.fail_on_race || memory == MemoryModel::Weak;
    let options = args.build.words();
    let binaries =
        cargo::build(&workspace, args.build.hooks.into(), &words, &options, Wanted::Tests, with_std)?;
    let folder = args.record.clone().unwrap_or_else(|| workspace.target.join("failures"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let begun = now();
    // Cargo runs them only for libraries, and only if no target is selected.
    let has_documentation = targets.is_empty() && binaries.iter().any(|binary| !binary.name.contains("::"));
    let (all, others) = (CargoTests::default(), Vec::new());
    let mut session = Session { args, memory, width, folder, reports, all, others, has_documentation };
    let ended = session.all_of(&binaries, &workspace, &selection).and_then(|()| session.has_any());
    session.all.seconds = seconds(begun);
    session.finish(ended)
}

/// Returns the selected targets of the packages.
fn targets(args: &CargoTestArgs) -> Vec<String> {
    let mut words = Vec::new();
    for (option, given) in [("--lib", args.lib), ("--bins", args.bins), ("--tests", args.tests)] {
        if given {
            words.push(option.to_owned());
        }
    }
    for (option, names) in [("--bin", &args.bin), ("--test", &args.test)] {
        names.iter().for_each(|name| words.extend([option.to_owned(), name.clone()]));
    }
    words
}

#[expect(clippy::disallowed_methods, reason = "people want to know how long a test takes")]
fn now() -> Instant {
    Instant::now()
}

fn seconds(begun: Instant) -> f64 {
    // More than three digits are meaningless and make reports hard to compare.
    (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
}

/// The tests of one call.
struct Session<'a> {
    args: &'a CargoTestArgs,
    memory: MemoryModel,
    width: usize,
    /// The folder of failing runs.
    folder: PathBuf,
    reports: Reports,
    all: CargoTests,
    /// The first names that the filter excludes.
    others: Vec<String>,
    /// True if `cargo test` would also run tests in the documentation.
    has_documentation: bool,
}

/// A test that was run.
struct Tested {
    test: CargoTest,
    /// The failing run for a person.
    report: String,
    failing: Option<TraceFile>,
}

impl Session<'_> {
    /// Runs the selected tests, one after the other.
    fn all_of(&mut self, binaries: &[Binary], workspace: &Workspace, selection: &Selection) -> Result<()> {
        let mut wanted = Vec::new();
        for binary in binaries {
            let settings = Rc::new(Settings::of(binary, workspace)?);
            let listed = match cargo::list(binary)? {
                Ok(listed) => listed,
                Err(why) => {
                    wanted.push((binary, Rc::clone(&settings), Err(why)));
                    continue;
                }
            };
            wanted.extend(listed.into_iter().map(|test| (binary, Rc::clone(&settings), Ok(test))));
        }
        let runs = |(_, settings, test): &(&Binary, Rc<Settings>, Result<Listed, String>)| {
            test.as_ref()
                .is_ok_and(|test| selection.leaves_out(test).is_none() && !settings.skips(&test.name))
        };
        let mut share = Share::new(self.args.budget, wanted.iter().filter(|test| runs(test)).count());
        for (binary, settings, test) in wanted {
            let test = match test {
                Ok(test) => test,
                Err(why) => {
                    self.add(unlisted(binary, &why), "", None)?;
                    continue;
                }
            };
            if let Some(left_out) = self.leaves_out(binary, &test, &settings, selection) {
                left_out.map_or(Ok(()), |test| self.add(test, "", None))?;
                continue;
            }
            let search = &self.args.search;
            let search = SearchArgs { time: share.next().or(search.time), ..search.clone() };
            let budget = settings.budget(&search, &test.name);
            let Tested { test: tested, report, failing } = self.test(binary, &test, &budget)?;
            let failed = tested.status == TestStatus::Failed;
            self.add(tested, &report, failing.as_ref())?;
            if let Some(Interrupted { name, .. }) = interrupted() {
                bail!("interrupted by {name}; not all tests were run to the end");
            }
            if failed && self.args.fail_fast {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns nothing if the test runs; otherwise its entry in the results, if it has one.
    fn leaves_out(
        &mut self,
        binary: &Binary,
        test: &Listed,
        settings: &Settings,
        selection: &Selection,
    ) -> Option<Option<CargoTest>> {
        match selection.leaves_out(test) {
            Some(LeftOut::Filtered) => {
                self.all.filtered += 1;
                if self.others.len() < MOST_NAMES {
                    self.others.push(test.name.clone());
                }
                Some(None)
            }
            Some(LeftOut::Ignored) => {
                Some(Some(left_out(binary, test, TestStatus::Ignored, "it is marked #[ignore]")))
            }
            None if settings.skips(&test.name) => {
                Some(Some(left_out(binary, test, TestStatus::Skipped, "raddle.toml says so")))
            }
            None => None,
        }
    }

    /// Fails if there are tests, and the filter excludes all of them.
    fn has_any(&self) -> Result<()> {
        if self.reports.tests().is_empty() && self.all.filtered > 0 {
            let more = if self.all.filtered > MOST_NAMES as u64 { ", .." } else { "" };
            bail!("no test matches the filter\nhelp: the tests are {}{more}", self.others.join(", "));
        }
        Ok(())
    }

    /// Counts a test and reports it.
    fn add(&mut self, test: CargoTest, report: &str, failing: Option<&TraceFile>) -> Result<()> {
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
        if self.args.search.json {
            emit(&shape::line(&test))?;
        } else if ran {
            emit(&format!("{}{report}", cargo_text::test(&test, console::colors_enabled())))?;
        }
        self.reports.add(test, failing);
        Ok(())
    }

    /// Writes the rest of the output, even after an error. A failed test is not lost with it.
    fn finish(mut self, ended: Result<()>) -> Result<Outcome> {
        let written = self.reports.write(self.args.strict);
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
                emit(&text)?;
                return Err(error);
            }
            return Ok(Outcome { text, status });
        }
        if !self.args.search.json && self.has_documentation {
            text.push_str(
                "Documentation tests were not run; `cargo test --doc` runs them without control.\n",
            );
        }
        Ok(Outcome { text, status })
    }

    /// Runs a test under many schedules, or once if it has one thread.
    fn test(&self, binary: &Binary, test: &Listed, budget: &Budget) -> Result<Tested> {
        let begun = now();
        let path = binary.path.to_str().context("the program's path is no text")?.to_owned();
        let words: Vec<String> = [path].into_iter().chain(cargo::arguments(test)).collect();
        let environment = Environment { test: Some(test.name.clone()), ..binary.environment.clone() };
        let lanes = Lanes::parse(&budget.strategy, self.args.search.portfolio())?;
        let setup = self.setup(&test.name, &lanes, budget);
        let progress = (budget.runs != u64::MAX).then(|| Progress::new(budget.runs));
        let watch = |seen: Seen<'_>| progress.iter().for_each(|progress| progress.add(seen.turns));
        let whole = raddle_search::Budget {
            runs: budget.runs,
            time: Some(budget.time),
            stop: if self.args.search.keep_going { Stop::Never } else { Stop::FirstFailure },
        };
        // The first run shows whether it has threads at all, for which one process suffices.
        let first = raddle_search::Budget { runs: 1, ..whole.clone() };
        let target = Native::new(&words, &environment, &setup)?;
        let explored = target.search(&lanes, first, 1, &|_| ()).and_then(|found| {
            let is_over = found.tally.failures > 0 && !self.args.search.keep_going || is_single(&found.tally);
            if is_over { Ok(found) } else { target.search(&lanes, whole, budget.jobs, &watch) }
        });
        drop(progress);
        let mut tested = CargoTest {
            binary: binary.name.clone(),
            test: test.name.clone(),
            strategy: budget.strategy.clone(),
            seed: budget.seed,
            memory: self.memory,
            ..CargoTest::default()
        };
        let (mut report, mut failing) = (String::new(), None);
        match explored {
            // Any other error is not a property of the test, and would be the same for the next one.
            Err(error) if !error.is::<NotControllable>() => return Err(error),
            Err(error) => {
                tested.status = TestStatus::NotControllable;
                tested.reason = Some(error.root_cause().to_string());
            }
            Ok(found) => {
                let tally = &found.tally;
                judge(&mut tested, tally);
                tested.claims = claims(tally, &lanes);
                tested.notes.extend(found.lost.iter().map(|why| format!("not all runs were made: {why:#}")));
                if let Some((turn, ran)) = &found.first {
                    let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
                        Ok(Box::new(native::Program::open(file, "the failing run", Threads::Fibers)?))
                    };
                    let is_concurrent = tally.threads > FEWEST;
                    let minimize = !self.args.search.no_minimize && is_concurrent;
                    let keep = Keep {
                        path: Some(&self.folder),
                        minimize,
                        explain: is_concurrent,
                        namer: native::namer(),
                        open: &open,
                        progress: &Waiting::default(),
                    };
                    let output = Output { printed: ran.output.clone(), ..Output::default() };
                    let kept = keep.keep(native::trace_file(ran, &words, &environment, &setup), output);
                    tested.notes.extend(early_timeouts(&kept.file, setup.settings));
                    self.fail(&mut tested, &mut report, turn.number, &kept, &test.name);
                    failing = Some(kept.file);
                } else if tested.status == TestStatus::Passed {
                    tested.bounds = if tally.exhausted { Vec::new() } else { bounds(tally, &lanes) };
                }
            }
        }
        tested.seconds = seconds(begun);
        Ok(Tested { test: tested, report, failing })
    }

    fn setup(&self, name: &str, lanes: &Lanes, budget: &Budget) -> Setup {
        let settings = raddle_model::Settings {
            step_limit: budget.step_limit,
            memory: self.memory,
            races: self.args.fail_on_race,
            ..self.args.search.settings()
        };
        Setup {
            fail_on_exit: true,
            panics: Some(name.to_owned()),
            callers: true,
            isolation: self.args.isolation.into(),
            ..native::setup(lanes, budget.seed, settings, one_run(budget.time, self.args.run_time))
        }
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

/// Returns true if the test created no thread in its runs.
fn is_single(tally: &Tally) -> bool {
    tally.runs > 0 && tally.threads <= FEWEST
}

/// Sets the result of a test from its runs.
fn judge(tested: &mut CargoTest, tally: &Tally) {
    tested.status = if tally.failures > 0 {
        TestStatus::Failed
    } else if tally.inconclusive > 0 && tally.inconclusive == tally.runs {
        TestStatus::Inconclusive
    } else if is_single(tally) {
        TestStatus::NotConcurrent
    } else if tally.runs == 0 {
        tested.reason = Some("no run came to its end".to_owned());
        TestStatus::NotControllable
    } else {
        TestStatus::Passed
    };
    tested.runs = tally.runs;
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

/// Returns the result of a test that was not run.
fn left_out(binary: &Binary, test: &Listed, status: TestStatus, why: &str) -> CargoTest {
    CargoTest {
        binary: binary.name.clone(),
        test: test.name.clone(),
        status,
        reason: Some(why.to_owned()),
        ..CargoTest::default()
    }
}

/// Returns the result of a program whose tests cannot be listed.
fn unlisted(binary: &Binary, why: &str) -> CargoTest {
    let program = from_here(&binary.path).display();
    CargoTest {
        binary: binary.name.clone(),
        status: TestStatus::NotControllable,
        reason: Some(format!("{why}; as a whole it may be run: raddle run -- {program}")),
        ..CargoTest::default()
    }
}

/// Returns the shortest path from the current folder.
fn from_here(path: &Path) -> &Path {
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
            judge(&mut tested, &Tally { runs, threads, ..Tally::default() });
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
            judge(&mut tested, &Tally { runs: 2, threads: 3, steps: 9, inconclusive, ..Tally::default() });
            (tested.status, tested.notes)
        };
        assert_eq!(judged(0), (TestStatus::Passed, vec![]));
        let note = "1 of 2 runs reached the step limit of 9 and is inconclusive; --step-limit sets the limit";
        assert_eq!(judged(1), (TestStatus::Passed, vec![note.to_owned()]));
        assert_eq!(judged(2).0, TestStatus::Inconclusive);
    }
}
