//! `raddle minimize`.

use crate::args::MinimizeArgs;
use crate::input::shown;
use crate::outcome::Outcome;
use crate::progress::Waiting;
use crate::show::quoted;
use crate::trust::recorded;
use anyhow::{Context, Result, bail};
use raddle_launch::open_repeating;
use raddle_model::EXIT_BUG_FOUND;
use raddle_report::run_text::{reduction, verdict};
use raddle_report::shape::{self, Reduced};
use raddle_search::Limits;
use std::fmt::Write;
use std::path::PathBuf;

pub(crate) fn run(args: &MinimizeArgs) -> Result<Outcome> {
    let shown = shown(&args.file);
    let file = recorded(&args.file, &args.open)?;
    if file.verdict.failure().is_none() {
        bail!("{shown}: the recorded run passed; only a failing run is made smaller");
    }
    let path = args.output.clone().unwrap_or_else(|| default_output(&args.file));
    let limits = Limits { runs: args.runs, time: args.time, fruitless: u64::MAX };
    let mut program = open_repeating(&file, shown)?;
    let small =
        raddle_launch::minimize(&mut *program, &file, shown, limits, Some(&path), &Waiting::default())?;
    let (small, _) = small.with_context(|| {
        format!("{shown}: the run does not repeat: the recorded schedule no longer reproduces the failure")
    })?;
    if let Some(minimized) = small.minimized.filter(|_| args.json) {
        let text = shape::line(&Reduced {
            verdict: small.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
            message: verdict(&small).join("\n"),
            failure_file: path.display().to_string(),
            executions: minimized.executions,
            switches: small.switches(),
            switches_before: minimized.switches_before,
            steps: small.steps.len() as u64,
            steps_before: minimized.steps_before,
        });
        return Ok(Outcome { text, status: EXIT_BUG_FOUND });
    }
    let mut out = String::new();
    if let Some(sentence) = reduction(&small) {
        let _ = writeln!(out, "{sentence}");
    }
    let _ = writeln!(out, "Replay it: raddle replay {}", quoted(&path.display().to_string()));
    Ok(Outcome { text: out, status: EXIT_BUG_FOUND })
}

fn default_output(file: &str) -> PathBuf {
    let stem = if file == "-" { "raddle-failure" } else { file.strip_suffix(".json").unwrap_or(file) };
    PathBuf::from(format!("{stem}.min.json"))
}
