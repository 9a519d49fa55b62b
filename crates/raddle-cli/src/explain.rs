//! `raddle explain`.

use crate::args::ExplainArgs;
use crate::minimize::{AFTER_A_FAILURE, Lab, reduce};
use crate::replay::{compile, read, shown};
use crate::{Outcome, native};
use anyhow::{Context, Result, bail};
use raddle_explain::{Effort, Explanation, Pair, explain};
use raddle_model::{EXIT_BUG_FOUND, TraceFile, TraceStep};
use raddle_report::events::Place;
use raddle_report::shape::{self, Explained, ExplainedPair, ExplainedStep};
use raddle_report::{sentences, text, verb};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What each of Maple's idioms looks like: `A=>B` is a dependent pair of two threads.
const IDIOMS: [&str; 6] = [
    "A=>B",
    "A=>B=>C, A and C in one thread, one object",
    "A=>B, C=>D, A..D in one thread and B..C in the other, one object",
    "A=>B, C=>D, A..D in one thread and B..C in the other, two objects",
    "A=>B, C=>D, A..D in one thread and C..B in the other, two objects",
    "A=>B, C=>D, A..C in one thread and B..D in the other, two objects",
];

pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let shown = shown(&args.file);
    let file = TraceFile::from_json(&read(&args.file)?).with_context(|| shown.to_owned())?;
    let effort = Effort { executions: args.runs, samples: args.samples };
    let (run, found) = search(&file, shown, effort)?;
    let text = if args.json { json(&run, &found, effort) } else { told(&run, &found, effort) };
    Ok(Outcome { text, status: EXIT_BUG_FOUND })
}

/// Explains the failing run of `file`, which messages call `shown`: the run as it was made again, and what was found out.
pub(crate) fn search(file: &TraceFile, shown: &str, effort: Effort) -> Result<(TraceFile, Explanation)> {
    if file.verdict.failure().is_none() {
        bail!("{shown}: the recorded run passed; there is no failure to explain");
    }
    let found = match &file.front_end[..] {
        "lab" => {
            let machine = compile(&file.program, &file.parameters)
                .with_context(|| format!("{shown}: the program in the file"))?;
            let mut lab = Lab::new(machine, file);
            // What is known to be small is not made smaller again.
            let small = match file.minimized {
                Some(_) => None,
                None => reduce(file, &mut lab, AFTER_A_FAILURE, &|_| Ok(()))?,
            };
            explain(small.as_ref().unwrap_or(file), effort, &mut lab)
        }
        native::FRONT_END => native::explain(file, shown, effort)?,
        other => bail!(
            "{shown}: the run was recorded by the front end `{other}`; this raddle can explain those of `lab` and `native`"
        ),
    };
    let found = found.with_context(|| {
        format!("{shown}: the run does not repeat: its schedule does not bring the recorded failure any more")
    })?;
    let run = found.run.clone().unwrap_or_else(|| file.clone());
    Ok((TraceFile { program: file.program.clone(), ..run }, found))
}

/// The explanation for a person.
fn told(file: &TraceFile, found: &Explanation, effort: Effort) -> String {
    format!("{}\n\n{}", sentences(file).join("\n"), why(file, found, effort))
}

/// Which order makes the run fail, and how many orders it needs.
pub(crate) fn why(file: &TraceFile, found: &Explanation, effort: Effort) -> String {
    let mut out = String::new();
    match &found.swapped[..] {
        [] if found.candidates == 0 => out.push_str(
            "No two operations of different threads that depend on each other were seen. Memory accesses of a pthreads program \
             are seen only if it was compiled by `raddle cc` or `raddle c++`.\n",
        ),
        [] => out.push_str(
            "No single pair of operations makes the difference: no run with one pair swapped passes.\n",
        ),
        [pair] => {
            let _ = writeln!(out, "{};\nswap them and the run passes.", order(file, found, *pair));
            excerpt(&mut out, file, found, *pair);
        }
        pairs => {
            out.push_str(
                "The closest run that passes swaps more than one pair of operations. In the failing run:\n",
            );
            for &pair in pairs {
                let _ = writeln!(out, "  {}", order(file, found, pair));
            }
        }
    }
    out.push('\n');
    let samples = text::plural(effort.samples, "random schedule");
    if found.always {
        let _ = writeln!(out, "No order of operations is needed: all of {samples} fail so.");
    } else if found.constraints.is_empty() {
        let _ = writeln!(
            out,
            "Depth: not found. No set of up to three orders was seen that makes all of {samples} fail, in {}.",
            text::plural(found.executions, "run")
        );
    } else {
        let depth = found.constraints.len() as u64;
        let _ = writeln!(
            out,
            "Depth {depth} (an estimate: all of {samples} fail that keep {} below; no smaller set was seen to do that):",
            text::plural(depth, "order")
        );
        for &pair in &found.constraints {
            let _ = writeln!(out, "  {}", order(file, found, pair));
        }
        if let Some(idiom) = found.idiom {
            let _ = writeln!(out, "Maple's idiom {idiom}: {}.", IDIOMS[usize::from(idiom) - 1]);
        }
    }
    out
}

/// Which of two operations came first.
fn order(file: &TraceFile, found: &Explanation, pair: Pair) -> String {
    let [first, second] = [pair.first, pair.second].map(|step| statement(file, &found.steps[step]));
    format!("{first} before {second}")
}

fn statement(file: &TraceFile, step: &TraceStep) -> String {
    let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_else(|| "?".to_owned());
    let objects =
        step.operation.objects().map(|(object, _)| format!(" `{}`", name(&file.objects, object.index())));
    format!(
        "{}: {}{} ({})",
        name(&file.threads, step.thread as usize),
        verb(step.operation.kind),
        objects.collect::<Vec<_>>().join(","),
        name(&file.locations, step.operation.location.index())
    )
}

/// The two lines of the source, if it is there.
fn excerpt(out: &mut String, file: &TraceFile, found: &Explanation, pair: Pair) {
    for step in [pair.first, pair.second] {
        let place = file.locations.get(found.steps[step].operation.location.index());
        let place = place.map(|place| Place::parse(place)).unwrap_or_default();
        let Some((name, line)) = place.file.zip(place.line) else { continue };
        let beside = Path::new(&file.program).parent().map(|folder| folder.join(&name));
        let paths = [Some(PathBuf::from(&name)), beside];
        let content = paths.into_iter().flatten().find_map(|path| std::fs::read_to_string(path).ok());
        if let Some(content) =
            content.as_deref().and_then(|content| content.lines().nth(line.checked_sub(1)? as usize))
        {
            let _ = writeln!(out, "  {name}:{line}  {}", content.trim());
        }
    }
}

fn json(file: &TraceFile, found: &Explanation, effort: Effort) -> String {
    let step = |index: usize| {
        let TraceStep { thread, operation } = &found.steps[index];
        ExplainedStep {
            step: (index < file.steps.len()).then_some(index as u64),
            thread: file.threads.get(*thread as usize).cloned().unwrap_or_default(),
            operation: verb(operation.kind).to_owned(),
            location: file.locations.get(operation.location.index()).cloned().unwrap_or_default(),
        }
    };
    let pairs = |pairs: &[Pair]| {
        pairs
            .iter()
            .map(|pair| ExplainedPair { first: step(pair.first), second: step(pair.second) })
            .collect()
    };
    shape::line(&Explained {
        verdict: file.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
        message: sentences(file).join("\n"),
        swapped: pairs(&found.swapped),
        always: found.always,
        depth: (!found.constraints.is_empty()).then_some(found.constraints.len() as u64),
        constraints: pairs(&found.constraints),
        idiom: found.idiom,
        samples: effort.samples,
        executions: found.executions,
    })
}
