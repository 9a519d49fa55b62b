//! `raddle.toml`: budgets, strategies and tests to skip, next to a `Cargo.toml`.

use crate::args::{STRATEGY, SearchArgs, cores, duration};
use anyhow::{Context, Result, anyhow};
use raddle_cargo::{Binary, Workspace};
use raddle_search::{Lanes, Portfolio};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file's name.
pub(super) const FILE: &str = "raddle.toml";

/// The contents of a file. Missing values come from the arguments and defaults.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    jobs: Option<u16>,
    seed: Option<u64>,
    runs: Option<u64>,
    time: Option<Span>,
    strategy: Option<String>,
    step_limit: Option<u64>,
    /// Names of tests, or prefixes followed by `*`.
    #[serde(default)]
    skip: Vec<String>,
    /// Of several that match a test, the first one that sets a value counts.
    #[serde(default)]
    test: Vec<Particular>,
}

/// The settings of some tests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Particular {
    name: String,
    runs: Option<u64>,
    time: Option<Span>,
    strategy: Option<String>,
    step_limit: Option<u64>,
}

/// A duration, written as on the command line.
#[derive(Deserialize, Clone, Copy)]
#[serde(try_from = "String")]
struct Span(Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Span, String> {
        duration(&text).map(Span).map_err(|wrong| format!("time = {text:?}: {wrong}"))
    }
}

/// The settings of a test.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Budget {
    pub(super) strategy: String,
    pub(super) runs: u64,
    pub(super) time: Duration,
    pub(super) seed: u64,
    pub(super) jobs: usize,
    pub(super) step_limit: u64,
}

impl Settings {
    /// Returns the settings for the tests of `binary`: from the folder of its package, or else from that of
    /// the workspace.
    pub(super) fn of(binary: &Binary, workspace: &Workspace) -> Result<Settings> {
        let files = [binary.folder.join(FILE), workspace.root.join(FILE)];
        let file: Option<PathBuf> = files.into_iter().find(|file| file.exists());
        file.map_or(Ok(Settings::default()), |file| Settings::read(&file))
    }

    /// Reports errors in any file of the workspace, before anything is built.
    pub(super) fn check(workspace: &Workspace) -> Result<()> {
        let folders = workspace.folders().chain([workspace.root.as_path()]);
        folders.map(|folder| folder.join(FILE)).filter(|file| file.exists()).try_for_each(|file| {
            Settings::read(&file)?;
            Ok(())
        })
    }

    fn read(file: &Path) -> Result<Settings> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let settings: Settings =
            toml::from_str(&text).map_err(|error| anyhow!("{shown}: {}", error.message()))?;
        let named = settings.test.iter().filter_map(|test| test.strategy.as_ref());
        for strategy in named.chain(&settings.strategy) {
            Lanes::parse(strategy, Portfolio::Programs).with_context(|| shown.to_string())?;
        }
        Ok(settings)
    }

    /// Returns true if a test must not be run.
    pub(super) fn skips(&self, test: &str) -> bool {
        self.skip.iter().any(|name| fits(name, test))
    }

    /// Returns the settings of `test`, in which arguments override the file, and those of a test override
    /// those of all.
    pub(super) fn budget(&self, args: &SearchArgs, test: &str) -> Budget {
        const RUNS: u64 = 1000;
        const TIME: Duration = Duration::from_secs(10);
        let mine = || self.test.iter().filter(|particular| fits(&particular.name, test));
        let given = (!args.strategy.is_empty()).then(|| args.strategy());
        let strategy = given.or_else(|| mine().find_map(|mine| mine.strategy.clone()));
        let time = args.time.or_else(|| mine().find_map(|mine| mine.time).or(self.time).map(|span| span.0));
        let runs = args.runs.or_else(|| mine().find_map(|mine| mine.runs)).or(self.runs);
        let steps = args.step_limit.or_else(|| mine().find_map(|mine| mine.step_limit)).or(self.step_limit);
        Budget {
            strategy: strategy.or_else(|| self.strategy.clone()).unwrap_or_else(|| STRATEGY.to_owned()),
            // A number of runs or a time alone removes the other limit.
            runs: runs.unwrap_or(if time.is_some() { u64::MAX } else { RUNS }).max(1),
            time: time.unwrap_or(if runs.is_some() { Duration::MAX } else { TIME }),
            seed: args.seed.or(self.seed).unwrap_or(1),
            jobs: cores(args.jobs.or(self.jobs.filter(|&jobs| jobs > 0))),
            step_limit: steps.unwrap_or(args.settings().step_limit).max(1),
        }
    }
}

/// A time budget for several tests: each gets an equal share of the remaining time.
pub(super) struct Share {
    /// The end of the budget.
    end: Option<Instant>,
    /// The number of remaining tests.
    tests: u32,
}

impl Share {
    /// Starts a budget of `time` for this many tests, if there is one.
    #[expect(clippy::disallowed_methods, reason = "a time budget is read between tests")]
    pub(super) fn new(time: Option<Duration>, tests: usize) -> Share {
        let tests = u32::try_from(tests).unwrap_or(u32::MAX);
        Share { end: time.map(|time| Instant::now() + time), tests }
    }

    /// Returns the time for the next test, if there is a budget.
    #[expect(clippy::disallowed_methods, reason = "a time budget is read between tests")]
    pub(super) fn next(&mut self) -> Option<Duration> {
        let left = self.end?.saturating_duration_since(Instant::now());
        let share = left / self.tests.max(1);
        self.tests = self.tests.saturating_sub(1);
        Some(share)
    }
}

/// Returns true if a test has that name, or begins with it.
fn fits(name: &str, test: &str) -> bool {
    name.strip_suffix('*').map_or(name == test, |begin| test.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn budget(settings: &str, words: &[&str], test: &str) -> Budget {
        let settings: Settings = toml::from_str(settings).expect("the settings are right");
        let words = ["raddle", "cargo", "test", "--jobs", "1"].iter().chain(words);
        let Ok(Cli { command: crate::args::Command::Cargo { command } }) = Cli::try_parse_from(words) else {
            panic!("the arguments are wrong")
        };
        let crate::args::CargoCommand::Test(args) = command else { panic!("they are for tests") };
        settings.budget(&args.search, test)
    }

    #[test]
    fn arguments_come_before_the_test_and_the_test_before_the_rest() {
        const TEXT: &str = "runs = 5\ntime = '1m'\n[[test]]\nname = 'q::*'\nruns = 7\n[[test]]\nname = 'q::a'\nruns = 8\nstrategy = 'pos'\n";
        let of = |words: &[&str], test: &str| {
            let budget = budget(TEXT, words, test);
            (budget.runs, budget.strategy, budget.time.as_secs())
        };
        assert_eq!(of(&[], "other"), (5, "portfolio".to_owned(), 60));
        assert_eq!(of(&[], "q::b"), (7, "portfolio".to_owned(), 60));
        assert_eq!(of(&[], "q::a"), (7, "pos".to_owned(), 60));
        assert_eq!(of(&["--runs", "9", "--strategy", "dfs"], "q::a"), (9, "dfs".to_owned(), 60));
    }

    #[test]
    fn the_time_that_a_test_does_not_need_goes_to_the_others() {
        let mut share = Share::new(Some(Duration::from_secs(600)), 3);
        let shares = [(); 3].map(|()| share.next().expect("a time is shared").as_secs_f64().round() as u64);
        // No time passes here, so each test gets an equal part of everything.
        assert_eq!(shares, [200, 300, 600]);
        assert_eq!(Share::new(None, 3).next(), None);
    }

    #[test]
    fn a_single_limit_is_the_only_one() {
        let of = |settings: &str, words: &[&str]| {
            let budget = budget(settings, words, "t");
            (budget.runs, budget.time)
        };
        assert_eq!(of("", &[]), (1000, Duration::from_secs(10)));
        assert_eq!(of("", &["--runs", "5"]), (5, Duration::MAX));
        assert_eq!(of("runs = 5", &[]), (5, Duration::MAX));
        assert_eq!(of("", &["--time", "5s"]), (u64::MAX, Duration::from_secs(5)));
        assert_eq!(of("time = '5s'", &[]), (u64::MAX, Duration::from_secs(5)));
        assert_eq!(of("time = '5s'", &["--runs", "5"]), (5, Duration::from_secs(5)));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in
            [("rums = 5", "rums"), ("time = '5'", "unit"), ("[[test]]\nname = 'a'\nskip = true", "skip")]
        {
            let error = toml::from_str::<Settings>(text).err().expect("it is a mistake");
            assert!(error.message().contains(part), "{error}");
        }
        assert!(fits("a::*", "a::b") && !fits("a::", "a::b") && fits("a", "a"));
    }
}
