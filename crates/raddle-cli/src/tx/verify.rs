//! `raddle tx verify`: all interleavings of a plan.

use super::plan::Plan;
use crate::args::VerifyArgs;
use crate::outcome::Outcome;
use crate::progress::Waiting;
use crate::show;
use anyhow::{Result, ensure};
use raddle_launch::native::{Counted, Limits, Program, namer, trace_file};
use raddle_launch::{Keep, Output, Subject};
use raddle_model::native::{RunResult, Threads};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, TraceFile};
use raddle_report::FailureReport;
use raddle_report::run_text::Terminal;
use raddle_report::text::{count, plural};
use raddle_search::Deadline;

/// The kinds of failures of an operation that waits for another thread inside a transaction.
const WAITS: [&str; 2] = ["deadlock", "step-limit"];

pub(super) fn run(args: &VerifyArgs, width: usize) -> Result<Outcome> {
    let plan = Plan::read(&args.plan)?;
    let arguments = (!args.arguments.is_empty()).then_some(&args.arguments[..]);
    let library = plan.open(arguments, args.run_time)?;
    let mut divided = library.divided()?;
    let limits = Limits { runs: args.runs, deadline: Deadline::new(None), stop: true };
    let counted = divided.count(&plan.transactions(&library), "dpor", limits)?;
    let Some(ran) = &counted.first else {
        return passed(&counted, args);
    };
    let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
        Ok(Box::new(Program::open(file, "the failing run", Threads::Fibers)?))
    };
    // A smaller run, or another one for an explanation, need not be one of the plan.
    let keep = Keep {
        path: args.record.as_deref(),
        minimize: false,
        explain: false,
        namer: namer(),
        open: &open,
        progress: &Waiting::default(),
    };
    let output = Output { printed: ran.output.clone(), ..Output::default() };
    let kept = keep.keep(trace_file(ran, &library.words, &library.environment, divided.setup()), output);
    let mut text = String::new();
    let name = FailureReport::of(&kept.file).program;
    show::head(&mut text, &name, &format!("after {}", plural(counted.runs, "run")), width);
    show::run(&mut text, &kept.file, &kept.output, Terminal::of_width(width));
    if let Some(path) = &kept.path {
        show::commands(&mut text, &path.display().to_string());
    }
    if let Some(remark) = remark(ran) {
        text.push_str(&format!("\n{remark}\n"));
    }
    Ok(Outcome { text, status: EXIT_BUG_FOUND })
}

/// Returns the explanation of a failure that transactions cause.
fn remark(ran: &RunResult) -> Option<&'static str> {
    WAITS.contains(&ran.kind.as_deref()?).then_some(
        "An operation waits for another thread inside a transaction: the data structure is not lock-free, or an operation is not \
         one of it.",
    )
}

fn passed(counted: &Counted, args: &VerifyArgs) -> Result<Outcome> {
    ensure!(
        counted.exhausted,
        "not all interleavings were executed: {} passed, of {} (estimate)\nhelp: raise --runs, or begin fewer transactions",
        count(counted.runs),
        super::number::number(counted.number(), false)
    );
    ensure!(
        counted.incomplete == 0,
        "{} spun for too long, so interleavings may be missing",
        plural(counted.incomplete, "run")
    );
    let text = format!(
        "{}: all {} of the transactions passed ({} cut off as repetitions).\n",
        args.plan.display(),
        plural(counted.runs, "interleaving"),
        plural(counted.cut_off, "run")
    );
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}
