//! The report of a search of a program, and its notes.

use raddle_model::{MemoryModel, Operation, Settings, TraceFile, TraceStep};
use raddle_report::shape::{Forks, NativeRun};
use raddle_report::text;
use raddle_search::{Seen, Tally};

/// Returns a short summary of a search, with the strategy of the latest run.
pub(crate) fn in_short(seen: &Seen<'_>, strategies: &[String]) -> String {
    let orders = text::plural(seen.tally.partial_orders(), "partial order");
    let strategy = strategies.get(seen.turn.lane).map_or("", |spec| spec);
    format!("{orders}, {}, {strategy}", text::plural(seen.tally.failures, "failure"))
}

/// Returns a note if shared-memory detection is incomplete.
pub(crate) fn missed_memory(tally: &Tally) -> Option<String> {
    let why = match &tally.profiling_error {
        Some(why) => format!("a profiling run failed: {why}"),
        None if tally.discoveries > 0 => format!(
            "{} still touched memory that no earlier run had shown to be shared\nhelp: --points all",
            text::plural(tally.discoveries, "run")
        ),
        None => return None,
    };
    Some(format!("shared-memory detection is incomplete: {why}"))
}

/// Returns a note if runs that passed ended with an exit status that may mean a failure.
pub(crate) fn exit_statuses(tally: &Tally) -> Option<String> {
    let (status, count) = tally.statuses.iter().max_by_key(|(_, count)| **count)?;
    let runs = text::plural(tally.runs, "run");
    Some(format!(
        "{} of {runs} ended with exit status {status}, which is no failure; --fail-on-exit makes it one",
        text::count(*count)
    ))
}

/// Returns a note if no run created a thread.
pub(crate) fn no_threads(tally: &Tally) -> Option<String> {
    let is_alone = tally.runs > 0 && tally.threads <= 1 && tally.failures == 0 && tally.inconclusive == 0;
    is_alone.then(|| "the program created no thread, so all runs had the same schedule".to_owned())
}

/// Returns a note if a run without a fork differed from the same run with one.
pub(crate) fn reset_difference(tally: &Tally) -> Option<String> {
    let what = tally.reset_difference.as_ref()?;
    Some(format!(
        "internal error: a run without a fork had another {what} than the same run in a forked process; later runs were forked, and --isolation fork forks all of them"
    ))
}

/// Returns the numbers of runs with and without a fork.
pub(crate) fn forks(tally: &Tally) -> Forks {
    let without_fork = tally.runs + tally.cut_off - tally.forked;
    // If every run was forked, the number says nothing new.
    let forked = if without_fork > 0 { tally.forked } else { 0 };
    Forks { forked, without_fork, reset_unsupported: tally.reset_unsupported }
}

/// Returns a note if no run of a search with these settings failed, and weak memory could have let one fail.
pub(crate) fn unexplored_memory(tally: &Tally, settings: Settings) -> Option<String> {
    let is_unexplored = tally.has_weak_orders
        && settings.memory == MemoryModel::Sc
        && tally.weak_runs == 0
        && tally.failures == 0;
    is_unexplored.then(|| {
        "the program uses memory orders weaker than seq_cst, and weak memory was not explored; --memory weak explores it".to_owned()
    })
}

/// Returns a note if a failing run of a search with these settings let a wait time out early, which the user
/// has not requested.
pub(crate) fn early_timeouts(failing: &TraceFile, wanted: Settings) -> Option<String> {
    let is_timed =
        |step: &TraceStep| step.operation.kind.info().timed && step.operation.argument != Operation::UNTIMED;
    let early = failing.settings.timeouts_anytime && !wanted.timeouts_anytime;
    (early && failing.steps.iter().any(is_timed)).then(|| {
        "the failing run assumes that a sleep or timed wait can end while other threads could still run; --timeouts idle leaves such \
         runs out"
            .to_owned()
    })
}

/// Returns the report of a search with these numbers.
pub(crate) fn report(tally: &Tally, strategy: String, seed: u64) -> NativeRun {
    NativeRun {
        verdict: if tally.failures > 0 { "failed" } else { "passed" }.to_owned(),
        runs: tally.runs,
        failures: tally.failures,
        kinds: tally.kinds.clone(),
        partial_orders: tally.partial_orders(),
        threads: tally.threads,
        steps: tally.steps,
        rests: tally.rests,
        outside_waits: tally.outside_waits,
        processes: tally.processes,
        cut_off: tally.cut_off,
        inconclusive: tally.inconclusive,
        exhausted: tally.exhausted,
        strategy,
        seed,
        ..NativeRun::default()
    }
}
