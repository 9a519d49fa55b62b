//! The function of a failing run of an Erlang program, in a separate VM.

use super::server::{Program, Vm, setup, under};
use super::sources;
use crate::server::Server;
use crate::subject::{Namer, Output, Repeated, Sources, Subject};
use anyhow::{Context, Error, Result, anyhow, bail};
use raddle_explain::{Execute, Execution, Wanted};
use raddle_model::native::{Answer, Order, RunResult};
use raddle_model::{Schedule, TraceFile};
use raddle_search::Deadline;

/// The maximum time without an operation, in milliseconds: of a replay, and of one of many runs.
const REPLAY: u64 = 600_000;
const ONE_OF_MANY: u64 = 5_000;

/// Executes runs of an Erlang program.
pub struct Beam {
    /// The original run.
    origin: TraceFile,
    shown: String,
    program: Program,
    /// Executes the runs that follow a schedule.
    vm: Option<Vm>,
    /// The reason why it executes no more runs.
    silent: Option<Error>,
    /// No run is waited for after it.
    deadline: Deadline,
}

impl Beam {
    /// Prepares the program of `file`, called `shown` in messages.
    pub fn open(file: &TraceFile, shown: &str) -> Result<Beam> {
        let program = Program::of(file, shown)?;
        for spec in under(file) {
            raddle_strategies::build(&spec).map_err(|error| {
                let test = &program.test;
                anyhow!(
                    "{shown}: the strategy that made the run cannot be used: {error}\nhelp: use the version of raddle that wrote the \
                     file, or search again: raddle beam run {test}"
                )
            })?;
        }
        let origin = raddle_search::origin(file);
        Ok(Beam {
            origin,
            shown: shown.to_owned(),
            program,
            vm: None,
            silent: None,
            deadline: Deadline::new(None),
        })
    }

    fn start(&self, patience_ms: u64) -> Result<Vm> {
        let TraceFile { seed, settings, .. } = self.origin;
        Vm::start(&self.program, &setup(under(&self.origin), seed, settings, patience_ms))
            .with_context(|| self.shown.clone())
    }

    /// Returns the VM for runs that follow a schedule.
    fn follower(&mut self) -> Option<&mut Vm> {
        if self.vm.is_none() && self.silent.is_none() {
            match self.start(ONE_OF_MANY) {
                Ok(vm) => self.vm = Some(vm),
                Err(error) => self.silent = Some(error),
            }
        }
        self.vm.as_mut()
    }

    /// Executes one run.
    fn make(&mut self, order: &Order) -> Result<Repeated> {
        let shown = self.shown.clone();
        match self.start(REPLAY)?.order_until(order, &self.deadline)? {
            Answer::RunResult(ran) => repeated(*ran),
            Answer::Lost { message } | Answer::Refused { message } => {
                bail!("{shown}: the run cannot be repeated: {message}")
            }
            Answer::Ready { .. } | Answer::Exhausted | Answer::Coverage(_) | Answer::Estimate(_) => {
                bail!("{shown}: the Erlang VM has made no run")
            }
        }
    }
}

/// Returns the data of a run that only the VM has.
pub fn output(ran: &RunResult) -> Output {
    Output { printed: ran.output.clone(), callers: ran.callers.clone() }
}

fn repeated(ran: RunResult) -> Result<Repeated> {
    let output = output(&ran);
    let run = *ran.trace.context("the Erlang VM returned no trace of the run")?;
    Ok(Repeated { run, output, divergence: ran.divergence })
}

/// Returns the first step at a different location than in the recorded run, though the step is the same:
/// locations are numbered in the order in which a run reaches them.
fn moved(file: &TraceFile, now: &TraceFile) -> Option<(usize, String)> {
    let place = |file: &'_ TraceFile, index: usize| file.locations.get(index).cloned();
    file.steps.iter().zip(&now.steps).enumerate().find_map(|(step, (then, is))| {
        let was = place(file, then.operation.location.index())?;
        let is = place(now, is.operation.location.index())?;
        (was != is).then(|| (step, format!("it is at {is}, in the recorded run it was at {was}")))
    })
}

impl Execute for Beam {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        let order = Order::follow(&self.origin, schedule, 0, wanted == Wanted::Any);
        let deadline = self.deadline;
        let ran = match self.follower()?.order_until(&order, &deadline) {
            Ok(Answer::RunResult(ran)) => ran,
            Ok(Answer::Refused { message }) => {
                (self.vm, self.silent) = (None, Some(anyhow!(message)));
                return None;
            }
            Ok(_) => return None,
            Err(error) => {
                self.vm = None;
                self.silent = Some(error).filter(|_| !deadline.is_over());
                return None;
            }
        };
        Some(Execution { run: *ran.trace?, preemptions: ran.preemptions })
    }
}

impl Subject for Beam {
    fn replay(&mut self, file: &TraceFile) -> Result<Repeated> {
        let mut repeated = self.make(&Order::replay(file, 0))?;
        repeated.divergence = repeated.divergence.take().or_else(|| moved(file, &repeated.run));
        Ok(repeated)
    }

    fn resemble(&mut self, file: &TraceFile) -> Result<Repeated> {
        self.make(&Order::resemble(file, 0))
    }

    fn namer(&self) -> Namer {
        let origin = self.origin.clone();
        Box::new(move |run| -> Sources { sources::of(&origin, &run.locations) })
    }

    fn observe(&mut self, run: &mut TraceFile) -> Output {
        let deadline = self.deadline;
        match self.follower().map(|vm| vm.order_until(&Order::replay(run, 0), &deadline)) {
            Some(Ok(Answer::RunResult(ran))) if ran.divergence.is_none() => output(&ran),
            _ => Output::default(),
        }
    }

    fn limit(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    fn why_silent(&mut self) -> Option<Error> {
        self.silent.take()
    }
}
