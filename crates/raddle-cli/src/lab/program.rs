//! The program of the lab that a failure file holds.

use crate::subject::{Output, Repeated, Subject};
use anyhow::{Context, Result};
use raddle_engine::{Config, Engine, Follow, Replay, Resemble, Rng, Strategy, Timeouts, run as run_once};
use raddle_explain::{Execute, Execution, Wanted};
use raddle_lab::{Machine, syntax};
use raddle_model::{Event, Schedule, Settings, ThreadId, TraceFile, TraceStep};

/// Compiles the text of a program.
pub(crate) fn compile(text: &str, parameters: &[(String, i64)]) -> Result<Machine, syntax::SyntaxError> {
    let overrides: Vec<(&str, i64)> =
        parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    Ok(Machine::new(syntax::compile(text, &overrides)?))
}

/// Returns the engine's settings as a file has them.
pub(crate) fn config(settings: Settings) -> Config {
    let mut config = Config::default();
    config.step_limit = settings.step_limit;
    config.patience = settings.patience;
    config.timeouts = if settings.timeouts_anytime { Timeouts::Anytime } else { Timeouts::WhenIdle };
    config.exit_last = settings.exit_last;
    config
}

/// Makes runs of a program of the lab.
pub(crate) struct Lab {
    machine: Machine,
    origin: TraceFile,
}

impl Lab {
    /// Compiles the program of `file`, which messages call `shown`.
    pub(crate) fn open(file: &TraceFile, shown: &str) -> Result<Lab> {
        let machine = compile(&file.program, &file.parameters)
            .with_context(|| format!("{shown}: the program in the file"))?;
        Ok(Lab::new(machine, file))
    }

    /// Returns a maker of runs of `machine` with the origin of `file`.
    pub(crate) fn new(machine: Machine, file: &TraceFile) -> Lab {
        Lab { machine, origin: raddle_search::origin(file) }
    }

    /// Makes a run under `strategy`.
    pub(crate) fn run(&mut self, strategy: &mut dyn Strategy) -> TraceFile {
        let mut engine = Engine::new(config(self.origin.settings));
        // It draws nothing; any stream will do.
        strategy.begin(Rng::for_run(0, 0));
        self.machine.note_values();
        run_once(&mut engine, &mut self.machine, strategy);
        let summary = engine.summary();
        let step = |event: &Event| TraceStep { thread: event.thread.0, operation: event.operation };
        TraceFile {
            verdict: summary.verdict.clone(),
            fingerprint: summary.fingerprint,
            threads: self.machine.thread_names(),
            objects: self.machine.object_names(summary.object_count()),
            locations: self.machine.location_names(),
            steps: summary.trace.events.iter().map(step).collect(),
            picks: summary.trace.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
            values: self.machine.take_values(),
            ..self.origin.clone()
        }
    }
}

fn events(file: &TraceFile) -> Vec<Event> {
    let event = |step: &TraceStep| Event { thread: ThreadId(step.thread), operation: step.operation };
    file.steps.iter().map(event).collect()
}

impl Execute for Lab {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        let mut strategy = Follow::new(schedule.clone());
        let run = self.run(&mut strategy);
        wanted.takes(&run.verdict).then_some(Execution { run, preemptions: strategy.preemptions() })
    }
}

impl Subject for Lab {
    fn replay(&mut self, file: &TraceFile) -> Result<Repeated> {
        let mut replay = Replay::of(events(file), file.picks().collect());
        let run = self.run(&mut replay);
        let divergence = replay.divergence().map(|divergence| (divergence.step, divergence.what));
        Ok(Repeated { run, output: Output::default(), divergence })
    }

    fn resemble(&mut self, file: &TraceFile) -> Result<Repeated> {
        let mut resemble = Resemble::new(events(file), file.picks().collect());
        let run = self.run(&mut resemble);
        Ok(Repeated { run, output: Output::default(), divergence: None })
    }

    fn observe(&mut self, _run: &mut TraceFile) -> Output {
        // Every run notes its values, and prints nothing.
        Output::default()
    }
}
