//! `raddle explain`.

use crate::args::ExplainArgs;
use crate::input::shown;
use crate::outcome::Outcome;
use crate::progress::Waiting;
use crate::trust::recorded;
use anyhow::{Context, Result, bail};
use raddle_explain::{Effort, Explanation, Pair, place, sentence, too_weak};
use raddle_launch::{Sources, open_repeating};
use raddle_model::{EXIT_BUG_FOUND, FrontEnd, MemoryOrder, TraceFile, TraceStep};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, Explained, ExplainedPair, ExplainedStep, StrongerOrder};
use raddle_report::text;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The form of each of Maple's idioms: `A=>B` is a dependent pair of two threads.
pub(crate) const IDIOMS: [&str; 6] = [
    "A=>B",
    "A=>B=>C, A and C in one thread, one object",
    "A=>B, C=>D, A..D in one thread and B..C in the other, one object",
    "A=>B, C=>D, A..D in one thread and B..C in the other, two objects",
    "A=>B, C=>D, A..D in one thread and C..B in the other, two objects",
    "A=>B, C=>D, A..C in one thread and B..D in the other, two objects",
];

pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let shown = shown(&args.file);
    let file = recorded(&args.file, &args.open)?;
    let effort = Effort { executions: args.runs, samples: args.samples, depth: true, near: false };
    let (run, found, sources) = search(&file, shown, effort, args.time)?;
    let text = if args.json { json(&run, &found, effort) } else { text_of(&run, &found, effort, &sources) };
    Ok(Outcome { text, status: EXIT_BUG_FOUND })
}

/// Explains the failing run of `file`, called `shown` in messages: returns the repeated run, the explanation,
/// and the paths of the sources. No run begins after `time`.
pub(crate) fn search(
    file: &TraceFile,
    shown: &str,
    effort: Effort,
    time: Duration,
) -> Result<(TraceFile, Explanation, Sources)> {
    if file.verdict.failure().is_none() {
        bail!("{shown}: the recorded run passed; there is no failure to explain");
    }
    let mut program = open_repeating(file, shown)?;
    let found = raddle_launch::explain(&mut *program, file, shown, effort, time, &Waiting::default())?;
    let (found, sources) = found.with_context(|| {
        format!("{shown}: the run does not repeat: the recorded schedule no longer reproduces the failure")
    })?;
    let mut run = found.run.clone().unwrap_or_else(|| file.clone());
    if run.steps == file.steps {
        run.details.callers.clone_from(&file.details.callers);
    }
    Ok((TraceFile { program: file.program.clone(), ..run }, found, sources))
}

/// Returns the explanation as text.
fn text_of(file: &TraceFile, found: &Explanation, effort: Effort, sources: &Sources) -> String {
    format!("{}\n\n{}", verdict(file).join("\n"), why(file, found, effort, sources))
}

/// Returns the ordering that makes the run fail, and the number of orderings it needs.
pub(crate) fn why(file: &TraceFile, found: &Explanation, effort: Effort, sources: &Sources) -> String {
    let mut out = String::new();
    if let Some(sentences) = found.repair.as_ref().and_then(|repair| too_weak(file, found, repair)) {
        let _ = writeln!(out, "{}\n", sentences.join("\n"));
    }
    match &found.swapped[..] {
        [] if found.candidates == 0 || is_blind(file) => out.push_str(
            "No two operations of different threads were seen whose order makes the difference. Memory accesses of a pthreads program \
             are seen only if it was compiled by `raddle cc` or `raddle c++`.\n",
        ),
        [] if misses_swaps(found) => out.push_str(
            "No pair of operations was found so far whose swap makes the run pass.\n",
        ),
        [] => out.push_str(
            "No single pair of operations makes the difference: no run with one pair swapped passes, nor with two.\n",
        ),
        [pair] => {
            let _ = writeln!(out, "{};\nswap them and the run passes.", sentence(file, found, *pair));
        }
        pairs => {
            out.push_str(if misses_swaps(found) {
                "No single pair of operations was found so far that makes the difference. "
            } else {
                "No single pair of operations makes the difference. "
            });
            out.push_str("The closest run that passes swaps these; in the failing run:\n");
            for &pair in pairs {
                let _ = writeln!(out, "  {}", sentence(file, found, pair));
            }
        }
    }
    excerpt(&mut out, file, found, sources);
    out.push('\n');
    depth(&mut out, file, found, effort);
    if found.is_cut_off {
        let _ = writeln!(
            out,
            "\nThe search was ended after {}, with {} of {} swaps of one pair tried; more --time or --runs may find more.",
            text::plural(found.executions, "run"),
            text::count(found.tried as u64),
            text::count(found.candidates as u64)
        );
    }
    out
}

/// Returns true if not all swaps of one pair were tried.
fn misses_swaps(found: &Explanation) -> bool {
    found.tried < found.candidates
}

/// Returns true for a pthreads program without visible memory accesses.
fn is_blind(file: &TraceFile) -> bool {
    let memory = |step: &TraceStep| step.operation.kind.accesses_memory();
    file.front_end == FrontEnd::Native && !file.steps.iter().any(memory)
}

/// Adds the number of orderings that the failure needs, and lists them.
fn depth(out: &mut String, file: &TraceFile, found: &Explanation, effort: Effort) {
    /// The maximum number of orderings that are listed.
    const MOST: usize = 12;
    let samples = text::plural(effort.samples, "random schedule");
    let depth = found.constraints.len() as u64;
    let _ = match depth {
        _ if found.always => writeln!(out, "No order of operations is needed: all of {samples} fail so."),
        0 if found.is_cut_off => {
            writeln!(out, "Bug depth: not found so far. Not all sets of up to four orders were tried.")
        }
        0 => writeln!(
            out,
            "Bug depth: not found. No set of up to four orders made all {samples} fail, in {}.",
            text::plural(found.executions, "run")
        ),
        _ if found.constraints.len() > MOST => writeln!(
            out,
            "Bug depth: not found. No set of up to four orders made all {samples} fail; {depth} together do, of which none \
             can be left out."
        ),
        _ if found.smallest => writeln!(
            out,
            "Estimated bug depth: {depth}. All {samples} that keep {} fail, and no smaller set does that:",
            text::plural(depth, "order")
        ),
        _ => writeln!(
            out,
            "Estimated bug depth: at most {depth}. All {samples} that keep {} fail, and none of these can be left out:",
            text::plural(depth, "order")
        ),
    };
    if found.constraints.len() <= MOST {
        for &pair in &found.constraints {
            let _ = writeln!(out, "  {}", sentence(file, found, pair));
        }
    }
    if let Some(idiom) = found.idiom {
        let _ = writeln!(out, "Maple's idiom {idiom}: {}.", IDIOMS[usize::from(idiom) - 1]);
    }
}

/// Adds the source lines of the swapped operations, as far as they are available.
fn excerpt(out: &mut String, file: &TraceFile, found: &Explanation, sources: &Sources) {
    /// The maximum number of lines.
    const MOST: usize = 8;
    let steps = found.swapped.iter().flat_map(|pair| [pair.first, pair.second]);
    let texts = steps.filter_map(|step| file.locations.get(found.steps[step].operation.location.index()));
    let mut places: Vec<&str> = Vec::new();
    for text in texts.map(|text| place(text)) {
        if !places.contains(&text) && places.len() < MOST {
            places.push(text);
        }
    }
    let lines = places.into_iter().filter_map(|place| Some((place, line(file, sources, place)?)));
    let lines: Vec<(&str, String)> = lines.collect();
    let width = lines.iter().map(|(place, _)| place.len()).max().unwrap_or(0);
    for (place, line) in lines {
        let _ = writeln!(out, "  {place:width$}  {}", line.trim());
    }
}

/// Returns the text of the line at a location such as `bank.c:14`, or `line 7` of a program in the file
/// itself.
fn line(file: &TraceFile, sources: &Sources, place: &str) -> Option<String> {
    let nth = |content: &str, line: &str| {
        let line: usize = line.parse().ok()?;
        content.lines().nth(line.checked_sub(1)?).map(str::to_owned)
    };
    if let Some(line) = place.strip_prefix("line ") {
        return nth(&file.program, line);
    }
    let (name, line) = place.rsplit_once(':')?;
    if file.front_end == FrontEnd::Lab {
        // Its text is in the file; its author may name any other file.
        return None;
    }
    // A program and its source that were moved together are in the same folder.
    let beside = Path::new(&file.program).parent().map(|folder| folder.join(name));
    let paths = [sources.get(name).cloned(), beside, Some(PathBuf::from(name))];
    let content = paths
        .into_iter()
        .flatten()
        .filter(|path| path.is_file())
        .find_map(|path| std::fs::read_to_string(path).ok())?;
    nth(&content, line)
}

fn json(file: &TraceFile, found: &Explanation, effort: Effort) -> String {
    let step = |index: usize| ExplainedStep::of(file, &found.steps, index);
    let pairs = |pairs: &[Pair]| {
        pairs
            .iter()
            .map(|pair| ExplainedPair { first: step(pair.first), second: step(pair.second) })
            .collect()
    };
    let stronger = |&(index, order): &(usize, _)| StrongerOrder {
        step: step(index),
        order: MemoryOrder::keyword(order),
    };
    shape::line(&Explained {
        verdict: file.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
        message: verdict(file).join("\n"),
        swapped: pairs(&found.swapped),
        always: found.always,
        depth: found.smallest.then_some(found.constraints.len() as u64),
        constraints: pairs(&found.constraints),
        idiom: found.idiom,
        stronger_orders: found.repair.iter().flat_map(|repair| &repair.changes).map(stronger).collect(),
        samples: effort.samples,
        executions: found.executions,
        swaps: found.candidates as u64,
        swaps_tried: found.tried as u64,
        complete: !found.is_cut_off,
    })
}
