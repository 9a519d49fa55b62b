//! The failure report for a terminal: what was wrong, why, and the steps that matter.

use crate::failure_report::{FailureReport, PairRole};
use crate::run_text::{Terminal, columns, plain, table};
use crate::table::{length, wrap};
use crate::text::plural;
use raddle_model::Stack;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The beginning of the explanation.
const WHY: &str = "Why: ";

/// Returns the report of a run: its end, the reason, the steps that matter, and what is known of their objects.
pub fn text(report: &FailureReport, terminal: Terminal) -> String {
    let mut out = String::new();
    for line in &report.summary {
        paragraph(&mut out, line, terminal.width);
    }
    if !report.details.history.is_empty() {
        out.push('\n');
    }
    for line in &report.details.history {
        let _ = writeln!(out, "{}", plain(&format!("  {line}")).trim_end());
    }
    why(&mut out, report, terminal.width);
    out.push('\n');
    out.push_str(&steps(report, terminal));
    for stack in &report.details.stacks {
        frames(&mut out, stack, terminal);
    }
    if !report.details.stacks.is_empty() {
        out.push('\n');
    }
    for lines in [&report.why, &report.notes] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines.iter().flat_map(|line| line.split('\n')) {
            paragraph(&mut out, line, terminal.width);
        }
    }
    out
}

/// The reason of the failure, the kind of bug and its depth.
fn why(out: &mut String, report: &FailureReport, width: usize) {
    let Some(reason) = &report.details.reason else { return };
    let depth = reason.depth.filter(|&depth| depth > 0).map(|depth| format!("depth {depth}"));
    let kind: Vec<String> = reason.kind.iter().cloned().chain(depth).collect();
    let mut lines: Vec<String> = Vec::new();
    for sentence in &reason.why {
        lines.extend(wrap(&plain(sentence), width.saturating_sub(WHY.len()).max(24)));
    }
    let kind = kind.join(", ");
    match lines.last_mut() {
        Some(last) if !kind.is_empty() && WHY.len() + length(last) + 4 + length(&kind) <= width => {
            last.push_str(&format!("    {kind}"));
        }
        _ if !kind.is_empty() => lines.push(kind),
        _ => {}
    }
    if !lines.is_empty() {
        out.push('\n');
    }
    for (index, line) in lines.iter().enumerate() {
        let _ = writeln!(out, "{}{line}", if index == 0 { WHY } else { "     " });
    }
}

/// Returns the steps that matter, or all of them, and below them what they are marked with, how many are hidden, and the objects.
fn steps(report: &FailureReport, terminal: Terminal) -> String {
    let mut out = String::new();
    let run = &report.failing;
    let of_the_test = |step: &usize| Some(run.events[*step].thread) != run.harness;
    let all = (0..run.events.len()).filter(of_the_test).count();
    let shown: BTreeSet<usize> = match &report.relevant {
        _ if terminal.full => {
            out.push_str(&table(run, &report.details, &report.pairs, None, terminal));
            (0..run.events.len()).collect()
        }
        Some(steps) => {
            let shown: Vec<usize> = steps.iter().copied().collect();
            out.push_str(&columns(run, &report.details, &report.pairs, &shown, terminal));
            steps.clone()
        }
        None => {
            let steps = crate::run_text::some_steps(run, &report.pairs, terminal);
            out.push_str(&columns(run, &report.details, &report.pairs, &steps, terminal));
            steps.into_iter().collect()
        }
    };
    let mut lines: Vec<String> = Vec::new();
    for role in [PairRole::Swap, PairRole::Enough, PairRole::Race] {
        let pairs = report.pairs.iter().filter(|pair| pair.role == role).count();
        if pairs > 0 && (report.relevant.is_some() && shown.len() > 4 || terminal.full) {
            lines.push(role.legend(pairs).to_owned());
        }
    }
    let hidden = all.saturating_sub(shown.iter().filter(|step| of_the_test(step)).count());
    if hidden > 0 {
        let steps = plural(hidden as u64, "step");
        let verb = if hidden == 1 { "is" } else { "are" };
        let matter = match report.relevant.is_some() {
            true if hidden == 1 => " that does not matter",
            true => " that do not matter",
            false => "",
        };
        lines.push(format!("{steps}{matter} {verb} hidden ({}).", terminal.hint));
    }
    lines.extend(objects(report, &shown, terminal));
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        paragraph(&mut out, &line, terminal.width);
    }
    out
}

/// Returns the locations where the objects of the steps were created.
fn objects(report: &FailureReport, shown: &BTreeSet<usize>, terminal: Terminal) -> Vec<String> {
    /// The largest number that is listed.
    const MOST: usize = 4;
    let run = &report.failing;
    let touched = shown.iter().filter_map(|&step| run.events.get(step));
    let touched = touched.flat_map(|event| event.operation.objects()).map(|(object, _)| object.0);
    let touched: BTreeSet<u32> = touched.collect();
    let made = touched.into_iter().filter_map(|object| {
        let name = run.object(object);
        let (_, place) = name.split_once(" made at ")?;
        let name = run.brief_object(object);
        // `block of queue.c:23` has it in its name.
        (!name.starts_with("block of ")).then(|| format!("`{name}`: allocated at {}", plain(place)))
    });
    if terminal.full || report.relevant.is_none() {
        return Vec::new();
    }
    let mut lines: Vec<String> = Vec::new();
    for line in made {
        if !lines.contains(&line) && lines.len() < MOST {
            lines.push(line);
        }
    }
    lines
}

/// A call stack, without the frames of libraries unless they are wanted.
fn frames(out: &mut String, stack: &Stack, terminal: Terminal) {
    let _ = writeln!(out, "\n{}", plain(&stack.title));
    let is_library = |index: usize| stack.library.get(index).copied().unwrap_or(false);
    let all = terminal.all_frames || (0..stack.frames.len()).all(is_library);
    for (index, frame) in stack.frames.iter().enumerate() {
        if all || !is_library(index) {
            let _ = writeln!(out, "  {}", plain(frame));
        }
    }
}

/// Adds a wrapped line; continuation lines are indented by two more.
fn paragraph(out: &mut String, line: &str, width: usize) {
    let line = plain(line);
    let text = line.trim_start();
    if text.is_empty() {
        out.push('\n');
        return;
    }
    let mut indent = line.len() - text.len();
    for part in wrap(text, width.saturating_sub(indent + 2).max(24)) {
        let _ = writeln!(out, "{}{part}", " ".repeat(indent));
        indent = line.len() - text.len() + 2;
    }
}
