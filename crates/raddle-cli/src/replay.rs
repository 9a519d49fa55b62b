//! `raddle replay`.

use crate::args::{CiArgs, ReplayArgs};
use crate::input::shown;
use crate::native;
use crate::outcome::Outcome;
use crate::show;
use crate::suite;
use crate::trust::recorded;
use anyhow::{Result, ensure};
use raddle_launch::native::{Program, is_another_build};
use raddle_launch::{Divergence, Repeated, divergence, does_not_repeat, open};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, FrontEnd, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, Replayed, Resembled};
use raddle_report::text;

pub(crate) fn run(args: &ReplayArgs, width: usize) -> Result<Outcome> {
    let files = suite::files(&args.files)?;
    let CiArgs { junit, sarif, github } = &args.ci;
    let is_suite = files.len() > 1 || files != args.files || junit.is_some() || sarif.is_some() || *github;
    let [path] = &files[..] else { return suite_of(args, &files) };
    if is_suite {
        return suite_of(args, &files);
    }
    let shown = shown(path);
    let file = recorded(path, &args.open)?;
    let threads = native::threads(args.threads);
    if args.gdb {
        ensure!(
            file.front_end == FrontEnd::Native,
            "{shown}: it is no run of a pthreads program, so there is nothing for gdb to look at"
        );
        let repeated = Program::open(&file, shown, threads)?.debug(&file, &args.gdb_args)?;
        return match divergence(&file, &repeated) {
            None => Ok(exact(args, &file, &repeated, width)),
            Some(left) => Err(does_not_repeat(&file, &left, shown)),
        };
    }
    let mut subject = open(&file, shown, threads)?;
    let repeated = subject.replay(&file)?;
    match divergence(&file, &repeated) {
        None => Ok(exact(args, &file, &repeated, width)),
        Some(left) if args.tolerant => {
            let again = subject.resemble(&file)?;
            Ok(tolerant(args, &file, &again, &left, (shown, width)))
        }
        Some(left) => Err(does_not_repeat(&file, &left, shown)),
    }
}

fn suite_of(args: &ReplayArgs, files: &[String]) -> Result<Outcome> {
    ensure!(!args.gdb, "--gdb takes one failure file");
    suite::run(args, files)
}

/// Returns the output for a run whose steps are those of `file`.
fn exact(args: &ReplayArgs, file: &TraceFile, repeated: &Repeated, width: usize) -> Outcome {
    let status = if file.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Outcome { text: shape::line(&Replayed::of(file, &verdict(file))), status };
    }
    let mut text = exact_head(file);
    if file.front_end == FrontEnd::Native && is_another_build(file) {
        text.push_str("The program was built anew since.\n");
    }
    // The file may come from a version without values.
    let mut file = TraceFile { values: repeated.run.values.clone(), ..file.clone() };
    file.details.set_callers_if_none(&repeated.output.callers);
    text.push('\n');
    show::run(&mut text, &file, &repeated.output, show::terminal(args.show, width));
    Outcome { text, status }
}

/// Returns the output for a run that was followed as far as possible.
fn tolerant(
    args: &ReplayArgs,
    file: &TraceFile,
    again: &Repeated,
    left: &Divergence,
    (shown, width): (&str, usize),
) -> Outcome {
    let now = &again.run;
    let status = if now.verdict.failure().is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    if args.json {
        return Outcome { text: tolerant_line(file, now, left), status };
    }
    let mut text = tolerant_head(file, now, left, shown);
    text.push('\n');
    show::run(&mut text, now, &again.output, show::terminal(args.show, width));
    Outcome { text, status }
}

/// Returns the heading of an exact replay.
fn exact_head(file: &TraceFile) -> String {
    format!(
        "Run {} of seed {} under {}, {}; it repeats exactly.\n",
        file.run,
        file.seed,
        file.strategy,
        text::plural(file.steps.len() as u64, "step")
    )
}

/// Returns the heading of a tolerant replay: where the run diverged from the recorded one, and its outcome.
fn tolerant_head(file: &TraceFile, now: &TraceFile, left: &Divergence, shown: &str) -> String {
    let end = |file: &TraceFile| file.verdict.failure().map_or("passed", |failure| failure.kind());
    let steps = now.steps.len() as u64;
    format!(
        "{shown}: the run leaves the recorded one at {}: {}.\nFollowed as far as possible, it takes {} and ends so: \
         {}; the recorded one: {}.\n",
        left.step.map_or("its end".to_owned(), |step| format!("step {} of {}", step + 1, file.steps.len())),
        left.what,
        text::plural(steps, "step"),
        end(now),
        end(file)
    )
}

/// Returns the same as a line of JSON.
fn tolerant_line(file: &TraceFile, now: &TraceFile, left: &Divergence) -> String {
    shape::line(&Resembled {
        verdict: now.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
        recorded: file.verdict.failure().map_or("passed", |failure| failure.kind()).to_owned(),
        message: verdict(now).join("\n"),
        left_at: left.step.unwrap_or(file.steps.len()) as u64,
        left_because: left.what.clone(),
        steps: now.steps.len() as u64,
    })
}
