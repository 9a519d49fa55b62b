//! `raddle replay` of a run of an Erlang program.

use super::{launch, show};
use crate::Outcome;
use crate::args::ReplayArgs;
use crate::replay::exact_head;
use anyhow::{Context, Result, bail, ensure};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, TraceFile};
use raddle_report::sentences;
use raddle_report::shape::{self, Replayed};

/// Repeats the run of `file`, which messages call `shown`.
pub(crate) fn replay(args: &ReplayArgs, file: &TraceFile, shown: &str, width: usize) -> Result<Outcome> {
    ensure!(!args.gdb, "{shown}: it is a run of an Erlang program, so there is nothing for gdb to look at");
    ensure!(!args.tolerant, "{shown}: runs of Erlang programs are repeated exactly or not at all");
    ensure!(
        !file.program.is_empty(),
        "{shown}: the test was a function expression; replay it in its module by raddle:replay(File, #{{test => Fun}})"
    );
    // It may have come from the standard input.
    let copy = crate::native::Temporary::write("replay.json", file.to_json().as_bytes())?;
    let answer = launch::ask(&["replay".into(), copy.path().into()]).with_context(|| shown.to_owned())?;
    if let Some(step) = answer.left_at {
        bail!(
            "{shown}: the run does not repeat: at step {} of {}: {}; a module has changed",
            step + 1,
            file.steps.len(),
            answer.what.as_deref().unwrap_or("it is another one")
        );
    }
    ensure!(
        answer.fingerprint == Some(file.fingerprint),
        "{shown}: the steps repeat but the fingerprint does not"
    );
    let status = if file.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        let text = shape::line(&Replayed::of(file, &sentences(file)));
        return Ok(Outcome { text, status });
    }
    let mut out = exact_head(file);
    show(&mut out, file, width);
    Ok(Outcome { text: out, status })
}
