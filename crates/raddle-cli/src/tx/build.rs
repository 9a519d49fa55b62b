//! `raddle tx build` and `raddle cc --transactions`.

use super::plan::Plan;
use crate::args::BuildArgs;
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail, ensure};
use raddle_cc::{Language, OPERATIONS, command, enforce};
use raddle_model::EXIT_NOTHING_FOUND;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The argument of `raddle cc` that names a plan.
const TRANSACTIONS: &str = "--transactions";

pub(super) fn run(args: &BuildArgs) -> Result<Outcome> {
    let plan = Plan::read(&args.plan)?;
    let library = plan.open(None, Duration::MAX)?;
    enforce(Path::new(&library.words[0]), &plan.marks(&library), &args.output)?;
    Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND })
}

/// Compiles and links like `raddle cc`, with the transactions of the plan that `args` name. Returns `None` if they name
/// none.
pub(crate) fn compile(language: Language, args: &[OsString]) -> Option<Result<Outcome>> {
    let at = args.iter().position(|word| word == TRANSACTIONS)?;
    Some(compile_with(language, args, at))
}

fn compile_with(language: Language, args: &[OsString], at: usize) -> Result<Outcome> {
    let Some(plan_path) = args.get(at + 1) else {
        bail!("{TRANSACTIONS}: a file is missing\nhelp: raddle tx plan makes one");
    };
    let plan = Plan::read(Path::new(plan_path))?;
    let mut rest: Vec<OsString> = args[..at].iter().chain(&args[at + 2..]).cloned().collect();
    let output = rest.iter().position(|word| word == "-o").and_then(|at| rest.get(at + 1));
    let output = output.map_or_else(|| PathBuf::from("a.out"), PathBuf::from);
    if !rest.iter().any(|word| word == OPERATIONS) {
        rest.push(OPERATIONS.into());
    }
    let mut compiler = command(language, &rest)?;
    let name = compiler.get_program().display().to_string();
    let status = compiler.status().with_context(|| format!("cannot start {name}"))?;
    if !status.success() {
        return Ok(Outcome { text: String::new(), status: status.code().map_or(1, |code| code as u8) });
    }
    if rest.iter().any(|word| word == "-c") {
        return Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND });
    }
    let built =
        raddle_symbols::build(&output).with_context(|| format!("cannot read {}", output.display()))?;
    ensure!(
        built == plan.build,
        "{}: is another build than that of the plan {}\nhelp: compile exactly as before the plan was made, or make a new plan",
        output.display(),
        Path::new(plan_path).display()
    );
    let library = plan.open(None, Duration::MAX);
    // The program of the plan may be gone; the new one is the same.
    let library = library.or_else(|_| {
        let words = vec![output.to_string_lossy().into_owned()];
        Plan { words, ..plan.clone() }.open(None, Duration::MAX)
    })?;
    enforce(&output, &plan.marks(&library), &output)?;
    Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND })
}
