//! `raddle replay` of a run of an Erlang program.

use super::server::{Program, Server, setup, under};
use super::{Heard, show};
use crate::Outcome;
use crate::args::ReplayArgs;
use crate::replay::{Left, ends_alike, exact_head, tolerant_head, tolerant_line};
use anyhow::{Context, Result, bail, ensure};
use raddle_model::native::{Answer, Order, Ran};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, TraceFile};
use raddle_report::sentences;
use raddle_report::shape::{self, Replayed};

/// How long a replay may take without an operation, in milliseconds. It is one run, and nobody else waits.
const PATIENCE: u64 = 600_000;

/// Repeats the run of `file`, which messages call `shown`.
pub(crate) fn replay(args: &ReplayArgs, file: &TraceFile, shown: &str, width: usize) -> Result<Outcome> {
    ensure!(!args.gdb, "{shown}: it is a run of an Erlang program, so there is nothing for gdb to look at");
    let program = Program::of(file, shown)?;
    let setup = setup(under(file), file.seed, file.settings, PATIENCE);
    let mut server = Server::start(&program, &setup).with_context(|| shown.to_owned())?;
    let ran = made(server.order(&Order::replay(file, 0))?, shown)?;
    let now = ran.trace.as_deref().context("the Erlang VM has told nothing of the run")?;
    let left = ran.divergence.clone().or_else(|| moved(file, now));
    match left {
        Some((step, what)) if args.tolerant => {
            let again = made(server.order(&Order::resemble(file, 0))?, shown)?;
            tolerant(args, file, &again, &Left { step, what: &what }, (shown, width))
        }
        Some((step, what)) => bail!(
            "{shown}: the run does not repeat: at step {} of {}: {what}; a module has changed",
            step + 1,
            file.steps.len(),
        ),
        None => repeated(args, file, (now, &Heard::of(&ran)), shown, width),
    }
}

/// What is told of a run whose steps are those of `file`.
fn repeated(
    args: &ReplayArgs,
    file: &TraceFile,
    (now, heard): (&TraceFile, &Heard),
    shown: &str,
    width: usize,
) -> Result<Outcome> {
    ends_alike(file, now, shown)?;
    let status = if file.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        let text = shape::line(&Replayed::of(file, &sentences(file)));
        return Ok(Outcome { text, status });
    }
    let mut out = exact_head(file);
    show(&mut out, file, heard, width);
    Ok(Outcome { text: out, status })
}

/// What became of a run that was followed as far as possible.
fn tolerant(
    args: &ReplayArgs,
    file: &TraceFile,
    again: &Ran,
    left: &Left<'_>,
    (shown, width): (&str, usize),
) -> Result<Outcome> {
    let now = again.trace.as_deref().context("the Erlang VM has told nothing of the run")?;
    let status = if now.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Ok(Outcome { text: tolerant_line(file, now, left), status });
    }
    let mut text = tolerant_head(file, now, left, shown);
    show(&mut text, now, &Heard::of(again), width);
    Ok(Outcome { text, status })
}

/// The first step at a place that is another one than in the recorded run, though the step is the same: places are numbered in
/// the order in which a run comes to them.
fn moved(file: &TraceFile, now: &TraceFile) -> Option<(usize, String)> {
    let place = |file: &'_ TraceFile, index: usize| file.locations.get(index).cloned();
    file.steps.iter().zip(&now.steps).enumerate().find_map(|(step, (then, is))| {
        let was = place(file, then.operation.location.index())?;
        let is = place(now, is.operation.location.index())?;
        (was != is).then(|| (step, format!("it is at {is}, in the recorded run it was at {was}")))
    })
}

pub(super) fn made(answer: Answer, shown: &str) -> Result<Box<Ran>> {
    match answer {
        Answer::Ran(ran) => Ok(ran),
        Answer::Lost { message } | Answer::Refused { message } => {
            bail!("{shown}: the run cannot be repeated: {message}")
        }
        Answer::Ready { .. } | Answer::Exhausted | Answer::Coverage(_) => {
            bail!("{shown}: the Erlang VM has made no run")
        }
    }
}
