//! The test of a failing run.

use super::process::Process;
use crate::server::Server;
use crate::subject::{Output, Repeated, Subject};
use anyhow::{Context, Result, bail};
use raddle_explain::{Execute, Execution, Wanted};
use raddle_model::native::{Answer, Order};
use raddle_model::{Schedule, TraceFile};

/// Executes runs of a Rust test.
pub struct RustTest {
    origin: TraceFile,
    shown: String,
    process: Process,
}

impl RustTest {
    /// Starts the test that recorded `file`, called `shown` in messages.
    pub fn open(file: &TraceFile, shown: &str) -> Result<RustTest> {
        let process = Process::start(file, shown)?;
        Ok(RustTest { origin: raddle_search::origin(file), shown: shown.to_owned(), process })
    }

    fn make(&mut self, order: &Order) -> Result<Repeated> {
        match self.process.order(order).with_context(|| self.shown.clone())? {
            Answer::RunResult(ran) => {
                let run = *ran.trace.context("the test returned no trace of the run")?;
                Ok(Repeated { run, output: Output::default(), divergence: ran.divergence })
            }
            Answer::Lost { message } | Answer::Refused { message } => bail!("{}: {message}", self.shown),
            Answer::Ready { .. } | Answer::Exhausted | Answer::Coverage(_) | Answer::Estimate(_) => {
                bail!("{}: the test has made no run", self.shown)
            }
        }
    }
}

impl Execute for RustTest {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        let order = Order::follow(&self.origin, schedule, 0, wanted == Wanted::Any);
        // A test that has ended executes neither this run nor later ones.
        let Ok(Answer::RunResult(ran)) = self.process.order(&order) else { return None };
        Some(Execution { run: *ran.trace?, preemptions: ran.preemptions })
    }
}

impl Subject for RustTest {
    fn replay(&mut self, file: &TraceFile) -> Result<Repeated> {
        self.make(&Order::replay(file, 0))
    }

    fn resemble(&mut self, file: &TraceFile) -> Result<Repeated> {
        self.make(&Order::resemble(file, 0))
    }

    fn observe(&mut self, _run: &mut TraceFile) -> Output {
        // Every run records its values; the output of a test belongs to its harness.
        Output::default()
    }
}
