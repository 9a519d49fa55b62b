//! The summary of a search as text.

use crate::claim_text::{exhaustion, unless_exhausted};
use crate::shape::{Forks, NativeRun, Races};
use crate::text::{count, kinds, plural};
use raddle_model::{FrontEnd, MemoryModel};
use std::fmt::Write;

/// Returns the summary of runs that were not under control.
pub fn uncontrolled(report: &NativeRun) -> String {
    let mut out = format!("{}, {}: ", plural(report.runs, "run"), report.strategy);
    match report.first_failure {
        None => out.push_str("none failed.\n"),
        Some(first) => {
            let _ = writeln!(
                out,
                "failed: {}; the first is run {first}. It cannot be repeated.",
                kinds(&report.kinds)
            );
        }
    }
    out
}

/// Returns the note about runs that reached the step limit, with their number and the total.
pub fn inconclusive(runs: u64, of: u64, limit: u64) -> String {
    let what = if runs == 1 { "is" } else { "are" };
    format!(
        "{} of {} reached the step limit of {} and {what} inconclusive; --step-limit sets the limit",
        count(runs),
        plural(of, "run"),
        count(limit)
    )
}

/// The maximum number of iRoots of a failing run that are listed.
const MOST_TOLD: usize = 4;

/// Returns the part of the runs that needed no process of their own, in parentheses after a space; nothing if all
/// were forked as requested.
pub(crate) fn forks(forks: &Forks) -> String {
    match forks.without_fork {
        0 if forks.reset_unsupported => {
            " (all forked, because this system has no userfaultfd or PAGEMAP_SCAN)".to_owned()
        }
        0 => String::new(),
        runs => format!(" ({} without a fork)", count(runs)),
    }
}

/// Returns the summary of a search: the number of runs, and the first failure.
pub fn summary(report: &NativeRun, front_end: FrontEnd) -> String {
    let threads = front_end.thread_nouns();
    let actor = if front_end == FrontEnd::Beam { "actor" } else { "thread" };
    let mut out = String::new();
    let _ = write!(
        out,
        "{}{} under {}{}, seed {}: {}, up to {} and {}",
        plural(report.runs, "run"),
        forks(&report.forks),
        report.strategy,
        match (report.memory, report.weak_runs) {
            (MemoryModel::Weak, _) => " and weak memory".to_owned(),
            (MemoryModel::Sc, 0) => String::new(),
            (MemoryModel::Sc, runs) => format!(" ({} under weak memory)", plural(runs, "run")),
        },
        report.seed,
        plural(report.partial_orders, "partial order"),
        plural(report.threads, actor),
        plural(report.steps, "step")
    );
    exhaustion(&report.claims).iter().for_each(|left| out.push_str(&format!("; {left}")));
    out.push_str(".\n");
    if report.rests > 0 {
        let _ = writeln!(out, "Spinning {threads} were held back {}.", plural(report.rests, "time"));
    }
    if report.inconclusive > 0 {
        let _ = writeln!(out, "Note: {}.", inconclusive(report.inconclusive, report.runs, report.steps));
    }
    if report.processes > 0 {
        let count = count(report.processes);
        let _ = writeln!(out, "Note: processes started by the program, not under control: {count}.");
    }
    if report.outside_waits > 0 {
        let times = plural(report.outside_waits, "time");
        let _ = writeln!(out, "Note: runs waited {times} for something from outside; they may not repeat.");
    }
    if let Some(Races { runs, racing, message }) = &report.races
        && *racing > 0
    {
        let of = plural(*runs, "further run");
        let _ = writeln!(out, "Note: data races in {} of {of}; --races fail records one.", count(*racing));
        message.iter().flat_map(|message| message.lines()).for_each(|line| {
            let _ = writeln!(out, "  {line}");
        });
    }
    match report.first_failure {
        None => match unless_exhausted(&report.claims) {
            Some(line) => _ = writeln!(out, "No run failed: {line}."),
            None => out.push_str("No run failed.\n"),
        },
        Some(first) => {
            let _ = writeln!(out, "Failed: {}; the first is run {first}.", kinds(&report.kinds));
            if !report.iroots.is_empty() {
                out.push_str("It is the first run with these interleavings (iRoots):\n");
                let more = report.iroots.len().saturating_sub(MOST_TOLD);
                report.iroots.iter().take(MOST_TOLD).for_each(|root| _ = writeln!(out, "  {root}"));
                if more > 0 {
                    let _ = writeln!(out, "  and {} more", count(more as u64));
                }
            }
        }
    }
    out
}
