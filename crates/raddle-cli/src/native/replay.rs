//! `raddle replay` of a run of a pthreads program.

use super::launch::{Library, Server, find};
use super::run::POINTS;
use super::show::{message, show};
use crate::Outcome;
use crate::args::ReplayArgs;
use anyhow::{Context, Result, bail, ensure};
use raddle_model::native::{Answer, Order, Points, Setup};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Failure, TraceFile};
use raddle_report::shape::{self, Replayed};
use raddle_report::{sentences, text};

/// How long a replay may take, in milliseconds. It is one run, and nobody else waits.
const PATIENCE: u64 = 600_000;

/// Repeats the run of `file`, which messages call `shown`.
pub(crate) fn replay(args: &ReplayArgs, file: &TraceFile, shown: &str, width: usize) -> Result<Outcome> {
    let words: Vec<String> = serde_json::from_str(&file.program)
        .with_context(|| format!("{shown}: the program in the file is not a list of words"))?;
    ensure!(!words.is_empty(), "{shown}: the file names no program");
    find(&words[0])?;
    let points = file.parameters.iter().find(|(name, _)| name == POINTS).map_or(0, |&(_, points)| points);
    let points = [Points::All, Points::Shared, Points::Sync]
        .into_iter()
        .find(|known| *known as i64 == points)
        .with_context(|| format!("{shown}: the parameter `{POINTS}` has no known value"))?;
    let setup = Setup {
        strategies: Vec::new(),
        seed: file.seed,
        settings: file.settings,
        points,
        patience_ms: PATIENCE,
        expected: match file.verdict.failure() {
            Some(Failure::Output { file, .. }) => Some(file.clone()),
            _ => None,
        },
    };
    let library = Library::write()?;
    let mut server = Server::start(&library, &words, &setup)?;
    let learns = raddle_strategies::build(&file.strategy).is_ok_and(|strategy| strategy.learns());
    let random = if learns { 0 } else { file.run };
    let ran = match server.order(&Order::replay(file, random))? {
        Answer::Ran(ran) => ran,
        Answer::Lost { message } => bail!("{shown}: the run cannot be repeated: {message}"),
        Answer::Ready | Answer::Exhausted => bail!("{shown}: the native runtime has made no run"),
    };
    if let Some((step, what)) = &ran.divergence {
        bail!(
            "{shown}: the run does not repeat: at step {} of {}: {what}; the program or its surroundings have changed",
            step + 1,
            file.steps.len()
        );
    }
    let now = ran.trace.as_deref().context("the native runtime has told nothing of the run")?;
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
    let status = if file.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let out = if args.json {
        shape::line(&Replayed {
            verdict: file.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
            message: message(file).join("\n"),
            steps: file.steps.len() as u64,
            fingerprint: format!("{:016x}", file.fingerprint),
            strategy: file.strategy.clone(),
            seed: file.seed,
            run: file.run,
        })
    } else {
        let mut out = format!(
            "Run {} of seed {} under {}, {}; it repeats exactly.\n",
            file.run,
            file.seed,
            file.strategy,
            text::plural(file.steps.len() as u64, "step")
        );
        show(&mut out, file, &ran.output, width);
        out
    };
    Ok(Outcome { text: out, status })
}
