//! `cargo raddle test`.

use super::session::{FEWEST, Facts, Session, Tested, from_here, is_single};
use super::settings::{Budget, Settings, Share};
use crate::args::{CargoTestArgs, SearchArgs, one_run};
use crate::ci::Reports;
use crate::interrupt::{Interrupted, interrupted};
use crate::progress::{Progress, Waiting};
use crate::result::{Executed, Failing, TargetResult, identity, part_of_test};
use anyhow::{Context, Result, bail};
use raddle_cargo::{self as cargo, Binary, LeftOut, Listed, Selection, Wanted, Workspace};
use raddle_launch::native::{self, Found, Native};
use raddle_launch::server::NotControllable;
use raddle_launch::{Keep, Output, Subject};
use raddle_model::native::{Points, Setup, Threads};
use raddle_model::{Environment, MemoryModel, TraceFile};
use raddle_report::shape::{CargoTest, CargoTests, TestStatus};
use raddle_search::{Identity, Lanes, Part, Portfolio, Search, Seen, ShardResult, Stop};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

/// The maximum number of names that are listed if a filter matches none.
const MOST_NAMES: usize = 8;

pub(crate) fn run(args: &CargoTestArgs, width: usize) -> Result<Executed> {
    let Prepared { mut session, workspace, selection, binaries } = Prepared::new(args, width)?;
    let begun = now();
    let ended = session.all_of(&binaries, &workspace, &selection).and_then(|()| session.has_any());
    session.all.seconds = seconds(begun);
    session.finish(ended)
}

/// Returns the names of the selected tests, as results of shards have them.
pub(crate) fn names(args: &CargoTestArgs, width: usize) -> Result<Vec<String>> {
    let Prepared { mut session, workspace, selection, binaries } = Prepared::new(args, width)?;
    let wanted = session.wanted(&binaries, &workspace, &selection)?;
    Ok(wanted.iter().map(WantedTest::name).collect())
}

/// Tests that are built.
pub(super) struct Prepared<'a> {
    pub(super) session: Session<'a>,
    pub(super) workspace: Workspace,
    pub(super) selection: Selection,
    pub(super) binaries: Vec<Binary>,
}

impl Prepared<'_> {
    /// Builds the tests.
    pub(super) fn new(args: &CargoTestArgs, width: usize) -> Result<Prepared<'_>> {
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
        // Cargo runs them only for libraries, and only if no target is selected.
        let has_documentation =
            targets.is_empty() && binaries.iter().any(|binary| !binary.name.contains("::"));
        let (all, others, results) = (CargoTests::default(), Vec::new(), Vec::new());
        let session =
            Session { args, memory, width, folder, reports, all, others, has_documentation, results };
        Ok(Prepared { session, workspace, selection, binaries })
    }
}

/// A test that the filter selects, or a program whose tests cannot be listed.
pub(super) struct WantedTest<'a> {
    binary: &'a Binary,
    pub(super) settings: Rc<Settings>,
    /// The test, or why the program cannot list its tests.
    pub(super) test: Result<Listed, String>,
}

impl WantedTest<'_> {
    /// Returns the name that results of shards have.
    fn name(&self) -> String {
        format!("{} {}", self.binary.name, self.test.as_ref().map_or("", |test| &test.name))
    }
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

impl Session<'_> {
    /// Lists the tests that the filter selects, and counts the others.
    pub(super) fn wanted<'a>(
        &mut self,
        binaries: &'a [Binary],
        workspace: &Workspace,
        selection: &Selection,
    ) -> Result<Vec<WantedTest<'a>>> {
        let mut wanted = Vec::new();
        for binary in binaries {
            let settings = Rc::new(Settings::of(binary, workspace)?);
            let listed = match cargo::list(binary)? {
                Ok(listed) => listed,
                Err(why) => {
                    wanted.push(WantedTest { binary, settings, test: Err(why) });
                    continue;
                }
            };
            for test in listed {
                if matches!(selection.leaves_out(&test), Some(LeftOut::Filtered)) {
                    self.all.filtered += 1;
                    if self.others.len() < MOST_NAMES {
                        self.others.push(test.name);
                    }
                    continue;
                }
                wanted.push(WantedTest { binary, settings: Rc::clone(&settings), test: Ok(test) });
            }
        }
        Ok(wanted)
    }

    /// Runs the selected tests, one after the other.
    fn all_of(&mut self, binaries: &[Binary], workspace: &Workspace, selection: &Selection) -> Result<()> {
        let wanted = self.wanted(binaries, workspace, selection)?;
        let runs = |wanted: &&WantedTest<'_>| {
            let is_skipped = |test: &Listed| wanted.settings.skips(&test.name);
            wanted.test.as_ref().is_ok_and(|test| selection.leaves_out(test).is_none() && !is_skipped(test))
        };
        let mut share = Share::new(self.args.budget, wanted.iter().filter(runs).count());
        let targets = self.args.search.part.unit.as_ref().and_then(|unit| unit.targets.as_ref());
        for wanted in wanted {
            if targets.is_some_and(|targets| !targets.contains(&wanted.name())) {
                continue;
            }
            let WantedTest { binary, settings, test } = wanted;
            let test = match test {
                Ok(test) => test,
                Err(why) => {
                    self.leave_out(unlisted(binary, &why))?;
                    continue;
                }
            };
            if let Some(left_out) = leaves_out(binary, &test, &settings, selection) {
                self.leave_out(left_out)?;
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

    /// Returns a test as results of shards store it.
    fn facts(&self, test: CargoTest, settings: raddle_model::Settings) -> Facts {
        let (filtered, has_documentation) = (self.all.filtered, self.has_documentation);
        Facts { test, settings, filtered, has_documentation }
    }

    /// Returns true if only a part of the runs is executed.
    fn is_part(&self) -> bool {
        self.args.search.part.shard.is_some() || self.args.search.part.unit.is_some()
    }

    /// Returns true if failing runs are explained.
    fn explains(&self) -> bool {
        self.args.search.part.unit.as_ref().is_none_or(|unit| unit.minimize)
    }

    /// Reports a test that was not run.
    fn leave_out(&mut self, test: CargoTest) -> Result<()> {
        if self.is_part() {
            let settings = self.args.search.settings();
            let facts = self.facts(test.clone(), settings);
            self.results.push(target_result(facts, Vec::new(), 0.0, None, None)?);
        }
        self.add(test, "", None)
    }

    /// Fails if there are tests, and the filter excludes all of them.
    fn has_any(&self) -> Result<()> {
        if self.reports.tests().is_empty() && self.all.filtered > 0 {
            let more = if self.all.filtered > MOST_NAMES as u64 { ", .." } else { "" };
            bail!("no test matches the filter\nhelp: the tests are {}{more}", self.others.join(", "));
        }
        Ok(())
    }

    /// Runs a test under many schedules, or once if it has one thread.
    pub(super) fn test(&mut self, binary: &Binary, test: &Listed, budget: &Budget) -> Result<Tested> {
        let begun = now();
        let path = binary.path.to_str().context("the path of the program is not valid UTF-8")?.to_owned();
        let words: Vec<String> = [path].into_iter().chain(cargo::arguments(test)).collect();
        let mut environment = Environment { test: Some(test.name.clone()), ..binary.environment.clone() };
        // The output is no terminal. The harness would read the description of one in every run.
        environment.environment.push(("TERM".to_owned(), String::new()));
        let lanes = Lanes::parse(&budget.strategy, self.args.search.portfolio())?;
        let part = part_of_test(&self.args.search.part, &lanes)?;
        let setup = self.setup(&test.name, &lanes, budget);
        let progress = (budget.runs != u64::MAX).then(|| Progress::new(budget.runs));
        let watch = |seen: Seen<'_>| progress.iter().for_each(|progress| progress.add(seen.turns));
        let whole = raddle_search::Budget {
            runs: budget.runs,
            time: Some(budget.time),
            stop: if self.args.search.keep_going { Stop::Never } else { Stop::FirstFailure },
        };
        let target = Native::new(&words, &environment, &setup)?;
        let whole = Search {
            lanes: &lanes,
            budget: whole,
            jobs: budget.jobs,
            part,
            known: None,
            watch: &watch,
            every: 1,
        };
        let explored = explore(&target, &whole, self.args.search.keep_going);
        progress.iter().for_each(Progress::finish);
        let mut tested = CargoTest {
            binary: binary.name.clone(),
            test: test.name.clone(),
            strategy: budget.strategy.clone(),
            seed: budget.seed,
            memory: self.memory,
            ..CargoTest::default()
        };
        let facts = self.facts(tested.clone(), setup.settings);
        let (mut report, mut first, mut runs, mut lost) = (String::new(), None, None, None);
        match explored {
            // Any other error is not a property of the test, and would be the same for the next one.
            Err(error) if !error.is::<NotControllable>() => return Err(error),
            Err(error) => {
                tested.status = TestStatus::NotControllable;
                tested.reason = Some(error.root_cause().to_string());
                lost.clone_from(&tested.reason);
            }
            Ok(Explored { found, shard }) => {
                let tally = &found.tally;
                let why = found.lost.as_ref().map(|why| format!("not all runs were made: {why:#}"));
                tested.notes.extend(why);
                if let Some((turn, ran)) = &found.first {
                    let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
                        Ok(Box::new(native::Program::open(file, "the failing run", Threads::Fibers)?))
                    };
                    let is_concurrent = tally.threads > FEWEST;
                    let minimize = !self.args.search.no_minimize && is_concurrent;
                    let keep = Keep {
                        path: Some(&self.folder),
                        minimize,
                        explain: is_concurrent && self.explains(),
                        namer: native::namer(),
                        open: &open,
                        progress: &Waiting::default(),
                    };
                    let output = Output { printed: ran.output.clone(), ..Output::default() };
                    let kept = keep.keep(native::trace_file(ran, &words, &environment, &setup), output);
                    first = Some((turn.number, kept));
                }
                report = self.judge(&mut tested, (tally, &lanes), first.as_ref(), setup.settings);
                if let Some(part) = self.args.search.part.counted(part) {
                    let (counted, budget) =
                        shard.as_ref().map_or((&found, &whole.budget), |(found, budget)| (found, budget));
                    let counts = Search { budget: budget.clone(), ..whole.clone() };
                    let failing = first.as_ref().map(|(_, kept)| Failing::of(kept));
                    let name = self.identity(Path::new(&words[0]), &facts, &counts, part)?;
                    runs = Some(ShardResult::new(part, name, &counts, counted, failing));
                }
            }
        }
        tested.seconds = seconds(begun);
        if self.is_part() {
            let (strategies, seconds) = (lanes.specs(), tested.seconds);
            self.results.push(target_result(facts, strategies, seconds, runs, lost)?);
        }
        Ok(Tested { test: tested, report, failing: first.map(|(_, kept)| kept.file) })
    }

    /// Returns what identifies the search of a test.
    fn identity(&self, program: &Path, facts: &Facts, search: &Search<'_>, part: Part) -> Result<Identity> {
        // The shares of a common budget depend on how long other tests took.
        let time = self.args.budget.or(search.budget.time);
        let budget = raddle_search::Budget { time, ..search.budget.clone() };
        let names = [
            ("the test", format!("{} {}", facts.test.binary, facts.test.test)),
            ("its build", raddle_symbols::build(program)?),
            (
                "the settings of runs",
                serde_json::to_string(&(facts.settings, Points::from(self.args.points)))?,
            ),
        ];
        Ok(identity(&Search { budget, ..search.clone() }, part, facts.test.seed, names))
    }

    fn setup(&self, name: &str, lanes: &Lanes, budget: &Budget) -> Setup {
        let settings = raddle_model::Settings {
            step_limit: budget.step_limit,
            memory: self.memory,
            races: self.args.fail_on_race,
            network: self.args.network.settings(),
            ..self.args.search.settings()
        };
        Setup {
            fail_on_exit: true,
            panics: Some(name.to_owned()),
            callers: true,
            points: self.args.points.into(),
            isolation: self.args.isolation.into(),
            ..native::setup(lanes, budget.seed, settings, one_run(budget.time, self.args.run_time))
        }
    }
}

/// Returns nothing if the test runs; otherwise its entry in the results.
pub(super) fn leaves_out(
    binary: &Binary,
    test: &Listed,
    settings: &Settings,
    selection: &Selection,
) -> Option<CargoTest> {
    let why = match selection.leaves_out(test) {
        Some(_) => (TestStatus::Ignored, "it is marked #[ignore]"),
        None if settings.skips(&test.name) => (TestStatus::Skipped, "raddle.toml says so"),
        None => return None,
    };
    Some(left_out(binary, test, why.0, why.1))
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

/// The runs of a test.
struct Explored {
    /// The runs to report.
    found: Found,
    /// The runs that count for a shard, with their budget, if they are others.
    shard: Option<(Found, raddle_search::Budget)>,
}

/// Executes the runs of a test. The first one shows whether it has threads at all, for which one process suffices.
fn explore(target: &Native<'_>, whole: &Search<'_>, keep_going: bool) -> Result<Explored> {
    let only = raddle_search::Budget { runs: 1, ..whole.budget.clone() };
    let first = Search { budget: only.clone(), jobs: 1, part: None, watch: &|_| (), ..whole.clone() };
    let found = target.run(&first)?;
    let is_over = found.tally.failures > 0 && !keep_going || is_single(&found.tally);
    Ok(match whole.part {
        _ if !is_over => Explored { found: target.run(whole)?, shard: None },
        None => Explored { found, shard: None },
        // All shards execute the only run, and it counts for the first one.
        part => Explored { found, shard: Some((target.run(&Search { part, ..first })?, only)) },
    })
}

/// Returns the result of a shard for a test.
fn target_result(
    facts: Facts,
    strategies: Vec<String>,
    seconds: f64,
    runs: Option<ShardResult<Failing>>,
    lost: Option<String>,
) -> Result<TargetResult> {
    let name = format!("{} {}", facts.test.binary, facts.test.test);
    Ok(TargetResult {
        name,
        strategies,
        seconds,
        facts: serde_json::to_value(facts)?,
        runs,
        races: None,
        lost,
    })
}
