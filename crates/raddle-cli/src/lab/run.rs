//! `raddle lab run`.

use crate::args::RunArgs;
use crate::ci::Reports;
use crate::input::{read, shown};
use crate::outcome::Outcome;
use crate::progress::{Progress, Waiting};
use crate::result::{Executed, Failing, MergedTarget, TargetResult, identity, part};
use crate::show::{self, quoted};
use crate::strategies;
use anyhow::{Context, Result, bail};
use raddle_engine::{Config, Replay, Strategy};
use raddle_explain::MOST_AUTOMATIC_STEPS;
use raddle_lab::exact::{self, Exact, Limits};
use raddle_lab::{Job, Lab, Machine, Sampled, SeenOrder, SeenOrders, compile, sample_part};
use raddle_launch::{Output, reason, record_path, write};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, FrontEnd, MemoryModel, Name, Settings, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, CargoTest, FirstFailure, ListedOrder, Run, TestStatus};
use raddle_report::{Coverage, coverage, text};
use raddle_search::{
    AFTER_A_FAILURE, Lanes, Part, Portfolio, Recording, Search, ShardResult, Tally, bound, claims, reduce,
};
use raddle_strategies::Family;
use raddle_strategies::coverage::WINDOW;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The runs of one strategy.
struct Sample {
    spec: String,
    lanes: Lanes,
    tally: Tally,
    /// The first failing run and its number.
    first: Option<(u64, TraceFile)>,
    orders: Option<Vec<ListedOrder>>,
}

/// The program, as results of shards store it.
#[derive(Serialize, Deserialize)]
struct Facts {
    source: String,
    settings: Settings,
}

pub(crate) fn run(args: &RunArgs, width: usize) -> Result<Executed> {
    let mut reports = Reports::open(&args.search.ci)?;
    let source = read(&args.file)?;
    let program = Program::new(args, source, settings(args)?)?;
    let budget = args.search.counting_budget();
    let specs = specs(args);
    let orders: Vec<SeenOrders> = specs.iter().map(|_| SeenOrders::default()).collect();
    let jobs = specs.iter().zip(&orders).map(|(spec, orders)| {
        Ok(Job {
            program: Box::new(program.machine.clone()),
            lanes: lanes(spec, args, orders)?,
            config: program.settings.into(),
            seed: args.search.seed(),
            budget: budget.clone(),
        })
    });
    let jobs: Vec<Job> = jobs.collect::<Result<_>>()?;
    let parts = jobs.iter().map(|job| part(&args.search.part, &job.lanes));
    let part = parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().next();
    let part = args.search.part.counted(part);
    let progress = Progress::new(budget.runs.saturating_mul(jobs.len() as u64));
    let sampled = sample_part(&jobs, part, args.search.jobs(), &|runs| progress.add(runs))?;
    drop(progress);
    let (mut samples, mut results) = (Vec::new(), Vec::new());
    for (((spec, job), sampled), orders) in specs.into_iter().zip(jobs).zip(sampled).zip(&orders) {
        let first = sampled.first.as_ref().map(|(turn, recording)| {
            let file = program.file_of(&job.lanes.get(turn.lane).spec, recording, args.search.seed())?;
            anyhow::Ok((turn.number, file))
        });
        let first = first.transpose()?;
        if let Some(part) = part {
            let failing = first.as_ref().map(|(_, file)| Failing::new(file.clone(), Output::default()));
            results.push(program.result(&spec, part, &job, &sampled, failing)?);
        }
        let orders = args.orders.then(|| orders.take().into_iter().map(listed).collect());
        samples.push(Sample { spec, lanes: job.lanes, tally: sampled.tally, first, orders });
    }
    let outcome = program.report(args, samples, &mut reports, width)?;
    Ok(Executed { outcome, results, is_complete: true })
}

/// Prints the report of merged shards.
pub(crate) fn merged(
    args: &RunArgs,
    targets: Vec<MergedTarget>,
    reports: &mut Reports,
    width: usize,
) -> Result<Outcome> {
    let first = targets.first().context("the results have no program")?;
    let Facts { source, settings } = first.facts()?;
    let program = Program::new(args, source, settings)?;
    let sample = |target: MergedTarget| {
        let merged = target.runs.context("the results have no runs\nhelp: run the shards again")?;
        Ok(Sample {
            lanes: Lanes::of_specs(&target.strategies)?,
            spec: target.name,
            tally: merged.tally,
            first: merged.first.map(|(number, failing)| (number, failing.file)),
            orders: None,
        })
    };
    let samples = targets.into_iter().map(sample).collect::<Result<Vec<_>>>()?;
    program.report(args, samples, reports, width)
}

/// A compiled program.
struct Program {
    source: String,
    machine: Machine,
    settings: Settings,
}

impl Program {
    fn new(args: &RunArgs, source: String, settings: Settings) -> Result<Program> {
        let machine = compile(&source, &args.set).with_context(|| shown(&args.file).to_owned())?;
        Ok(Program { source, machine, settings })
    }

    /// Returns the result of a shard.
    fn result(
        &self,
        spec: &str,
        part: Part,
        job: &Job,
        sampled: &Sampled,
        failing: Option<Failing>,
    ) -> Result<TargetResult> {
        let Job { lanes, seed, budget, .. } = job;
        let part_of = Search {
            lanes,
            budget: budget.clone(),
            jobs: 1,
            part: Some(part),
            known: None,
            watch: &|_| (),
            every: 1,
        };
        let facts = [
            ("the program", format!("{:016x}", Name::of_text(&self.source).0)),
            ("the parameters", format!("{:?}", self.machine.program().params)),
            ("the settings of runs", serde_json::to_string(&self.settings)?),
        ];
        let name = identity(&part_of, part, *seed, facts);
        Ok(TargetResult {
            name: spec.to_owned(),
            strategies: lanes.specs(),
            seconds: 0.0,
            facts: serde_json::to_value(Facts { source: self.source.clone(), settings: self.settings })?,
            runs: Some(ShardResult::new(part, name, &part_of, sampled, failing)),
            races: None,
            lost: None,
        })
    }

    /// Writes the reports, and returns the output of the command.
    fn report(
        &self,
        args: &RunArgs,
        samples: Vec<Sample>,
        reports_of_ci: &mut Reports,
        width: usize,
    ) -> Result<Outcome> {
        let Program { machine, settings, .. } = self;
        // The displayed and recorded failing run is the first one of the first strategy that has one.
        let mut shown_failure: Option<(TraceFile, Option<String>)> = None;
        let mut reports = Vec::new();
        for Sample { spec, lanes, tally, first, orders } in samples {
            let mut report = report(args, &spec, &tally);
            report.claims = claims(&tally, &lanes);
            report.orders = orders;
            if args.exact {
                add_exact(&mut report, machine, (*settings).into(), &spec, Limits::of(args.exact_limit));
            }
            if args.coverage {
                let names = machine.location_names();
                let place = |name: Name| names.get(name.0 as usize).cloned().unwrap_or_default();
                report.coverage = Some(Coverage::new(&tally.covered.ledger, tally.saturation.clone(), place));
            }
            if let Some((number, file)) = first {
                let is_first = shown_failure.is_none();
                let kind = file.verdict.failure().map_or("", |failure| failure.kind()).to_owned();
                let kept = keep(args, machine, file, is_first)?;
                report.first_failure = Some(FirstFailure {
                    run: number,
                    kind,
                    message: verdict(&kept.0).join("\n"),
                    steps: kept.0.steps.len() as u64,
                    recorded: kept.1.clone(),
                });
                reports_of_ci.add(test(args, &report), Some(&kept.0));
                shown_failure.get_or_insert(kept);
            } else {
                reports_of_ci.add(test(args, &report), None);
            }
            reports.push(report);
        }
        reports_of_ci.write(true)?;
        let status = if shown_failure.is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
        if args.search.json {
            return Ok(Outcome { text: reports.iter().map(shape::line).collect(), status });
        }
        let mut out = String::new();
        if let Some((file, recorded)) = &shown_failure {
            show(&mut out, args, file, recorded.as_deref(), width);
            out.push('\n');
        }
        out.push_str(&text::runs(&reports, width));
        for report in &reports {
            if let Some(covered) = &report.coverage {
                if reports.len() > 1 {
                    let _ = writeln!(out, "\n{}:", report.strategy);
                }
                out.push_str(&coverage(covered, report.runs));
            }
        }
        if shown_failure.is_none() {
            out.push_str(&passed(settings.memory, machine));
        }
        Ok(Outcome { text: out, status })
    }

    /// Returns the recorded run as a file. It is repeated to learn its names, which also confirms that it
    /// repeats.
    fn file_of(&self, spec: &str, recording: &Recording, seed: u64) -> Result<TraceFile> {
        let settings = Settings {
            exit_last: recording.trace.exit_last,
            timeouts_anytime: recording.trace.timeouts_anytime,
            ..self.settings
        };
        let origin = TraceFile {
            program: self.source.clone(),
            parameters: self.machine.program().params.clone(),
            settings,
            strategy: spec.to_owned(),
            seed,
            run: recording.run,
            ..TraceFile::new(FrontEnd::Lab)
        };
        let mut replay = Replay::new(&recording.trace);
        let run = Lab::new(self.machine.clone(), &origin).run(&mut replay);
        match replay.divergence() {
            None => Ok(TraceFile { id: run.short_id(), ..run }),
            Some(divergence) => bail!("internal error: run {} does not repeat: {divergence}", recording.run),
        }
    }
}

/// Returns the verdict on a program none of whose runs failed.
fn passed(memory: MemoryModel, machine: &Machine) -> String {
    match memory {
        MemoryModel::Weak => "\nNo run failed under weak memory.\n".to_owned(),
        MemoryModel::Sc if machine.program().has_weak_orders() => "\nNo run failed.\n\
             note: the program uses memory orders weaker than seq_cst, and weak memory was not explored\n\
             help: --memory weak explores it\n"
            .to_owned(),
        MemoryModel::Sc => "\nNo run failed.\n".to_owned(),
    }
}

/// Returns the settings of all runs.
fn settings(args: &RunArgs) -> Result<Settings> {
    Ok(Settings { memory: args.memory.model()?, ..args.search.settings() })
}

/// Returns all compared strategies together.
pub(crate) fn strategies(args: &RunArgs) -> Result<Lanes> {
    Ok(Lanes::parse(&specs(args).join("+"), Portfolio::Programs)?)
}

/// Returns the compared strategies.
fn specs(args: &RunArgs) -> Vec<String> {
    if args.search.strategy.is_empty() { vec!["pos".to_owned()] } else { args.search.strategy.clone() }
}

/// Returns the strategies of `spec`; their runs are examined for iRoots or partial orders if `args` request
/// that.
fn lanes(spec: &str, args: &RunArgs, orders: &SeenOrders) -> Result<Lanes> {
    let lanes = Lanes::parse(spec, Portfolio::Programs)?;
    let covered =
        |strategy| -> Box<dyn Strategy> { Box::new(raddle_strategies::coverage::coverage(strategy, WINDOW)) };
    Ok(match args {
        RunArgs { coverage: true, .. } => lanes.wrapped(covered),
        RunArgs { orders: true, .. } => lanes.wrapped(|strategy| orders.watch(strategy)),
        _ => lanes,
    })
}

fn listed((fingerprint, order): (u64, SeenOrder)) -> ListedOrder {
    ListedOrder {
        fingerprint: hexadecimal(fingerprint),
        runs: order.runs,
        failure: order.failure.map(str::to_owned),
        schedule: Some(order.schedule),
        picks: order.picks,
        exact: None,
    }
}

fn hexadecimal(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

/// Minimizes and records a failing run, if it will be displayed. Returns the run and its path.
fn keep(
    args: &RunArgs,
    machine: &Machine,
    mut file: TraceFile,
    is_first: bool,
) -> Result<(TraceFile, Option<String>)> {
    let recorded = args.record.as_ref().filter(|_| is_first);
    let recorded = recorded.map(|path| record_path(path.as_deref(), &file));
    if let Some(path) = &recorded {
        write(path, &file)?;
    }
    let is_short = file.steps.len() <= MOST_AUTOMATIC_STEPS;
    if is_first && is_short && !args.search.no_minimize && (recorded.is_some() || !args.search.json) {
        let mut lab = Lab::new(machine.clone(), &file);
        let mut save = |small: &TraceFile| match &recorded {
            Some(path) => write(path, small),
            None => Ok(()),
        };
        let small = reduce(&file, &mut lab, AFTER_A_FAILURE, &Waiting::default(), &mut save)?;
        file = small.unwrap_or(file);
        file.details.reason = reason(&mut lab, &file);
        save(&file)?;
    }
    Ok((file, recorded.map(|path| path.display().to_string())))
}

fn report(args: &RunArgs, spec: &str, tally: &Tally) -> Run {
    // Nothing is known without a complete run.
    let (low, high) = bound::interval(tally.failures, tally.runs).unwrap_or((0.0, 1.0));
    Run {
        strategy: spec.to_owned(),
        runs: tally.runs,
        hits: tally.failures,
        hit_ratio: tally.failures as f64 / tally.runs.max(1) as f64,
        interval: [low, high],
        partial_orders: tally.partial_orders(),
        seed: args.search.seed(),
        failures: tally.kinds.clone(),
        cut_off: tally.cut_off,
        inconclusive: tally.inconclusive,
        exhausted: (tally.exhausted || strategies::family(spec) == Some(Family::Systematic))
            .then_some(tally.exhausted),
        space: tally.estimate,
        rests: tally.rests,
        threads: tally.threads,
        steps: tally.steps,
        ..Run::default()
    }
}

/// Returns the runs of a strategy as a test.
fn test(args: &RunArgs, report: &Run) -> CargoTest {
    let first = report.first_failure.as_ref();
    let recorded = first.and_then(|first| first.recorded.clone());
    CargoTest {
        binary: shown(&args.file).to_owned(),
        test: report.strategy.clone(),
        status: if report.hits > 0 { TestStatus::Failed } else { TestStatus::Passed },
        runs: report.runs,
        failures: report.hits,
        kind: first.map(|first| first.kind.clone()),
        message: first.map(|first| first.message.clone()),
        first_failure: first.map(|first| first.run),
        replay: recorded.as_ref().map(|file| format!("raddle replay {file}")),
        failure_file: recorded,
        strategy: report.strategy.clone(),
        seed: report.seed,
        ..CargoTest::default()
    }
}

fn add_exact(report: &mut Run, machine: &Machine, config: Config, spec: &str, limits: Limits) {
    if config.memory == MemoryModel::Weak {
        report.exact_refused = Some("probabilities under weak memory are not computed".to_owned());
        return;
    }
    let computed = raddle_strategies::exact(spec).and_then(|strategy| {
        exact::compute(machine, config, &strategy, &limits).map_err(|error| error.to_string())
    });
    match computed {
        Ok(exact) => {
            report.exact = Some(exact.hit.to_string());
            report.exact_least = Some(exact.least.to_string());
            report.exact_partial_orders = Some(exact.partial_orders as u64);
            report.exact_reachable = Some(exact.covered as u64);
            if let Some(listed) = &mut report.orders {
                add_exact_orders(listed, &exact);
            }
        }
        Err(reason) => report.exact_refused = Some(reason),
    }
}

/// Adds the exact probability of every partial order, and the orders that no run had.
fn add_exact_orders(listed: &mut Vec<ListedOrder>, exact: &Exact) {
    let seen = listed.len();
    for order in &exact.orders {
        let fingerprint = hexadecimal(order.fingerprint);
        let probability = Some(order.probability.to_string());
        // They are sorted by fingerprint.
        match listed[..seen].binary_search_by(|entry| entry.fingerprint.cmp(&fingerprint)) {
            Ok(index) => listed[index].exact = probability,
            Err(_) => {
                listed.push(ListedOrder { fingerprint, exact: probability, ..ListedOrder::default() });
            }
        }
    }
}

/// Adds the failing run, and the command that reproduces it.
fn show(out: &mut String, args: &RunArgs, file: &TraceFile, recorded: Option<&str>, width: usize) {
    let found = format!("run {} of seed {} under {}", file.run, file.seed, file.strategy);
    show::head(out, shown(&args.file), &found, width);
    show::run(out, file, &Output::default(), show::terminal(args.search.show, width));
    match recorded {
        Some(path) => show::commands(out, path),
        None => {
            let _ = writeln!(out, "replay: {}\nkeep:   the same with --record bug.json", command(args, file));
        }
    }
}

/// Returns the command that finds the run of `file` again and stops there.
fn command(args: &RunArgs, file: &TraceFile) -> String {
    let mut words = vec!["raddle lab run".to_owned(), quoted(&args.file)];
    let mut option = |name: &str, value: String| words.push(format!("--{name} {}", quoted(&value)));
    option("strategy", file.strategy.clone());
    for (name, value) in &args.set {
        option("set", format!("{name}={value}"));
    }
    option("seed", args.search.seed().to_string());
    option("runs", (file.run + 1).to_string());
    let usual = Config::default();
    if file.settings.memory != usual.memory {
        option("memory", file.settings.memory.name().to_owned());
    }
    if file.settings.timeouts_anytime {
        option("timeouts", "any".to_owned());
    }
    if file.settings.step_limit != usual.step_limit {
        option("step-limit", file.settings.step_limit.to_string());
    }
    if file.settings.patience != usual.patience {
        option("patience", file.settings.patience.to_string());
    }
    if file.settings.step_limit_fails {
        words.push("--fail-on-step-limit".to_owned());
    }
    words.push("--until-bug".to_owned());
    words.join(" ")
}
