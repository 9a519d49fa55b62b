//! `raddle minimize`, and what is done after a failure to make it smaller.

use crate::args::MinimizeArgs;
use crate::progress::Progress;
use crate::replay::{compile, follow, origin, read, shown};
use crate::{Outcome, beam, native};
use anyhow::{Context, Result, bail};
use raddle_engine::Follow;
use raddle_explain::{Budget, Execute, Execution, Smallest, Wanted, minimize};
use raddle_lab::Machine;
use raddle_model::{EXIT_BUG_FOUND, MADE, Schedule, TraceFile};
use raddle_report::shape::{self, Reduced};
use raddle_report::{sentences, text};
use std::fmt::Write;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How much is done to make a run smaller.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) runs: u64,
    pub(crate) time: Duration,
}

/// After a failure, when a person waits for the report.
pub(crate) const AFTER_A_FAILURE: Limits = Limits { runs: 2_000, time: Duration::from_secs(10) };

pub(crate) fn run(args: &MinimizeArgs) -> Result<Outcome> {
    let shown = shown(&args.file);
    let file = TraceFile::from_json(&read(&args.file)?).with_context(|| shown.to_owned())?;
    if file.verdict.failure().is_none() {
        bail!("{shown}: the recorded run passed; only a failing run is made smaller");
    }
    let path = args.output.clone().unwrap_or_else(|| default_output(&args.file));
    let limits = Limits { runs: args.runs, time: args.time };
    let small = match &file.front_end[..] {
        "lab" => {
            let machine = compile(&file.program, &file.parameters)
                .with_context(|| format!("{shown}: the program in the file"))?;
            let save = |small: &TraceFile| write(&path, small);
            reduce(&file, &mut Lab::new(machine, &file), limits, &save)?
        }
        native::FRONT_END => native::minimize(&file, shown, limits, &path)?,
        beam::FRONT_END => beam::minimize(&file, shown, limits, &path)?,
        other => bail!(
            "{shown}: the run was recorded by the front end `{other}`; this raddle can minimize those of `lab`, `native` and `beam`, \
             and Rust tests minimize their own"
        ),
    };
    let small = small.with_context(|| {
        format!("{shown}: the run does not repeat: its schedule does not bring the recorded failure any more")
    })?;
    write(&path, &small)?;
    if let Some(minimized) = small.minimized.filter(|_| args.json) {
        let text = shape::line(&Reduced {
            verdict: small.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
            message: sentences(&small).join("\n"),
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
    tell(&mut out, &small);
    let _ = writeln!(out, "Replay it: raddle replay {}", path.display());
    Ok(Outcome { text: out, status: EXIT_BUG_FOUND })
}

fn default_output(file: &str) -> PathBuf {
    let stem = if file == "-" { "raddle-failure" } else { file.strip_suffix(".json").unwrap_or(file) };
    PathBuf::from(format!("{stem}.min.json"))
}

/// Writes a failure file, so that nobody ever reads half of it.
pub(crate) fn write(path: &Path, file: &TraceFile) -> Result<()> {
    let text = file.to_json();
    // What is there already and is no plain file, such as a pipe, is not replaced.
    let written = match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => std::fs::write(path, text),
        _ => {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            // As readable as any other new file. If the disk is full, what came to it is removed again.
            let half =
                tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
            half.and_then(|mut half| {
                half.write_all(text.as_bytes())?;
                half.persist(path).map(drop).map_err(|failed| failed.error)
            })
        }
    };
    written.with_context(|| format!("cannot write the failing run to {}", path.display()))
}

/// Says how a run became smaller, if it did.
pub(crate) fn tell(out: &mut String, file: &TraceFile) {
    let Some(minimized) = file.minimized else { return };
    let now = (file.switches(), file.steps.len() as u64);
    let threads = if file.front_end == beam::FRONT_END { "processes" } else { "threads" };
    if now == (minimized.switches_before, minimized.steps_before) {
        let runs = text::plural(minimized.executions, "run");
        let switches = if now.0 == 1 { "1 switch" } else { &format!("{} switches", text::count(now.0)) };
        let _ = writeln!(out, "It has {switches} between {threads}; {runs} found no smaller one.");
        return;
    }
    let _ = writeln!(
        out,
        "Made smaller by {}: switches between {threads} {} -> {}, steps {} -> {}.",
        text::plural(minimized.executions, "run"),
        text::count(minimized.switches_before),
        text::count(now.0),
        text::count(minimized.steps_before),
        text::count(now.1)
    );
}

/// Looks for a smaller run that fails as the one of `file` does; `save` gets every smaller one. Nothing if the failure does
/// not come again.
pub(crate) fn reduce(
    file: &TraceFile,
    execute: &mut dyn Execute,
    limits: Limits,
    save: &dyn Fn(&TraceFile) -> Result<()>,
) -> Result<Option<TraceFile>> {
    #[expect(clippy::disallowed_methods, reason = "the user waits for the search")]
    let begun = Instant::now();
    let progress = Progress::new(limits.runs);
    let mut saved = Ok(());
    let mut go_on = |best: &Smallest, is_new: bool| {
        progress.add(1);
        progress.note(&|| format!("{} switches", best.cost.switches));
        if is_new && saved.is_ok() {
            saved = save(&with_origin(file, best.run.clone()));
        }
        saved.is_ok() && begun.elapsed() < limits.time
    };
    let budget = Budget { executions: limits.runs, go_on: &mut go_on };
    let smallest = minimize(file, budget, execute);
    saved?;
    Ok(smallest.map(|smallest| with_origin(file, smallest.run)))
}

/// The steps of `run` with what `file` says of where they come from. What was known of an earlier reduction is kept.
fn with_origin(file: &TraceFile, run: TraceFile) -> TraceFile {
    let mut minimized = run.minimized;
    if let (Some(now), Some(before)) = (&mut minimized, file.minimized) {
        now.executions += before.executions;
        (now.switches_before, now.steps_before) = (before.switches_before, before.steps_before);
    }
    // When threads were made is part of the run.
    let is_made = |(name, _): &(String, i64)| name == MADE;
    let kept = file.parameters.iter().filter(|parameter| !is_made(parameter)).cloned();
    TraceFile {
        parameters: kept.chain(run.parameters.into_iter().filter(is_made)).collect(),
        minimized,
        verdict: run.verdict,
        fingerprint: run.fingerprint,
        threads: run.threads,
        objects: run.objects,
        locations: run.locations,
        steps: run.steps,
        picks: run.picks,
        values: run.values,
        ..origin(file)
    }
}

/// Makes runs of a program of the lab.
pub(crate) struct Lab {
    machine: Machine,
    origin: TraceFile,
}

impl Lab {
    pub(crate) fn new(machine: Machine, file: &TraceFile) -> Lab {
        Lab { machine, origin: origin(file) }
    }
}

impl Execute for Lab {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        let mut strategy = Follow::new(schedule.clone());
        let run = follow(&mut self.machine, &self.origin, &mut strategy);
        wanted.takes(&run.verdict).then_some(Execution { run, preemptions: strategy.preemptions() })
    }
}

#[cfg(test)]
pub(crate) mod tests;
