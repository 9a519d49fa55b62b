//! Makes failing runs of pthreads programs smaller.

use super::launch::{Server, Temporary};
use super::places;
use super::replay::{random, start};
use crate::explain::Sources;
use crate::minimize::{AFTER_A_FAILURE, Limits, reduce, write};
use anyhow::Result;
use raddle_explain::{Effort, Execute, Execution, Explanation, Wanted};
use raddle_model::native::{Answer, Order};
use raddle_model::{Schedule, TraceFile};
use raddle_symbols::Symbols;
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

/// How long a run may take, in milliseconds. There are others that do not.
pub(super) const PATIENCE: u64 = 5_000;

/// Looks for a smaller run than that of `file`, which messages call `shown`. Every smaller one is written to `path`, with the
/// places of the source, as it may be the last.
pub(crate) fn minimize(
    file: &TraceFile,
    shown: &str,
    limits: Limits,
    path: &Path,
) -> Result<Option<TraceFile>> {
    Ok(search(file, shown, limits, path)?.map(|(small, _)| small))
}

/// The same after a run has failed, with what the smaller run printed.
pub(super) fn after_failure(file: &TraceFile, path: &Path) -> Result<Option<(TraceFile, String)>> {
    // The run as it was found is kept already; if the program cannot be started again, that has to do.
    let Ok(Some((small, printed))) = search(file, "the failing run", AFTER_A_FAILURE, path) else {
        return Ok(None);
    };
    write(path, &small)?;
    Ok(Some((small, printed)))
}

fn search(file: &TraceFile, shown: &str, limits: Limits, path: &Path) -> Result<Option<(TraceFile, String)>> {
    let library = Temporary::library()?;
    let server = start(&library, file, shown, PATIENCE)?;
    let mut native = Native { server, file, printed: Vec::new() };
    let symbols = RefCell::new(Symbols::new());
    let save = |small: &TraceFile| {
        let mut told = small.clone();
        places::translate(&mut told, &mut symbols.borrow_mut());
        write(path, &told)
    };
    let Some(mut small) = reduce(file, &mut native, limits, &save)? else { return Ok(None) };
    native.add_values(&mut small);
    let printed = native.printed.iter().find(|(fingerprint, _)| *fingerprint == small.fingerprint);
    let printed = printed.map(|(_, printed)| printed.clone()).unwrap_or_default();
    places::translate(&mut small, &mut symbols.borrow_mut());
    Ok(Some((small, printed)))
}

/// Explains the failing run of `file`, which is made small before unless it is already. The runs have the places of the
/// source, whose files are added to `sources`. No run begins after `time`.
pub(crate) fn explain(
    file: &TraceFile,
    shown: &str,
    effort: Effort,
    time: Duration,
    sources: &mut Sources,
) -> Result<Option<Explanation>> {
    let library = Temporary::library()?;
    // The backtrace of a Rust panic takes longer than the run, and nobody sees it.
    let mut quiet = file.clone();
    quiet.surroundings.environment.push(("RUST_BACKTRACE".to_owned(), "0".to_owned()));
    let server = start(&library, &quiet, shown, PATIENCE)?;
    let mut native = Native { server, file, printed: Vec::new() };
    let mut found = crate::explain::within(file, effort, time, &mut native)?;
    let runs = found.iter_mut().flat_map(|found| found.passing.iter_mut().chain(found.run.as_mut()));
    let mut symbols = Symbols::new();
    for run in runs {
        native.add_values(run);
        sources.extend(places::translate(run, &mut symbols));
    }
    Ok(found)
}

/// Makes runs of a pthreads program.
struct Native<'a> {
    server: Server,
    file: &'a TraceFile,
    /// What failing runs printed, by their fingerprints.
    printed: Vec<(u64, String)>,
}

impl Native<'_> {
    /// Makes `run` again, for whoever is going to see it: with what its steps read and wrote.
    fn add_values(&mut self, run: &mut TraceFile) {
        let order = Order::show(self.file, run, random(self.file));
        if let Ok(Answer::Ran(ran)) = self.server.order(&order)
            && let Some(again) = ran.trace.filter(|again| again.steps == run.steps)
        {
            run.values = again.values;
        }
    }
}

impl Execute for Native<'_> {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        // A server that does not answer any more makes no run, and so do those after it.
        let order = Order::follow(self.file, schedule, random(self.file), wanted == Wanted::Any);
        let Ok(Answer::Ran(ran)) = self.server.order(&order) else { return None };
        let run = *ran.trace?;
        if !ran.output.is_empty() {
            self.printed.push((run.fingerprint, ran.output));
        }
        Some(Execution { run, preemptions: ran.preemptions })
    }
}
