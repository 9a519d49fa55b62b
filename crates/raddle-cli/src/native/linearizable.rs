//! `raddle run` of a program with `raddle/linearizable.h`: scenarios of calls are drawn, executed, verified and reduced.

use crate::args::NativeArgs;
use crate::outcome::Outcome;
use crate::progress::Waiting;
use crate::show;
use anyhow::{Context, Result, ensure};
use raddle_engine::Rng;
use raddle_launch::native::{Native, Program, namer, trace_file};
use raddle_launch::{Keep, Output, Subject};
use raddle_model::native::{RunResult, Setup, Threads};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Environment, TraceFile};
use raddle_report::text::{count, plural};
use raddle_search::{Budget, Deadline, Lanes, Portfolio, Stop};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// The text by which the header marks a program.
const MARK: &[u8] = b"raddle linearizable 1";
/// The number of scenarios.
const SCENARIOS: u64 = 100;
/// The number of runs in which all interleavings of a scenario have to be executed for it to be verified.
const EXHAUSTIVE: u64 = 400;
/// The number of random runs of another scenario.
const RANDOM: u64 = 500;
/// The strategies of these runs.
const STRATEGIES: [&str; 2] = ["dpor", "pos"];

/// Returns true if a program names operations, so that it needs a scenario.
pub(super) fn is_described(program: &Path) -> Result<bool> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    Ok(bytes.windows(MARK.len()).any(|window| window == MARK))
}

/// An operation as the program describes it.
struct Operation {
    name: String,
    /// The range of its argument, if it has one.
    arguments: Option<(i64, i64)>,
    /// The group, whose operations are called by one thread only.
    group: Option<String>,
}

/// The operations, and the size of scenarios.
#[derive(Default)]
struct Description {
    operations: Vec<Operation>,
    threads: usize,
    calls: u64,
    first: u64,
    last: u64,
}

impl Description {
    fn of(program: &Path) -> Result<Description> {
        let shown = program.display();
        let output = Command::new(program).arg("--describe").stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start {shown}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut description = Description::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse().unwrap_or_default();
            match words[..] {
                ["shape", threads, calls, first, last] => {
                    let of = |text: &str| text.parse::<u64>().unwrap_or_default();
                    description.threads = of(threads) as usize;
                    (description.calls, description.first, description.last) =
                        (of(calls), of(first), of(last));
                }
                ["operation", name, has_argument, _, _, group] => description.operations.push(Operation {
                    name: name.to_owned(),
                    arguments: (has_argument == "1").then(|| (number(3), number(4))),
                    group: (group != "-").then(|| group.to_owned()),
                }),
                _ => {}
            }
        }
        ensure!(
            !description.operations.is_empty() && description.threads > 0,
            "{shown}: describes no operations\nhelp: `main` has to end with: return raddle_linearizable(argc, argv);"
        );
        Ok(description)
    }

    /// Draws a scenario. The first half of them is smaller.
    fn draw(&self, number: u64, rng: &mut Rng) -> Scenario {
        let most = if 2 * number < SCENARIOS { self.calls.saturating_sub(1).max(1) } else { self.calls };
        let mut groups: Vec<&String> = Vec::new();
        for group in self.operations.iter().filter_map(|operation| operation.group.as_ref()) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        let of_group = |group: &String| groups.iter().position(|known| *known == group).unwrap_or(0);
        // A group belongs to a thread; without groups all threads are alike.
        let may_call = |thread: usize, operation: &Operation| {
            operation.group.as_ref().is_none_or(|group| of_group(group) % self.threads == thread)
        };
        let mut call = |allowed: &dyn Fn(&Operation) -> bool| {
            let operations: Vec<&Operation> = self.operations.iter().filter(|known| allowed(known)).collect();
            let chosen = operations.get(rng.below(operations.len().max(1) as u64) as usize)?;
            Some(Call {
                name: chosen.name.clone(),
                argument: chosen.arguments.map(|(low, high)| {
                    let span = high.saturating_sub(low).unsigned_abs().saturating_add(1);
                    low.saturating_add_unsigned(rng.below(span))
                }),
                least: chosen.arguments.map(|(low, _)| low),
            })
        };
        let part =
            |size: u64, call: &mut dyn FnMut() -> Option<Call>| (0..size).filter_map(|_| call()).collect();
        let first = part(self.first, &mut || call(&|_| true));
        let threads = (0..self.threads)
            .map(|thread| part(most, &mut || call(&|operation| may_call(thread, operation))))
            .collect();
        let last = part(self.last, &mut || call(&|_| true));
        Scenario { first, threads, last }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    name: String,
    argument: Option<i64>,
    /// The least argument of the operation.
    least: Option<i64>,
}

/// The calls of each thread, and those before and after.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Scenario {
    first: Vec<Call>,
    threads: Vec<Vec<Call>>,
    last: Vec<Call>,
}

impl Scenario {
    /// Returns the arguments of the program.
    fn words(&self) -> Vec<String> {
        let text = |calls: &[Call]| {
            let call = |call: &Call| {
                let argument = call.argument.map(|argument| argument.to_string()).unwrap_or_default();
                format!("{}({argument})", call.name)
            };
            calls.iter().map(call).collect::<Vec<_>>().join(" ")
        };
        let mut words = Vec::new();
        words.extend((!self.first.is_empty()).then(|| format!("first={}", text(&self.first))));
        words.extend(self.threads.iter().map(|calls| text(calls)));
        words.extend((!self.last.is_empty()).then(|| format!("last={}", text(&self.last))));
        words
    }

    fn parts(&mut self) -> Vec<&mut Vec<Call>> {
        let Scenario { first, threads, last } = self;
        std::iter::once(first).chain(threads).chain(std::iter::once(last)).collect()
    }

    /// Returns the scenarios that are one step smaller: without a call, or with the least argument in one.
    fn smaller(&self) -> Vec<Scenario> {
        let mut smaller = Vec::new();
        let sizes: Vec<usize> = self.clone().parts().iter().map(|calls| calls.len()).collect();
        for (part, size) in sizes.into_iter().enumerate() {
            for index in 0..size {
                let mut shorter = self.clone();
                shorter.parts()[part].remove(index);
                shorter.threads.retain(|calls| !calls.is_empty());
                smaller.push(shorter);
            }
        }
        for part in 0..self.threads.len() + 2 {
            let mut lower = self.clone();
            let mut changed = false;
            for call in lower.parts()[part].iter_mut() {
                changed |= call.argument != call.least;
                call.argument = call.least;
            }
            smaller.extend(changed.then_some(lower));
        }
        smaller.retain(|scenario| !scenario.threads.is_empty());
        smaller
    }
}

/// The result of the runs of one scenario.
enum Judged {
    /// All interleavings passed; so many.
    Verified(u64),
    /// So many random runs passed.
    Passed(u64),
    Failed(Box<RunResult>),
}

#[derive(Serialize)]
struct Report {
    verdict: &'static str,
    scenarios: u64,
    verified: u64,
    interleavings: u64,
    runs: u64,
    /// The smallest failing scenario.
    scenario: Option<Vec<String>>,
    failure_file: Option<String>,
}

/// Draws, executes and reduces scenarios.
struct Check<'a> {
    args: &'a NativeArgs,
    program: String,
    environment: Environment,
    setup: Setup,
    deadline: Deadline,
}

pub(super) fn run(args: &NativeArgs, program: &Path, setup: Setup, width: usize) -> Result<Outcome> {
    let description = Description::of(program)?;
    let check = Check {
        args,
        program: program.to_str().context("the path of the program is not valid UTF-8")?.to_owned(),
        environment: Environment::default(),
        setup,
        deadline: Deadline::new(args.search.time),
    };
    let mut rng = Rng::for_run(args.search.seed(), 0);
    let mut known = BTreeSet::new();
    let mut report = Report {
        verdict: "passed",
        scenarios: 0,
        verified: 0,
        interleavings: 0,
        runs: 0,
        scenario: None,
        failure_file: None,
    };
    for number in 0..SCENARIOS {
        let scenario = description.draw(number, &mut rng);
        if report.scenarios > 0 && check.deadline.is_over() || !known.insert(scenario.clone()) {
            continue;
        }
        report.scenarios += 1;
        match check.judge(&scenario)? {
            Judged::Verified(runs) => {
                report.verified += 1;
                report.interleavings += runs;
            }
            Judged::Passed(runs) => report.runs += runs,
            Judged::Failed(ran) => {
                let (scenario, ran) = check.reduce(scenario, ran)?;
                return check.failed(&scenario, &ran, report, width);
            }
        }
    }
    let text = if args.search.json { raddle_report::shape::line(&report) } else { passed(&report) };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

fn passed(report: &Report) -> String {
    let mut text = format!("PASS  {}", plural(report.scenarios, "scenario"));
    if report.verified > 0 {
        text.push_str(&format!(
            ": all {} of {} are linearizable",
            plural(report.interleavings, "interleaving"),
            count(report.verified)
        ));
    }
    let others = report.scenarios - report.verified;
    if others > 0 {
        text.push_str(&format!("; {} passed in {}", count(others), plural(report.runs, "random run")));
    }
    text + "\n"
}

impl Check<'_> {
    fn words(&self, scenario: &Scenario) -> Vec<String> {
        std::iter::once(self.program.clone()).chain(scenario.words()).collect()
    }

    /// Executes all interleavings of a scenario if they are few, otherwise random ones.
    fn judge(&self, scenario: &Scenario) -> Result<Judged> {
        let words = self.words(scenario);
        let mut passed = 0;
        for (strategy, usual) in STRATEGIES.into_iter().zip([EXHAUSTIVE, RANDOM]) {
            let lanes = Lanes::parse(strategy, Portfolio::Programs)?;
            let setup = Setup { strategies: lanes.specs(), ..self.setup.clone() };
            let budget =
                Budget { runs: self.args.search.runs.unwrap_or(usual), time: None, stop: Stop::FirstFailure };
            let target = Native::new(&words, &self.environment, &setup)?;
            let found = target.search(&lanes, budget, 1, &|_| ())?;
            if let Some((_, ran)) = found.first {
                return Ok(Judged::Failed(ran));
            }
            let tally = &found.tally;
            if tally.exhausted && tally.rests + tally.inconclusive == 0 {
                return Ok(Judged::Verified(tally.runs));
            }
            passed = tally.runs;
        }
        Ok(Judged::Passed(passed))
    }

    /// Makes a failing scenario smaller as long as that fails.
    fn reduce(&self, mut scenario: Scenario, mut ran: Box<RunResult>) -> Result<(Scenario, Box<RunResult>)> {
        'again: loop {
            for smaller in scenario.smaller() {
                if self.deadline.is_over() {
                    break;
                }
                if let Judged::Failed(found) = self.judge(&smaller)? {
                    (scenario, ran) = (smaller, found);
                    continue 'again;
                }
            }
            return Ok((scenario, ran));
        }
    }

    fn failed(
        &self,
        scenario: &Scenario,
        ran: &RunResult,
        mut report: Report,
        width: usize,
    ) -> Result<Outcome> {
        let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
            Ok(Box::new(Program::open(file, "the failing run", Threads::Fibers)?))
        };
        let keep = Keep {
            path: self.args.record.as_deref(),
            minimize: !self.args.search.no_minimize,
            explain: true,
            namer: namer(),
            open: &open,
            progress: &Waiting::default(),
        };
        let output = Output { printed: ran.output.clone(), ..Output::default() };
        let words = self.words(scenario);
        let kept = keep.keep(trace_file(ran, &words, &self.environment, &self.setup), output);
        report.verdict = "failed";
        report.scenario = Some(scenario.words());
        report.failure_file = kept.path.as_ref().map(|path| path.display().to_string());
        if self.args.search.json {
            return Ok(Outcome { text: raddle_report::shape::line(&report), status: EXIT_BUG_FOUND });
        }
        let name = Path::new(&self.program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut text = String::new();
        show::head(&mut text, &name, &format!("scenario {}", report.scenarios), width);
        let words: Vec<String> = scenario.words().iter().map(|word| show::quoted(word)).collect();
        text.push_str(&format!("the smallest failing scenario: {}\n\n", words.join(" ")));
        show::run(&mut text, &kept.file, &kept.output, show::terminal(self.args.search.show, width));
        report.failure_file.iter().for_each(|path| show::commands(&mut text, path));
        Ok(Outcome { text, status: EXIT_BUG_FOUND })
    }
}
