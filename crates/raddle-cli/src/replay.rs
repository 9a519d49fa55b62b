//! `raddle replay`, and the repetition of a run that was just found.

use crate::args::ReplayArgs;
use crate::{Outcome, beam, native};
use anyhow::{Context, Result, bail, ensure};
use raddle_engine::{Config, Divergence, Engine, Replay, Resemble, Rng, Strategy, Timeouts, run as run_once};
use raddle_lab::Machine;
use raddle_lab::syntax;
use raddle_model::{
    EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Event, Pick, Settings, ThreadId, TraceFile, TraceStep, Values,
    Verdict,
};
use raddle_report::shape::{self, Replayed, Resembled};
use raddle_report::{Layout, interleaving, sentences, text};
use std::io::Read;

pub(crate) fn run(args: &ReplayArgs, width: usize) -> Result<Outcome> {
    let shown = shown(&args.trace);
    let file = TraceFile::from_json(&read(&args.trace)?).with_context(|| shown.to_owned())?;
    if file.front_end == native::FRONT_END {
        return native::replay(args, &file, shown, width);
    }
    if file.front_end == beam::FRONT_END {
        return beam::replay(args, &file, shown, width);
    }
    ensure!(!args.gdb, "{shown}: it is no run of a pthreads program, so there is nothing for gdb to look at");
    ensure!(
        file.front_end == "lab",
        "{shown}: the run was recorded by the front end `{}`; this raddle can replay those of `lab`, `native` and `beam`",
        file.front_end
    );
    let mut machine = compile(&file.program, &file.parameters)
        .with_context(|| format!("{shown}: the program in the file"))?;
    let events =
        file.steps.iter().map(|step| Event { thread: ThreadId(step.thread), operation: step.operation });
    let events: Vec<Event> = events.collect();
    let replay = Replay::of(events.clone(), file.picks().collect());
    let repeated = repeat(&mut machine, config(file.settings), replay);
    if let Err(divergence) = &repeated
        && args.tolerant
    {
        let mut resemble = Resemble::new(events, file.picks().collect());
        let now = follow(&mut machine, &file, &mut resemble);
        let left = Left { step: divergence.step, what: &divergence.what };
        let status = if now.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
        if args.json {
            return Ok(Outcome { text: tolerant_line(&file, &now, &left), status });
        }
        let mut text = tolerant_head(&file, &now, &left, shown);
        text.push('\n');
        text.push_str(&interleaving(&now, Layout { width, ..Layout::default() }));
        return Ok(Outcome { text, status });
    }
    let repeated = repeated.map_err(|divergence| {
        anyhow::anyhow!(
            "{shown}: the run does not repeat: at step {} of {}: {}; the file was changed, or another version of \
             raddle wrote it",
            divergence.step + 1,
            file.steps.len(),
            divergence.what
        )
    })?;
    if repeated.verdict != file.verdict {
        let recorded = TraceFile { verdict: repeated.verdict.clone(), ..file.clone() };
        bail!(
            "{shown}: the steps repeat but the end does not: recorded `{}`, now `{}`",
            sentences(&file).join("; "),
            sentences(&recorded).join("; ")
        );
    }
    ensure!(
        repeated.fingerprint == file.fingerprint,
        "{shown}: the steps repeat but the fingerprint does not: recorded {:016x}, now {:016x}",
        file.fingerprint,
        repeated.fingerprint
    );
    let status = if file.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let out = if args.json {
        shape::line(&Replayed::of(&file, &sentences(&file)))
    } else {
        // The file may be of a time without values.
        let file = TraceFile { values: repeated.values, ..file };
        format!("{}\n{}", exact_head(&file), interleaving(&file, Layout { width, ..Layout::default() }))
    };
    Ok(Outcome { text: out, status })
}

/// Refuses a run `now` whose steps are those of `file`, but which does not end as that did.
pub(crate) fn ends_alike(file: &TraceFile, now: &TraceFile, shown: &str) -> Result<()> {
    ensure!(
        now.verdict == file.verdict,
        "{shown}: the steps repeat but the end does not: recorded `{}`, now `{}`",
        sentences(file).join("; "),
        sentences(now).join("; ")
    );
    ensure!(
        now.fingerprint == file.fingerprint && now.picks == file.picks,
        "{shown}: the steps repeat but the fingerprint does not: recorded {:016x}, now {:016x}",
        file.fingerprint,
        now.fingerprint
    );
    Ok(())
}

/// What an exact replay has to say first.
pub(crate) fn exact_head(file: &TraceFile) -> String {
    format!(
        "Run {} of seed {} under {}, {}; it repeats exactly.\n",
        file.run,
        file.seed,
        file.strategy,
        text::plural(file.steps.len() as u64, "step")
    )
}

/// Where a run left the recorded one.
pub(crate) struct Left<'a> {
    /// The step, from 0.
    pub(crate) step: usize,
    pub(crate) what: &'a str,
}

/// What a tolerant replay has to say first: where the run left the recorded one, and how it ends now.
pub(crate) fn tolerant_head(file: &TraceFile, now: &TraceFile, left: &Left<'_>, shown: &str) -> String {
    let end = |file: &TraceFile| file.verdict.failure().map_or("passed", |failure| failure.kind());
    let steps = now.steps.len() as u64;
    format!(
        "{shown}: the run leaves the recorded one at step {} of {}: {}.\nFollowed as far as possible, it takes {} and ends so: \
         {}; the recorded one: {}.\n",
        left.step + 1,
        file.steps.len(),
        left.what,
        text::plural(steps, "step"),
        end(now),
        end(file)
    )
}

/// The same as a line of JSON.
pub(crate) fn tolerant_line(file: &TraceFile, now: &TraceFile, left: &Left<'_>) -> String {
    shape::line(&Resembled {
        verdict: now.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
        recorded: file.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
        message: sentences(now).join("\n"),
        left_at: left.step as u64,
        left_because: left.what.to_owned(),
        steps: now.steps.len() as u64,
    })
}

/// Makes a run of the program of `file` with `strategy`, and gives it as a file with the same origin.
pub(crate) fn follow(machine: &mut Machine, file: &TraceFile, strategy: &mut dyn Strategy) -> TraceFile {
    let mut engine = Engine::new(config(file.settings));
    strategy.begin(Rng::for_run(0, 0));
    machine.note_values();
    run_once(&mut engine, machine, strategy);
    let summary = engine.summary();
    let step = |event: &Event| TraceStep { thread: event.thread.0, operation: event.operation };
    TraceFile {
        verdict: summary.verdict.clone(),
        fingerprint: summary.fingerprint,
        threads: machine.thread_names(),
        objects: machine.object_names(summary.object_count()),
        locations: machine.location_names(),
        steps: summary.trace.events.iter().map(step).collect(),
        picks: summary.trace.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
        values: machine.take_values(),
        ..origin(file)
    }
}

/// What a file says of where its run comes from, without the run.
pub(crate) fn origin(file: &TraceFile) -> TraceFile {
    TraceFile {
        id: file.id.clone(),
        front_end: file.front_end.clone(),
        program: file.program.clone(),
        arguments: file.arguments.clone(),
        build: file.build.clone(),
        surroundings: file.surroundings.clone(),
        parameters: file.parameters.clone(),
        settings: file.settings,
        strategy: file.strategy.clone(),
        seed: file.seed,
        run: file.run,
        minimized: file.minimized,
        verdict: Verdict::Passed,
        fingerprint: 0,
        threads: Vec::new(),
        objects: Vec::new(),
        locations: Vec::new(),
        steps: Vec::new(),
        picks: Vec::new(),
        values: Values::default(),
    }
}

/// A run that was repeated, with the names that only the running program knows.
pub(crate) struct Repeated {
    pub(crate) verdict: Verdict,
    pub(crate) fingerprint: u64,
    pub(crate) events: Vec<Event>,
    pub(crate) picks: Vec<Pick>,
    pub(crate) threads: Vec<String>,
    pub(crate) objects: Vec<String>,
    pub(crate) values: Values,
}

/// Runs a recorded schedule on `machine`.
pub(crate) fn repeat(
    machine: &mut Machine,
    config: Config,
    mut replay: Replay,
) -> Result<Repeated, Divergence> {
    let mut engine = Engine::new(config);
    // A replay draws nothing; any stream will do.
    replay.begin(Rng::for_run(0, 0));
    machine.note_values();
    run_once(&mut engine, machine, &mut replay);
    if let Some(divergence) = replay.divergence() {
        return Err(divergence);
    }
    let summary = engine.summary();
    Ok(Repeated {
        verdict: summary.verdict.clone(),
        fingerprint: summary.fingerprint,
        events: summary.trace.events.clone(),
        picks: summary.trace.picks.clone(),
        threads: machine.thread_names(),
        objects: machine.object_names(summary.object_count()),
        values: machine.take_values(),
    })
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn read(path: &str) -> Result<String> {
    let mut text = String::new();
    let read = match path {
        "-" => std::io::stdin().lock().read_to_string(&mut text).map(drop),
        path => std::fs::read_to_string(path).map(|content| text = content),
    };
    read.with_context(|| format!("cannot read {}", shown(path)))?;
    Ok(text)
}

/// How a file is called in messages.
pub(crate) fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// A machine for a program text.
pub(crate) fn compile(text: &str, parameters: &[(String, i64)]) -> Result<Machine, syntax::SyntaxError> {
    let overrides: Vec<(&str, i64)> =
        parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    Ok(Machine::new(syntax::compile(text, &overrides)?))
}

/// The engine's settings as a file has them.
pub(crate) fn config(settings: Settings) -> Config {
    let mut config = Config::default();
    config.step_limit = settings.step_limit;
    config.patience = settings.patience;
    config.timeouts = if settings.timeouts_anytime { Timeouts::Anytime } else { Timeouts::WhenIdle };
    config.exit_last = settings.exit_last;
    config
}
