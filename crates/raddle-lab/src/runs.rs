//! Runs of a program that repeat, vary or follow a recorded one.

use crate::{Machine, syntax};
use raddle_engine::{Divergence, Engine, Follow, Replay, Resemble, Rng, Strategy, run as run_once};
use raddle_explain::{Execute, Execution, Wanted};
use raddle_model::{Event, SEQUENTIAL_ORDER, Schedule, ThreadId, TraceFile, TraceStep};

/// Compiles the text of a program.
pub fn compile(text: &str, parameters: &[(String, i64)]) -> Result<Machine, syntax::SyntaxError> {
    let overrides: Vec<(&str, i64)> =
        parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    Ok(Machine::new(syntax::compile(text, &overrides)?))
}

/// Parses a parameter, such as `n=5`.
pub fn assignment(text: &str) -> Result<(String, i64), String> {
    let wrong = || "write a name and a whole number, such as n=5".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().parse().map_err(|_| wrong())?))
}

/// Executes runs of a lab program.
pub struct Lab {
    machine: Machine,
    origin: TraceFile,
}

impl Lab {
    /// Compiles the program of `file`.
    pub fn open(file: &TraceFile) -> Result<Lab, syntax::SyntaxError> {
        Ok(Lab::new(compile(&file.program, &file.parameters)?, file))
    }

    /// Repeats the run of `file`. Returns the run, and its first difference from the recorded one, if any.
    pub fn replay(&mut self, file: &TraceFile) -> (TraceFile, Option<Divergence>) {
        let mut replay = Replay::of(events(file), file.picks().collect());
        let run = self.run(&mut replay);
        (run, replay.divergence())
    }

    /// Follows the run of `file` as far as the program still behaves in the same way.
    pub fn resemble(&mut self, file: &TraceFile) -> TraceFile {
        self.run(&mut Resemble::new(events(file), file.picks().collect()))
    }

    /// Creates a lab for runs of `machine` with the origin of `file`.
    pub fn new(machine: Machine, file: &TraceFile) -> Lab {
        Lab { machine, origin: raddle_search::origin(file) }
    }

    /// Executes a run under `strategy`.
    pub fn run(&mut self, strategy: &mut dyn Strategy) -> TraceFile {
        let mut engine = Engine::new(self.origin.settings.into());
        // It draws nothing; any stream will do.
        strategy.begin(Rng::for_run(0, 0));
        self.machine.note_values();
        run_once(&mut engine, &mut self.machine, strategy);
        let summary = engine.summary();
        let mut objects = self.machine.object_names(summary.object_count());
        if let Some(order) = engine.sequential_order() {
            SEQUENTIAL_ORDER.clone_into(&mut objects[order.index()]);
        }
        let step = |event: &Event| TraceStep { thread: event.thread.0, operation: event.operation };
        TraceFile {
            verdict: summary.verdict.clone(),
            fingerprint: summary.fingerprint,
            threads: self.machine.thread_names(),
            objects,
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

#[cfg(test)]
mod tests;
