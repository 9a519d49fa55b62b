//! `raddle lab run`.

use crate::args::{RunArgs, TimeoutsArg, cores};
use crate::progress::Progress;
use crate::replay::{compile, config, read, repeat, shown};
use crate::{Outcome, minimize, strategies};
use anyhow::{Context, Result};
use raddle_engine::{Config, Replay, Strategy};
use raddle_explain::MOST_AUTOMATIC_STEPS;
use raddle_lab::exact::{self, Limits};
use raddle_lab::{Job, Machine, Recording, Tally, bound, sample_all};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Name, Settings, Surroundings, TraceFile, TraceStep};
use raddle_report::shape::{self, FirstFailure, Run};
use raddle_report::{Coverage, Layout, coverage, interleaving, sentences, text};
use raddle_strategies::Family;
use raddle_strategies::coverage::WINDOW;
use std::fmt::Write;
use std::path::PathBuf;

pub(crate) fn run(args: &RunArgs, width: usize) -> Result<Outcome> {
    let source = read(&args.file)?;
    let machine = compile(&source, &args.set).with_context(|| shown(&args.file).to_owned())?;
    let settings = settings(args);
    let jobs = args.strategy.iter().map(|spec| {
        Ok(Job {
            program: Box::new(machine.clone()),
            strategy: strategy(spec, args.coverage)?,
            config: config(settings),
            seed: args.seed,
            runs: args.runs,
            in_order: false,
            until_failure: args.until_bug,
        })
    });
    let jobs: Vec<Job> = jobs.collect::<Result<_>>()?;
    let progress = Progress::new(args.runs.saturating_mul(jobs.len() as u64));
    let tallies = sample_all(jobs, cores(args.jobs), &|runs| progress.add(runs));
    drop(progress);

    // The failing run that is shown and recorded is the first one of the first strategy that has one.
    let mut shown_failure: Option<TraceFile> = None;
    let mut reports = Vec::new();
    for (spec, tally) in args.strategy.iter().zip(&tallies) {
        let mut report = report(args, spec, tally);
        if args.exact {
            add_exact(&mut report, &machine, config(settings), spec, limits(args.exact_limit));
        }
        if args.coverage
            && let Some(ledger) = &tally.ledger
        {
            let names = machine.location_names();
            let place = |name: Name| names.get(name.0 as usize).cloned().unwrap_or_default();
            report.coverage = Some(Coverage::new(ledger, tally.saturation.clone(), place));
        }
        if let Some(recording) = &tally.first_failure {
            let mut file = trace_file(args, &source, &machine, settings, spec, recording)?;
            file.id = file.short_id();
            let is_first = shown_failure.is_none();
            let recorded = args.record.as_ref().filter(|_| is_first).map(|path| record_path(path, &file));
            let save = |file: &TraceFile| match &recorded {
                Some(path) => minimize::write(path, file),
                None => Ok(()),
            };
            save(&file)?;
            // Nobody sees a run that is neither shown nor kept.
            let is_short = file.steps.len() <= MOST_AUTOMATIC_STEPS;
            if is_first && is_short && !args.no_minimize && (recorded.is_some() || !args.json) {
                let mut lab = minimize::Lab::new(machine.clone(), &file);
                file = minimize::reduce(&file, &mut lab, minimize::AFTER_A_FAILURE, &save)?.unwrap_or(file);
                save(&file)?;
            }
            report.first_failure = Some(FirstFailure {
                run: recording.run,
                kind: recording.verdict.failure().map_or("", |failure| failure.kind()).to_owned(),
                message: sentences(&file).join("\n"),
                steps: file.steps.len() as u64,
                recorded: recorded.as_ref().map(|path| path.display().to_string()),
            });
            shown_failure.get_or_insert(file);
        }
        reports.push(report);
    }
    let status = if shown_failure.is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Ok(Outcome { text: reports.iter().map(shape::line).collect(), status });
    }
    let mut out = text::runs(&reports, width);
    for report in &reports {
        if let Some(covered) = &report.coverage {
            if reports.len() > 1 {
                let _ = writeln!(out, "\n{}:", report.strategy);
            }
            out.push_str(&coverage(covered, report.runs));
        }
    }
    match shown_failure {
        Some(file) => show(&mut out, args, &file, width),
        None => out.push_str("\nNo run failed.\n"),
    }
    Ok(Outcome { text: out, status })
}

/// The strategy that `spec` names; one whose runs are looked at for iRoots if that is `looked` for.
fn strategy(spec: &str, looked: bool) -> Result<Box<dyn Strategy>> {
    let strategy = raddle_strategies::build(spec)?;
    let covered = |strategy| Box::new(raddle_strategies::coverage::Coverage::new(strategy, WINDOW));
    Ok(if looked { covered(strategy) } else { strategy })
}

fn settings(args: &RunArgs) -> Settings {
    Settings {
        step_limit: args.step_limit,
        patience: args.patience,
        timeouts_anytime: args.timeouts == TimeoutsArg::Any,
        races: false,
        exit_last: false,
    }
}

fn report(args: &RunArgs, spec: &str, tally: &Tally) -> Run {
    // Nothing is known without a complete run.
    let (low, high) = bound::interval(tally.hits, tally.runs).unwrap_or((0.0, 1.0));
    Run {
        strategy: spec.to_owned(),
        runs: tally.runs,
        hits: tally.hits,
        hit_ratio: tally.hits as f64 / tally.runs.max(1) as f64,
        interval: [low, high],
        partial_orders: tally.census.distinct() as u64,
        seed: args.seed,
        failures: tally.failures.clone(),
        cut_off: tally.cut_off,
        exhausted: (strategies::family(spec) == Some(Family::Systematic)).then_some(tally.exhausted),
        space: tally.space,
        rests: tally.rests,
        threads: tally.threads,
        steps: tally.steps,
        ..Run::default()
    }
}

fn add_exact(report: &mut Run, machine: &Machine, config: Config, spec: &str, limits: Limits) {
    let computed = raddle_strategies::exact(spec).and_then(|strategy| {
        exact::compute(machine, config, &strategy, &limits).map_err(|error| error.to_string())
    });
    match computed {
        Ok(exact) => {
            report.exact = Some(exact.hit.to_string());
            report.exact_least = Some(exact.least.to_string());
            report.exact_partial_orders = Some(exact.partial_orders as u64);
            report.exact_reachable = Some(exact.covered as u64);
        }
        Err(reason) => report.exact_refused = Some(reason),
    }
}

/// How much may be computed, in the proportions of the defaults.
fn limits(beginnings: u64) -> Limits {
    let mut limits = Limits::default();
    let nodes = usize::try_from(beginnings).unwrap_or(usize::MAX);
    limits.nodes = nodes;
    limits.states = nodes.saturating_mul(4);
    limits.runs = beginnings.saturating_mul(20);
    limits
}

/// The recorded run as a file. It is repeated to learn its names, and so is known to repeat.
fn trace_file(
    args: &RunArgs,
    source: &str,
    machine: &Machine,
    settings: Settings,
    spec: &str,
    recording: &Recording,
) -> Result<TraceFile> {
    let mut machine = machine.clone();
    let settings = Settings { exit_last: recording.trace.exit_last, ..settings };
    let repeated = repeat(&mut machine, config(settings), Replay::new(&recording.trace))
        .with_context(|| format!("run {} does not repeat, which is a mistake of raddle", recording.run))?;
    Ok(TraceFile {
        id: String::new(),
        front_end: "lab".to_owned(),
        program: source.to_owned(),
        arguments: Vec::new(),
        build: None,
        surroundings: Surroundings::default(),
        parameters: machine.program().params.clone(),
        settings,
        strategy: spec.to_owned(),
        seed: args.seed,
        run: recording.run,
        minimized: None,
        verdict: repeated.verdict,
        fingerprint: repeated.fingerprint,
        threads: repeated.threads,
        objects: repeated.objects,
        locations: machine.location_names(),
        steps: repeated
            .events
            .iter()
            .map(|event| TraceStep { thread: event.thread.0, operation: event.operation })
            .collect(),
        picks: repeated.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
        values: repeated.values,
    })
}

/// Where the run of `file` is recorded: at `path`, or under its own name if there is none.
fn record_path(path: &Option<PathBuf>, file: &TraceFile) -> PathBuf {
    path.clone().unwrap_or_else(|| PathBuf::from(file.file_name()))
}

/// The failing run, and the command that brings it back.
fn show(out: &mut String, args: &RunArgs, file: &TraceFile, width: usize) {
    let _ = writeln!(
        out,
        "\nThe first failing run: number {} of seed {} under {}, {}.\n",
        file.run,
        file.seed,
        file.strategy,
        text::plural(file.steps.len() as u64, "step")
    );
    minimize::tell(out, file);
    out.push_str(&interleaving(file, Layout { width, ..Layout::default() }));
    match &args.record {
        Some(path) => {
            let path = record_path(path, file).display().to_string();
            let _ = writeln!(out, "\nReplay it: raddle replay {}", quoted(&path));
        }
        None => {
            let _ = writeln!(
                out,
                "\nReplay it: {}\nKeep it:   the same with --record bug.json, then raddle replay bug.json",
                command(args, file)
            );
        }
    }
}

/// The command that finds the run of `file` again and stops there.
fn command(args: &RunArgs, file: &TraceFile) -> String {
    let mut words = vec!["raddle lab run".to_owned(), quoted(&args.file)];
    let mut option = |name: &str, value: String| words.push(format!("--{name} {}", quoted(&value)));
    option("strategy", file.strategy.clone());
    for (name, value) in &args.set {
        option("set", format!("{name}={value}"));
    }
    option("seed", args.seed.to_string());
    option("runs", (file.run + 1).to_string());
    let usual = Config::default();
    if file.settings.timeouts_anytime {
        option("timeouts", "any".to_owned());
    }
    if file.settings.step_limit != usual.step_limit {
        option("step-limit", file.settings.step_limit.to_string());
    }
    if file.settings.patience != usual.patience {
        option("patience", file.settings.patience.to_string());
    }
    words.push("--until-bug".to_owned());
    words.join(" ")
}

/// A word as the shell wants it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
