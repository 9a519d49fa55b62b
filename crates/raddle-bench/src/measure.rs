//! One program under one strategy.

use crate::manifest::Program;
use anyhow::{Context, Result, anyhow};
use raddle_cc::Source;
use raddle_engine::Census;
use raddle_lab::{Machine, assignment, compile};
use raddle_launch::native::{self, Native};
use raddle_model::{Environment, Settings};
use raddle_report::bench::Cell;
use raddle_search::{Budget, InProcess, Lanes, Portfolio, Search, Seen, Stop, bound, search as search_one};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The parameters of a measurement.
#[derive(Clone, Copy)]
pub struct Measure {
    /// Runs per cell; with trials, the maximum.
    pub runs: u64,
    /// The number of searches for the first failing run; 0: the share of runs that show the bug.
    pub trials: u64,
    /// The seed of all runs.
    pub seed: u64,
    /// True to run the versions without the bug.
    pub fixed: bool,
}

/// A program that can be run.
pub(crate) enum Ready {
    Native(Vec<String>),
    Lab(Box<Machine>),
}

impl Program {
    /// Compiles it, if necessary.
    pub(crate) fn prepare(&self, fixed: bool) -> Result<Ready> {
        let shown = self.source.display();
        let mut define = self.define.clone();
        if fixed {
            define.extend_from_slice(&self.fixed);
        }
        let name = self.source.to_str().with_context(|| format!("{shown}: the path is not valid UTF-8"))?;
        if self.source.extension().is_some_and(|end| end == "rdl") {
            let text =
                std::fs::read_to_string(&self.source).with_context(|| format!("cannot read {shown}"))?;
            let set: Vec<(String, i64)> = define
                .iter()
                .map(|text| assignment(text).map_err(|wrong| anyhow!("{shown}: `{text}`: {wrong}")))
                .collect::<Result<_>>()?;
            return Ok(Ready::Lab(Box::new(compile(&text, &set).with_context(|| shown.to_string())?)));
        }
        let program = match Source::of(name) {
            Some(source) => {
                let flags: Vec<String> = define.iter().map(|text| format!("-D{text}")).collect();
                source.compile(&flags)?
            }
            None => native::find(name)?,
        };
        let mut words =
            vec![program.to_str().context("the path of the program is not valid UTF-8")?.to_owned()];
        words.extend_from_slice(&self.arguments);
        Ok(Ready::Native(words))
    }
}

/// The counters of the runs.
struct Count<'a> {
    cell: Cell,
    verdict: &'a [String],
    census: Census,
    begun: Instant,
    /// The number of runs of the current trial.
    trial: u64,
}

impl Count<'_> {
    /// Counts a run; returns true if it showed the bug.
    fn count(&mut self, fingerprint: u64, kind: Option<&str>) -> bool {
        let cell = &mut self.cell;
        cell.runs += 1;
        self.trial += 1;
        self.census.count(fingerprint);
        cell.partial_orders = self.census.distinct() as u64;
        if cell.runs.is_power_of_two() {
            cell.growth.push(cell.partial_orders);
        }
        let Some(kind) = kind else { return false };
        if !self.verdict.iter().any(|expected| expected == kind) {
            *cell.unexpected.entry(kind.to_owned()).or_default() += 1;
            return false;
        }
        cell.hits += 1;
        let elapsed = self.begun.elapsed().as_secs_f64();
        cell.seconds_to_bug.get_or_insert(elapsed);
        true
    }
}

/// Executes the runs of a cell, on one core.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock; it decides nothing")]
pub(crate) fn measure(program: &Program, ready: &Ready, strategy: &str, how: Measure) -> Result<Cell> {
    let cell = Cell { case: program.case.name.clone(), strategy: strategy.to_owned(), ..Cell::default() };
    let begun = Instant::now();
    let count =
        Mutex::new(Count { cell, verdict: &program.verdict, census: Census::default(), begun, trial: 0 });
    for trial in 0..how.trials.max(1) {
        let seed = how.seed.wrapping_add(trial);
        locked(&count).trial = 0;
        let before = locked(&count).cell.hits;
        runs(program, ready, strategy, seed, how, &count)?;
        if how.trials > 0 {
            let mut count = locked(&count);
            let found = (count.cell.hits > before).then_some(count.trial);
            count.cell.first.push(found);
        }
    }
    let mut cell = count.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).cell;
    cell.seconds = begun.elapsed().as_secs_f64();
    cell.interval = bound::interval(cell.hits, cell.runs).ok().map(|(low, high)| [low, high]);
    Ok(cell)
}

fn locked<'a, 'b>(count: &'a Mutex<Count<'b>>) -> std::sync::MutexGuard<'a, Count<'b>> {
    count.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Executes the runs of one trial.
fn runs(
    program: &Program,
    ready: &Ready,
    strategy: &str,
    seed: u64,
    how: Measure,
    count: &Mutex<Count<'_>>,
) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(20);
    // Enough for every program here, and less than a second for an endless loop.
    let settings = Settings { step_limit: 100_000, ..Settings::default() };
    let lanes = Lanes::parse(strategy, Portfolio::Programs)?;
    let stop = if how.trials > 0 { Stop::FirstOf(program.verdict.clone()) } else { Stop::Never };
    let budget = Budget { stop, ..Budget::all(how.runs) };
    let watch = |seen: Seen<'_>| {
        let mut count = locked(count);
        if !seen.run.cut_off {
            count.count(seen.run.fingerprint, seen.run.kind());
        }
        count.cell.threads = count.cell.threads.max(seen.tally.threads);
        count.cell.steps = count.cell.steps.max(seen.tally.steps);
    };
    match ready {
        Ready::Native(words) => {
            let setup = native::setup(&lanes, seed, settings, PATIENCE);
            let environment = Environment::default();
            Native::new(words, &environment, &setup)?.search(&lanes, budget, 1, &watch)?;
        }
        Ready::Lab(machine) => {
            let target = InProcess { program: &**machine, lanes: &lanes, config: settings.into(), seed };
            let search =
                Search { lanes: &lanes, budget, jobs: 1, part: None, known: None, watch: &watch, every: 1 };
            search_one(&target, &search)?;
        }
    }
    Ok(())
}
