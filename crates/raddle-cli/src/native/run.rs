//! `raddle run`.

use super::FRONT_END;
use super::explore::{Plan, Tally};
use super::launch::find;
use super::places;
use super::races;
use super::show::{message, show};
use crate::Outcome;
use crate::args::{NativeArgs, PointsArg, RacesArg, TimeoutsArg, cores};
use crate::progress::Progress;
use anyhow::{Context, Result};
use raddle_model::native::{Points, Ran, SHARED, Setup};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Settings, TraceFile};
use raddle_report::shape::{self, NativeRun, Races};
use raddle_report::text;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The strategies of `portfolio`, in the order of their turns.
const PORTFOLIO: &[&str] = &["pos", "pct:depth=3", "surw", "oos", "upo", "random-walk"];

pub(crate) fn run(args: &NativeArgs, width: usize) -> Result<Outcome> {
    let program = find(&args.program[0])?;
    let mut words = vec![program.to_str().context("the program's path is no text")?.to_owned()];
    words.extend_from_slice(&args.program[1..]);
    let setup = setup(args)?;
    let progress = Progress::new(args.runs);
    let look = |tally: &Tally, strategy: &str| {
        progress.add(1);
        progress.note(&|| {
            let orders = text::plural(tally.census.distinct() as u64, "partial order");
            format!("{orders}, {}, {strategy}", text::plural(tally.failures, "failure"))
        });
    };
    let plan = Plan {
        words: &words,
        setup: &setup,
        runs: args.runs,
        time: args.time,
        jobs: cores(args.jobs),
        keep_going: args.keep_going,
        look: &look,
    };
    let tally = plan.explore()?;
    let second_look = args.races == RacesArg::Report && tally.failures == 0;
    let races = if second_look { races::look(&plan, &program)? } else { None };
    drop(progress);

    let mut report = report(args, &tally);
    report.races = races;
    let status = if tally.failures > 0 { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let mut failing = None;
    if let Some((number, ran)) = &tally.first {
        let path = args.record.clone().unwrap_or_else(|| default_record(&program));
        let mut file = trace_file(ran, &words, setup.points);
        places::translate(&mut file);
        std::fs::write(&path, file.to_json())
            .with_context(|| format!("cannot write the failing run to {}", path.display()))?;
        report.first_failure = Some(*number);
        report.failure_file = Some(path.display().to_string());
        report.message = Some(message(&file).join("\n"));
        failing = Some((file, ran.output.clone(), path));
    }
    if args.json {
        return Ok(Outcome { text: shape::line(&report), status });
    }
    let mut out = summary(&report);
    if let Some((file, output, path)) = failing {
        show(&mut out, &file, &output, width);
        let _ = writeln!(out, "\nReplay it: raddle replay {}", path.display());
    }
    Ok(Outcome { text: out, status })
}

fn setup(args: &NativeArgs) -> Result<Setup> {
    let strategies: Vec<String> = if args.strategy == "portfolio" {
        PORTFOLIO.iter().map(|&spec| spec.to_owned()).collect()
    } else {
        args.strategy.split('+').map(str::to_owned).collect()
    };
    for spec in &strategies {
        raddle_strategies::build(spec)?;
    }
    Ok(Setup {
        strategies,
        seed: args.seed,
        settings: Settings {
            step_limit: args.step_limit,
            timeouts_anytime: args.timeouts == TimeoutsArg::Any,
            patience: args.patience,
            races: args.races == RacesArg::Fail,
        },
        points: match args.points {
            PointsArg::All => Points::All,
            PointsArg::Shared => Points::Shared,
            PointsArg::Sync => Points::Sync,
        },
        patience_ms: u64::try_from(args.run_time.as_millis()).unwrap_or(u64::MAX),
        expected: args.expect_output.as_deref().map(expected).transpose()?,
    })
}

/// The path of a file with the expected output, for processes and replays that may be elsewhere.
fn expected(path: &Path) -> Result<String> {
    let whole = std::fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))?;
    Ok(whole.to_str().context("the path of the expected output is no text")?.to_owned())
}

/// The failing run with the program that it is of.
fn trace_file(ran: &Ran, words: &[String], points: Points) -> TraceFile {
    let mut file = ran.trace.as_deref().cloned().expect("the first failing run was asked for with its trace");
    file.front_end = FRONT_END.to_owned();
    file.program = serde_json::to_string(words).expect("words are texts");
    file.parameters = vec![(POINTS.to_owned(), points as i64)];
    file.parameters.extend(ran.shared.iter().map(|&unit| (SHARED.to_owned(), unit as i64)));
    file
}

/// The parameter of a trace file that tells at which accesses the schedule could change.
pub(super) const POINTS: &str = "points";

fn default_record(program: &Path) -> PathBuf {
    let name = program.file_name().map_or_else(|| "program".into(), |name| name.to_string_lossy());
    PathBuf::from(format!("{name}.raddle.json"))
}

fn report(args: &NativeArgs, tally: &Tally) -> NativeRun {
    let failed = tally.failures > 0;
    NativeRun {
        verdict: if failed { "failed" } else { "passed" }.to_owned(),
        kind: tally.first.as_ref().and_then(|(_, ran)| ran.kind.clone()),
        runs: tally.runs,
        failures: tally.failures,
        kinds: tally.kinds.clone(),
        partial_orders: tally.census.distinct() as u64,
        threads: tally.threads,
        steps: tally.steps,
        rests: tally.rests,
        outside_waits: tally.outside_waits,
        processes: tally.processes,
        cut_off: tally.cut_off,
        exhausted: tally.exhausted,
        strategy: args.strategy.clone(),
        seed: args.seed,
        ..NativeRun::default()
    }
}

fn summary(report: &NativeRun) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "{} under {}, seed {}: {}, up to {} and {}",
        text::plural(report.runs, "run"),
        report.strategy,
        report.seed,
        text::plural(report.partial_orders, "partial order"),
        text::plural(report.threads, "thread"),
        text::plural(report.steps, "step")
    );
    out.push_str(if report.exhausted { "; no schedule is left.\n" } else { ".\n" });
    if report.rests > 0 {
        let _ = writeln!(out, "Spinning threads were held back {} times.", text::count(report.rests));
    }
    if report.processes > 0 {
        let count = text::count(report.processes);
        let _ = writeln!(out, "Note: processes started by the program, not under control: {count}.");
    }
    if report.outside_waits > 0 {
        let times = text::plural(report.outside_waits, "time");
        let _ = writeln!(out, "Note: runs waited {times} for something from outside; they may not repeat.");
    }
    if let Some(Races { runs, racing, message }) = &report.races
        && *racing > 0
    {
        let of = text::plural(*runs, "further run");
        let _ =
            writeln!(out, "Note: data races in {} of {of}; --races fail records one.", text::count(*racing));
        message.iter().flat_map(|message| message.lines()).for_each(|line| {
            let _ = writeln!(out, "  {line}");
        });
    }
    match report.first_failure {
        None => out.push_str("No run failed.\n"),
        Some(first) => {
            let kinds: Vec<String> =
                report.kinds.iter().map(|(kind, times)| format!("{} {kind}", text::count(*times))).collect();
            let _ = writeln!(out, "Failed: {}; the first is run {first}.", kinds.join(", "));
        }
    }
    out
}
