//! Makes failing runs of Erlang programs smaller, and explains them. One VM makes all the runs.

use super::server::{Program, Server, setup, under};
use super::{Heard, sources};
use crate::explain::Sources;
use crate::minimize::{AFTER_A_FAILURE, Limits, reduce, write};
use anyhow::Result;
use raddle_explain::{Effort, Execute, Execution, Explanation, MOST_AUTOMATIC_STEPS, Wanted};
use raddle_model::native::{Answer, Order};
use raddle_model::{Schedule, TraceFile};
use std::path::Path;
use std::time::Duration;

/// How long a run may take without an operation, in milliseconds. There are others that do not.
const PATIENCE: u64 = 5_000;

/// Looks for a smaller run than that of `file`, which messages call `shown`. Every smaller one is written to `path`, as it may
/// be the last.
pub(crate) fn minimize(
    file: &TraceFile,
    shown: &str,
    limits: Limits,
    path: &Path,
) -> Result<Option<TraceFile>> {
    Ok(search(file, shown, limits, path)?.map(|(small, _)| small))
}

/// The same with what is heard of the smaller run when it is made once more.
fn search(file: &TraceFile, shown: &str, limits: Limits, path: &Path) -> Result<Option<(TraceFile, Heard)>> {
    let mut vm = Vm::start(file, shown)?;
    let small = reduce(file, &mut vm, limits, &|small| write(path, small))?;
    match (vm.silent, small) {
        (Some(why), None) => Err(why.context(format!("{shown}: no run was made"))),
        (_, None) => Ok(None),
        (_, Some(small)) => {
            let heard = match vm.server.order(&Order::replay(&small, 0)) {
                Ok(Answer::Ran(ran)) if ran.divergence.is_none() => Heard::of(&ran),
                _ => Heard::default(),
            };
            Ok(Some((small, heard)))
        }
    }
}

/// The same after a run has failed. The run as it was found is in `path` already; if it cannot be made again, that has to do.
pub(super) fn after_failure(file: &TraceFile, path: &Path) -> Result<Option<(TraceFile, Heard)>> {
    if file.steps.len() > MOST_AUTOMATIC_STEPS {
        return Ok(None);
    }
    let Ok(Some((small, heard))) = search(file, "the failing run", AFTER_A_FAILURE, path) else {
        return Ok(None);
    };
    write(path, &small)?;
    Ok(Some((small, heard)))
}

/// Explains the failing run of `file`, which is made small before unless it is already. The source files of its places
/// are added to `sources`. No run begins after `time`.
pub(crate) fn explain(
    file: &TraceFile,
    shown: &str,
    effort: Effort,
    time: Duration,
    sources: &mut Sources,
) -> Result<Option<Explanation>> {
    let mut vm = Vm::start(file, shown)?;
    let found = crate::explain::within(file, effort, time, &mut vm)?;
    if let Some(why) = vm.silent.filter(|_| found.is_none()) {
        return Err(why.context(format!("{shown}: no run was made")));
    }
    let run = found.as_ref().and_then(|found| found.run.as_ref()).unwrap_or(file);
    sources.extend(sources::of(file, &run.locations));
    Ok(found)
}

/// Makes runs of an Erlang program.
struct Vm<'a> {
    server: Server,
    file: &'a TraceFile,
    /// Why it makes no more runs, if that is so.
    silent: Option<anyhow::Error>,
}

impl Vm<'_> {
    fn start<'a>(file: &'a TraceFile, shown: &str) -> Result<Vm<'a>> {
        let setup = setup(under(file), file.seed, file.settings, PATIENCE);
        Ok(Vm { server: Server::start(&Program::of(file, shown)?, &setup)?, file, silent: None })
    }
}

impl Execute for Vm<'_> {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        if self.silent.is_some() {
            return None;
        }
        let order = Order::follow(self.file, schedule, 0, wanted == Wanted::Any);
        let ran = match self.server.order(&order) {
            Ok(Answer::Ran(ran)) => ran,
            Ok(Answer::Refused { message }) => {
                self.silent = Some(anyhow::anyhow!(message));
                return None;
            }
            Ok(_) => return None,
            Err(error) => {
                self.silent = Some(error);
                return None;
            }
        };
        Some(Execution { run: *ran.trace?, preemptions: ran.preemptions })
    }
}
