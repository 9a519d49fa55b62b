//! `raddle beam run`.

use super::launch::{self, Answer};
use super::show;
use crate::Outcome;
use crate::args::{BeamRunArgs, TimeoutsArg};
use anyhow::{Context, Result};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, TraceFile};
use raddle_report::shape::{self, NativeRun};
use raddle_report::{sentences, text};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &BeamRunArgs, width: usize) -> Result<Outcome> {
    raddle_strategies::build(&args.strategy)?;
    let draft = crate::native::Temporary::write("failure.json", b"")?;
    let answer = launch::ask(&orders(args, draft.path())?)?;
    let mut report = report(args, &answer);
    let file = match answer.first_failure {
        Some(_) => Some(keep(draft.path(), args.record.as_deref())?),
        None => None,
    };
    if let Some((file, path)) = &file {
        report.kind = file.verdict.failure().map(|failure| failure.kind().to_owned());
        report.message = Some(sentences(file).join("\n"));
        report.failure_file = Some(path.display().to_string());
    }
    let status = if file.is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Ok(Outcome { text: shape::line(&report), status });
    }
    let mut out = summary(&report);
    if let Some((file, path)) = &file {
        show(&mut out, file, width);
        let _ = writeln!(out, "\nReplay it: raddle replay {}", path.display());
    }
    Ok(Outcome { text: out, status })
}

fn orders(args: &BeamRunArgs, failure: &Path) -> Result<Vec<OsString>> {
    let timeouts = match args.timeouts {
        TimeoutsArg::Idle => "when_idle",
        TimeoutsArg::Any => "anytime",
    };
    let mut orders: Vec<OsString> = ["run", &args.test, &args.strategy].map(OsString::from).to_vec();
    for number in [args.runs, args.seed, args.step_limit, u64::from(args.patience)] {
        orders.push(number.to_string().into());
    }
    orders.extend([timeouts, if args.keep_going { "true" } else { "false" }].map(OsString::from));
    orders.push(failure.into());
    for directory in &args.pa {
        // A replay may be elsewhere.
        let whole = std::fs::canonicalize(directory)
            .with_context(|| format!("cannot find the directory {}", directory.display()))?;
        orders.extend(["--pa".into(), whole.into()]);
    }
    for node in &args.node {
        orders.extend(["--node", node].map(OsString::from));
    }
    Ok(orders)
}

/// Takes the failing run that the VM left in `draft` to where it stays.
fn keep(draft: &Path, wanted: Option<&Path>) -> Result<(TraceFile, PathBuf)> {
    let text = std::fs::read_to_string(draft).context("cannot read the failing run")?;
    let mut file = TraceFile::from_json(&text).context("the failing run")?;
    file.id = file.short_id();
    let path = match wanted {
        Some(folder) if folder.is_dir() => folder.join(file.file_name()),
        Some(path) => path.to_owned(),
        None => PathBuf::from(file.file_name()),
    };
    crate::minimize::write(&path, &file)?;
    Ok((file, path))
}

fn report(args: &BeamRunArgs, answer: &Answer) -> NativeRun {
    NativeRun {
        verdict: if answer.failures > 0 { "failed" } else { "passed" }.to_owned(),
        runs: answer.runs,
        failures: answer.failures,
        first_failure: answer.first_failure,
        partial_orders: answer.partial_orders,
        threads: answer.threads,
        steps: answer.steps,
        kinds: answer.kinds.clone(),
        rests: answer.rests,
        cut_off: answer.cut_off,
        exhausted: answer.exhausted,
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
