//! The search: scenarios, their runs, and the smallest scenario that fails.

use super::outcome::{Refuted, Summary};
use super::reference::{Reference, Subject};
use super::run::{Interference, Plan, Progress, lock};
use super::scenario::{Scenario, Shape};
use crate::check::{Config, Failed, Memory, PORTFOLIO_NAME, Passed, Session, Test, Timeouts, repeat};
use raddle_engine::Rng;
use raddle_history::Condition;
use std::collections::BTreeSet;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

/// The scenarios of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Scenarios {
    /// This many, drawn.
    Drawn(u64),
    /// All up to the size.
    All,
    /// These, with threads separated by `|`; before and after them, separated by `;`.
    Given(Vec<Scenario>),
}

/// The progress that calls must make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Wanted {
    #[default]
    Any,
    LockFree,
    /// Lock-free, and no call takes more steps.
    WaitFree(u32),
}

/// The largest number of scenarios that [`Scenarios::All`] may have.
const MOST_SCENARIOS: usize = 100_000;

/// The number of runs in which all schedules of a scenario are tried to be executed, before random ones.
const EXHAUSTIVE_RUNS: u64 = 400;
/// The same for a candidate for a smaller scenario.
const EXHAUSTIVE_RUNS_OF_SMALLER: u64 = 4_000;
/// The maximum number of candidates for a smaller scenario.
const MOST_CANDIDATES: usize = 400;

/// The strategy that executes all schedules.
const EXHAUSTIVE: &str = "dpor";

/// A check.
pub(super) struct Search<'a, S, K> {
    pub(super) subject: Subject<S>,
    pub(super) reference: &'a K,
    pub(super) config: &'a Config,
    pub(super) shape: Shape,
    pub(super) scenarios: &'a Scenarios,
    pub(super) condition: Condition,
    pub(super) wanted: Wanted,
    pub(super) location: &'static Location<'static>,
}

/// A scenario that fails.
struct Found {
    scenario: Scenario,
    interference: Interference,
    failed: Box<Failed>,
}

impl<S: Sync + 'static, K: Reference<S>> Search<'_, S, K> {
    /// Executes the check of the test `test`.
    pub(super) fn run(&self, test: &str) -> Result<Summary, Box<Refuted>> {
        let session = Session::begin(test);
        if let Some(path) = session.recorded() {
            return self.replay(&session, path);
        }
        let mut config = session.config(self.config);
        if self.subject.operations.iter().any(|operation| operation.waits) {
            // A call that waits for ever is one that still waits when nothing else can happen.
            config.timeouts = Timeouts::WhenIdle;
        }
        let mut summary = Summary { condition: self.condition, ..Summary::default() };
        for scenario in self.scenarios(config.seed) {
            summary.scenarios += 1;
            if let Err(found) = self.examine(&session, &config, &scenario, &mut summary) {
                let runs = summary.runs;
                let found = self.smallest(&session, &config, found);
                return Err(self.report(&session, &config, found, summary.scenarios, runs));
            }
        }
        Ok(summary)
    }

    /// Returns the scenarios of the check.
    fn scenarios(&self, seed: u64) -> Vec<Scenario> {
        match self.scenarios {
            Scenarios::Given(scenarios) => scenarios.clone(),
            Scenarios::All => Scenario::all(self.shape, &self.subject.operations, MOST_SCENARIOS).unwrap_or_else(|| {
                panic!("there are more than {MOST_SCENARIOS} scenarios of this size\nhelp: ask for fewer calls, or fewer arguments")
            }),
            &Scenarios::Drawn(count) => {
                let (mut drawn, mut seen) = (Vec::new(), BTreeSet::new());
                // There may be fewer different scenarios.
                for number in 0..count.saturating_mul(4) {
                    let mut rng = Rng::for_run(seed, number);
                    let scenario = Scenario::draw(&mut rng, self.shape, &self.subject.operations);
                    if (drawn.len() as u64) < count && seen.insert(scenario.clone()) {
                        drawn.push(scenario);
                    }
                }
                // A small scenario takes few runs, and its failure is short.
                drawn.sort_by_key(|scenario| scenario.calls().len());
                drawn
            }
        }
    }

    /// Examines a scenario: the results of its calls, and their progress.
    fn examine(
        &self,
        session: &Session,
        config: &Config,
        scenario: &Scenario,
        summary: &mut Summary,
    ) -> Result<(), Found> {
        let interference = self.interference(None);
        let found = |failed| Found { scenario: scenario.clone(), interference, failed };
        let (passed, progress) =
            self.execute(session, config, scenario, interference, EXHAUSTIVE_RUNS).map_err(found)?;
        summary.add(&passed);
        summary.most_steps = summary.most_steps.max(progress.steps);
        let waits = scenario.calls().iter().any(|(_, call)| self.subject.operations[call.operation].waits);
        if self.wanted == Wanted::Any || waits || scenario.threads.len() < 2 {
            return Ok(());
        }
        summary.halted_scenarios += 1;
        for thread in 0..scenario.threads.len() {
            for step in 0.. {
                let interference = self.interference(Some((thread, step)));
                let found = |failed| Found { scenario: scenario.clone(), interference, failed };
                let (passed, progress) =
                    self.execute(session, config, scenario, interference, EXHAUSTIVE_RUNS).map_err(found)?;
                if !progress.has_halted {
                    break;
                }
                summary.add_halts(&passed);
            }
        }
        Ok(())
    }

    fn interference(&self, halt: Option<(usize, u32)>) -> Interference {
        let most_steps = match self.wanted {
            Wanted::WaitFree(most) => Some(most),
            Wanted::Any | Wanted::LockFree => None,
        };
        Interference { halt, most_steps, counts: self.wanted != Wanted::Any }
    }

    fn plan(
        &self,
        session: &Session,
        config: &Config,
        scenario: &Scenario,
        interference: Interference,
    ) -> Result<Arc<Plan<S>>, Box<Failed>> {
        let one = Config { strategy: "random-walk".to_owned(), runs: 1, jobs: 1, ..config.clone() };
        let run = |test: Test| session.search(&one, None, &test).map(|_| ());
        let machine = self.reference.machine(&self.subject, &scenario.calls(), self.condition, run)?;
        Ok(Plan::new(self.subject.clone(), scenario, self.condition, interference, machine, self.location))
    }

    /// Executes runs of a scenario: all schedules, if that takes at most `exhaustive` runs, and otherwise those that `config`
    /// asks for.
    fn execute(
        &self,
        session: &Session,
        config: &Config,
        scenario: &Scenario,
        interference: Interference,
        exhaustive: u64,
    ) -> Result<(Vec<Passed>, Progress), Box<Failed>> {
        let plan = self.plan(session, config, scenario, interference)?;
        let test = plan.test();
        let mut passed = Vec::new();
        if config.strategy == PORTFOLIO_NAME {
            let all = Config { strategy: EXHAUSTIVE.to_owned(), runs: exhaustive, ..config.clone() };
            passed.push(session.search(&all, None, &test)?);
        }
        // The portfolio may explore weak memory, and the exhaustive strategy does only if it has to.
        let is_over =
            |passed: &Passed| passed.exhausted && (config.memory != Memory::Auto || !passed.has_weak_orders);
        if !passed.first().is_some_and(is_over) {
            passed.push(session.search(config, None, &test)?);
        }
        let progress = *lock(&plan.progress);
        Ok((passed, progress))
    }

    /// Returns the smallest scenario that was found to fail: removing any of its calls makes it pass.
    fn smallest(&self, session: &Session, config: &Config, found: Found) -> Found {
        let config = &Config { minimize: false, explain: false, failures: None, ..config.clone() };
        let mut found = found;
        let mut tried = BTreeSet::new();
        'smaller: loop {
            for scenario in found.scenario.smaller(&self.subject.operations) {
                if tried.len() >= MOST_CANDIDATES || !tried.insert(scenario.clone()) {
                    continue;
                }
                if let Some(smaller) = self.fails(session, config, &scenario, found.interference) {
                    found = smaller;
                    continue 'smaller;
                }
            }
            return found;
        }
    }

    /// Returns a failure of a scenario, if there is one with the same kind of interference.
    fn fails(
        &self,
        session: &Session,
        config: &Config,
        scenario: &Scenario,
        interference: Interference,
    ) -> Option<Found> {
        let execute =
            |interference| self.execute(session, config, scenario, interference, EXHAUSTIVE_RUNS_OF_SMALLER);
        let found = |interference, failed| Found { scenario: scenario.clone(), interference, failed };
        if interference.halt.is_none() {
            return execute(interference).err().map(|failed| found(interference, failed));
        }
        for thread in 0..scenario.threads.len() {
            for step in 0.. {
                let interference = self.interference(Some((thread, step)));
                match execute(interference) {
                    Err(failed) => return Some(found(interference, failed)),
                    Ok((_, progress)) if !progress.has_halted => break,
                    Ok(_) => {}
                }
            }
        }
        None
    }

    /// Minimizes the schedule, records it and describes it.
    fn report(
        &self,
        session: &Session,
        config: &Config,
        found: Found,
        scenarios: u64,
        runs: u64,
    ) -> Box<Refuted> {
        let Found { scenario, interference, failed } = found;
        let mut parameters = scenario.to_parameters();
        if let Some((thread, step)) = interference.halt {
            parameters.extend([(HALTED.to_owned(), thread as i64), (BEFORE.to_owned(), i64::from(step))]);
        }
        let Ok(plan) = self.plan(session, config, &scenario, interference) else {
            // One thread alone makes it fail, so the schedule has no part in it.
            return Box::new(Refuted::of_one_thread(failed, self.text(&scenario), scenarios, runs));
        };
        let test = plan.test();
        let failed = session.finish_with(failed, config, &test, |file| {
            repeat(file, &test);
            file.parameters.extend(parameters);
            file.details.history = plan.history();
        });
        Box::new(Refuted::new(failed, &plan, self.text(&scenario), interference, Some((scenarios, runs))))
    }

    /// Replays the run of a failure file, which names its scenario.
    fn replay(&self, session: &Session, path: &Path) -> Result<Summary, Box<Refuted>> {
        let parameters = Session::parameters(path);
        let Some(scenario) = Scenario::of_parameters(&parameters) else {
            panic!("RADDLE_REPLAY: {}: the file has no scenario of operations", path.display());
        };
        let known = |(_, call): &(_, super::scenario::Call)| {
            self.subject
                .operations
                .get(call.operation)
                .is_some_and(|operation| call.argument < operation.arguments)
        };
        if !scenario.calls().iter().all(known) {
            panic!(
                "RADDLE_REPLAY: {}: the operations have changed since the file was recorded",
                path.display()
            );
        }
        let number =
            |name: &str| parameters.iter().find(|(other, _)| other == name).map(|(_, number)| *number);
        let halt = number(HALTED).zip(number(BEFORE)).map(|(thread, step)| (thread as usize, step as u32));
        let interference = self.interference(halt);
        let plan = self
            .plan(session, &session.config(self.config), &scenario, interference)
            .unwrap_or_else(|failed| panic!("{failed}"));
        let outcome = session.replay(path, &plan.test());
        let summary = |passed: Passed| {
            let mut summary = Summary { condition: self.condition, scenarios: 1, ..Summary::default() };
            summary.add(&[passed]);
            summary
        };
        outcome
            .map(summary)
            .map_err(|failed| Box::new(Refuted::new(failed, &plan, self.text(&scenario), interference, None)))
    }

    fn text(&self, scenario: &Scenario) -> String {
        scenario.text(&self.subject.operations)
    }
}

/// The parameters of a failure file that say which thread halts and before which step.
const HALTED: &str = "halted thread";
const BEFORE: &str = "halted before step";
