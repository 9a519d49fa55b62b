//! `raddle beam run`.

use super::server::{Program, Server, setup};
use super::{FRONT_END, Heard, minimize, show};
use crate::Outcome;
use crate::args::{BeamRunArgs, TimeoutsArg, cores};
use crate::native::{Plan, Tally, adapts, specs};
use crate::progress::Progress;
use anyhow::{Context, Result, ensure};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Settings, Surroundings, TraceFile};
use raddle_report::shape::{self, NativeRun};
use raddle_report::{sentences, text};
use raddle_strategies::portfolio::PORTFOLIO;
use std::fmt::Write;
use std::path::PathBuf;

pub(crate) fn run(args: &BeamRunArgs, width: usize) -> Result<Outcome> {
    let program = Program { test: args.test.clone(), places: places(args)? };
    let settings = Settings {
        step_limit: args.step_limit,
        timeouts_anytime: args.timeouts == TimeoutsArg::Any,
        patience: args.patience,
        races: false,
        exit_last: false,
    };
    let wall = u64::try_from(args.run_time.as_millis()).unwrap_or(u64::MAX);
    let setup = setup(strategies(&args.strategy)?, args.seed, settings, wall);
    let progress = Progress::new(args.runs);
    let look = |tally: &Tally, strategy: &str| {
        progress.add(1);
        progress.note(&|| tally.in_short(strategy));
    };
    let plan = Plan {
        words: std::slice::from_ref(&program.test),
        surroundings: &Surroundings::default(),
        setup: &setup,
        runs: args.runs,
        time: args.time,
        jobs: cores(args.jobs),
        keep_going: args.keep_going,
        adapt: adapts(&args.strategy),
        look: &look,
    };
    let tally = plan.explore_on(&|| Server::start(&program, &setup))?;
    drop(progress);

    let mut report = report(args, &tally);
    report.notes.extend(tally.lost.iter().map(|why| format!("not all runs were made: {why}")));
    let mut failing = None;
    if let Some((number, ran)) = &tally.first {
        let run = ran.trace.as_deref().cloned().context("the Erlang VM has told nothing of the run")?;
        let (file, heard, path) = keep(run, Heard::of(ran), &program, args)?;
        report.first_failure = Some(*number);
        report.kind = file.verdict.failure().map(|failure| failure.kind().to_owned());
        report.message = Some(sentences(&file).join("\n"));
        report.failure_file = Some(path.display().to_string());
        failing = Some((file, heard, path));
    }
    let status = if failing.is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Ok(Outcome { text: shape::line(&report), status });
    }
    let mut out = summary(&report);
    if let Some((file, heard, path)) = &failing {
        crate::minimize::tell(&mut out, file);
        show(&mut out, file, heard, width);
        let _ = writeln!(out, "\nReplay it: raddle replay {}", path.display());
    }
    for note in &report.notes {
        let _ = writeln!(out, "\nNote: {note}.");
    }
    Ok(Outcome { text: out, status })
}

/// The strategies that take turns under a name on the command line, the same ones as under `raddle:test`. That the end of the test waits for
/// the others, as that of a native program does, would change nothing: it ends the run.
fn strategies(strategy: &str) -> Result<Vec<String>> {
    if adapts(strategy) {
        Ok(PORTFOLIO.iter().map(|&spec| spec.to_owned()).collect())
    } else {
        specs(strategy)
    }
}

/// Where modules are, which nodes there are, what is allowed, how long runs may be, at what they fail and which faults there are, as the
/// application and failure files have it.
fn places(args: &BeamRunArgs) -> Result<Vec<String>> {
    let mut places = Vec::new();
    for directory in &args.pa {
        // A replay may be elsewhere.
        let whole = std::fs::canonicalize(directory)
            .with_context(|| format!("cannot find the directory {}", directory.display()))?;
        let whole = whole.to_str().with_context(|| format!("{}: the path is no text", whole.display()))?;
        places.extend(["--pa".to_owned(), whole.to_owned()]);
    }
    for node in &args.node {
        places.extend(["--node".to_owned(), node.clone()]);
    }
    for name in &args.allow {
        places.extend(["--allow".to_owned(), name.clone()]);
    }
    if let Some(limit) = args.virtual_time {
        places.extend(["--virtual-time".to_owned(), limit.as_millis().to_string()]);
    }
    for fails in &args.fail_on {
        places.extend(["--fail-on".to_owned(), fails.word().to_owned()]);
    }
    if let Some(faults) = &args.faults {
        ensure!(
            args.node.len() > 1,
            "--faults are those of nodes: --node names them, and the function runs on the first one"
        );
        places.extend(["--faults".to_owned(), faults.clone()]);
    }
    Ok(places)
}

/// Writes the failing run, of which this was heard, to where it stays, and makes it smaller there. Tells what was heard of the run that is there now.
fn keep(
    run: TraceFile,
    heard: Heard,
    program: &Program,
    args: &BeamRunArgs,
) -> Result<(TraceFile, Heard, PathBuf)> {
    let mut file = TraceFile {
        front_end: FRONT_END.to_owned(),
        program: program.test.clone(),
        arguments: program.places.clone(),
        ..run
    };
    file.id = file.short_id();
    let path = match args.record.as_deref() {
        Some(folder) if folder.is_dir() => folder.join(file.file_name()),
        Some(path) => path.to_owned(),
        None => PathBuf::from(file.file_name()),
    };
    crate::minimize::write(&path, &file)?;
    let small = if args.no_minimize { None } else { minimize::after_failure(&file, &path)? };
    let (file, heard) = small.unwrap_or((file, heard));
    Ok((file, heard, path))
}

fn report(args: &BeamRunArgs, tally: &Tally) -> NativeRun {
    NativeRun {
        verdict: if tally.failures > 0 { "failed" } else { "passed" }.to_owned(),
        runs: tally.runs,
        failures: tally.failures,
        partial_orders: tally.census.distinct() as u64,
        threads: tally.threads,
        steps: tally.steps,
        kinds: tally.kinds.clone(),
        rests: tally.rests,
        cut_off: tally.cut_off,
        exhausted: tally.exhausted,
        strategy: args.strategy.clone(),
        seed: args.seed,
        ..NativeRun::default()
    }
}

fn summary(report: &NativeRun) -> String {
    let mut out = format!(
        "{} under {}, seed {}: {}, up to {} and {}{}.\n",
        text::plural(report.runs, "run"),
        report.strategy,
        report.seed,
        text::plural(report.partial_orders, "partial order"),
        text::plural(report.threads, "actor"),
        text::plural(report.steps, "step"),
        if report.exhausted { "; no schedule is left" } else { "" }
    );
    if report.rests > 0 {
        let _ = writeln!(out, "Spinning processes were held back {} times.", text::count(report.rests));
    }
    match report.first_failure {
        None => out.push_str("No run failed.\n"),
        Some(first) => {
            let _ = writeln!(out, "Failed: {}; the first is run {first}.", text::kinds(&report.kinds));
        }
    }
    out
}
