//! `raddle replay` of a run of a pthreads program.

use super::debug;
use super::found::{CALLERS, POINTS};
use super::launch::{Server, Temporary};
use super::places;
use super::program::find;
use super::run::threads;
use super::show::{message, show};
use crate::Outcome;
use crate::args::ReplayArgs;
use crate::cc::was_compiled_here;
use crate::replay::{ends_alike, exact_head};
use anyhow::{Context, Result, bail, ensure};
use raddle_model::native::{Answer, Order, Points, Ran, Setup, Threads};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Failure, Ledger, TraceFile, Values};
use raddle_report::shape::{self, Replayed};
use raddle_symbols::Symbols;
use std::path::Path;

/// How long a replay may take, in milliseconds. It is one run, and nobody else waits.
const PATIENCE: u64 = 600_000;

/// Repeats the run of `file`, which messages call `shown`.
pub(crate) fn replay(args: &ReplayArgs, file: &TraceFile, shown: &str, width: usize) -> Result<Outcome> {
    let (words, setup) = setup(file, shown, threads(args.threads), PATIENCE)?;
    let order = Order::replay(file, random(file));
    if args.gdb {
        let ran = debug::replay(&words, &file.surroundings, &setup, &order, &args.gdb_args)
            .with_context(|| shown.to_owned())?;
        if let Some((step, what)) = &ran.divergence {
            let of = file.steps.len();
            bail!("{shown}: the run did not come to its end under gdb: at step {} of {of}: {what}", step + 1);
        }
        return repeated(args, file, &ran, shown, width);
    }
    let library = Temporary::library()?;
    let mut server = Server::start(&library, &words, &file.surroundings, &setup)?;
    let ran = made(server.order(&order)?, shown)?;
    if args.tolerant && ran.divergence.is_some() {
        // A server makes one replay.
        let mut server = Server::start(&library, &words, &file.surroundings, &setup)?;
        let again = made(server.order(&Order::resemble(file, random(file)))?, shown)?;
        return tolerant(args, file, &ran, &again, shown, width);
    }
    repeated(args, file, &ran, shown, width)
}

/// What is told of a run that was to repeat that of `file`.
fn repeated(args: &ReplayArgs, file: &TraceFile, ran: &Ran, shown: &str, width: usize) -> Result<Outcome> {
    if let Some((step, what)) = &ran.divergence {
        bail!(
            "{shown}: the run does not repeat: at step {} of {}: {what}; the program or its surroundings have changed",
            step + 1,
            file.steps.len()
        );
    }
    let mut now = ran.trace.as_deref().cloned().context("the native runtime has told nothing of the run")?;
    ends_alike(file, &now, shown)?;
    let status = if file.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let out = if args.json {
        shape::line(&Replayed::of(file, &message(file)))
    } else {
        let mut out = exact_head(file);
        if is_another_build(file) {
            out.push_str("The program was built anew since.\n");
        }
        // The file may be of a time without values.
        places::translate(&mut now, &mut Symbols::new());
        let file = TraceFile { values: now.values, ..file.clone() };
        show(&mut out, &file, &ran.output, width);
        out
    };
    Ok(Outcome { text: out, status })
}

/// What the steps of the run of `file` read and wrote. Nothing if it does not repeat, or takes longer than runs that are made to
/// be looked at may.
pub(super) fn values(file: &TraceFile) -> Option<Values> {
    let library = Temporary::library().ok()?;
    let mut server = start(&library, file, "the failing run", super::minimize::PATIENCE).ok()?;
    let Ok(Answer::Ran(ran)) = server.order(&Order::replay(file, random(file))) else { return None };
    let mut now = ran.trace.filter(|_| ran.divergence.is_none())?;
    places::translate(&mut now, &mut Symbols::new());
    Some(now.values)
}

/// Starts the program of `file`, so that it can make runs like the recorded one; none may take longer than `patience_ms`.
pub(super) fn start(library: &Temporary, file: &TraceFile, shown: &str, patience_ms: u64) -> Result<Server> {
    let (words, setup) = setup(file, shown, Threads::Fibers, patience_ms)?;
    Server::start(library, &words, &file.surroundings, &setup)
}

/// The program of `file` with its arguments, and what holds for runs like the recorded one.
fn setup(file: &TraceFile, shown: &str, threads: Threads, patience_ms: u64) -> Result<(Vec<String>, Setup)> {
    ensure!(!file.program.is_empty(), "{shown}: the file names no program");
    let program = Path::new(&file.program);
    if !program.exists() && was_compiled_here(program) {
        bail!(
            "{shown}: the program was compiled by `raddle run` and is no longer in the cache, at {}; the same `raddle run` of the \
             same source makes it again",
            file.program
        );
    }
    find(&file.program)?;
    let words = [std::slice::from_ref(&file.program), &file.arguments[..]].concat();
    let points = file.parameters.iter().find(|(name, _)| name == POINTS).map_or(0, |&(_, points)| points);
    let points = [Points::All, Points::Shared, Points::Sync]
        .into_iter()
        .find(|known| *known as i64 == points)
        .with_context(|| format!("{shown}: the parameter `{POINTS}` has no known value"))?;
    let expected = match file.verdict.failure() {
        Some(Failure::Output { file, .. }) => Some(file.clone()),
        _ => None,
    };
    let setup = Setup {
        strategies: Vec::new(),
        seed: file.seed,
        settings: file.settings,
        points,
        threads,
        patience_ms,
        expected,
        fail_on_exit: matches!(file.verdict.failure(), Some(Failure::Exit { .. })),
        panics: match file.verdict.failure() {
            Some(Failure::Panic { last, .. }) => Some(last.thread.clone()),
            _ => None,
        },
        coverage: None,
        known: Ledger::default(),
        callers: file.parameters.iter().any(|(name, value)| name == CALLERS && *value != 0),
        alone: true,
    };
    Ok((words, setup))
}

/// What the random numbers of the run of `file` followed from. A strategy that learns has the same in all runs.
pub(super) fn random(file: &TraceFile) -> u64 {
    let learns = raddle_strategies::build(&file.strategy).is_ok_and(|strategy| strategy.learns());
    if learns { 0 } else { file.run }
}

/// Whether the program is another one than then, as far as that is known.
fn is_another_build(file: &TraceFile) -> bool {
    let now = raddle_symbols::build(Path::new(&file.program)).ok();
    now.zip(file.build.as_ref()).is_some_and(|(now, then)| now != *then)
}

fn made(answer: Answer, shown: &str) -> Result<Box<Ran>> {
    match answer {
        Answer::Ran(ran) => Ok(ran),
        Answer::Lost { message } | Answer::Refused { message } => {
            bail!("{shown}: the run cannot be repeated: {message}")
        }
        Answer::Ready { .. } | Answer::Exhausted | Answer::Coverage(_) => {
            bail!("{shown}: the native runtime has made no run")
        }
    }
}

/// What became of a run that was followed as far as possible.
fn tolerant(
    args: &ReplayArgs,
    file: &TraceFile,
    exact: &Ran,
    again: &Ran,
    shown: &str,
    width: usize,
) -> Result<Outcome> {
    let mut now =
        again.trace.as_deref().cloned().context("the native runtime has told nothing of the run")?;
    places::translate(&mut now, &mut Symbols::new());
    let (step, what) = exact.divergence.as_ref().context("only a run that was left is followed loosely")?;
    let left = crate::replay::Left { step: *step, what };
    let status = if now.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Ok(Outcome { text: crate::replay::tolerant_line(file, &now, &left), status });
    }
    let mut out = crate::replay::tolerant_head(file, &now, &left, shown);
    show(&mut out, &now, &again.output, width);
    Ok(Outcome { text: out, status })
}
