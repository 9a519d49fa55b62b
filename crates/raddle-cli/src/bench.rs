//! `raddle bench`: every strategy on every program of a suite.

use crate::args::{BenchArgs, cores};
use crate::outcome::Outcome;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use raddle_bench::{Measure, Store, Suite, measure_all};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND};
use raddle_report::bench::{Bench, markdown, page, pictures};
use raddle_search::{Lanes, Portfolio, is_interrupted};
use std::path::Path;

pub(crate) fn run(args: &BenchArgs) -> Result<Outcome> {
    let mut suite = Suite::read(&args.suite)?;
    select(&mut suite, &args.case)?;
    args.strategy.iter().try_for_each(|spec| Lanes::parse(spec, Portfolio::Programs).map(drop))?;
    let how =
        Measure { runs: args.runs, trials: args.trials.unwrap_or(0), seed: args.seed, fixed: args.fixed };
    let store = Store::open(args.output.as_deref())?;
    let cells = {
        let progress = Progress::of((suite.programs.len() * args.strategy.len()) as u64, "cells");
        let finished = |note: &dyn Fn() -> String| {
            progress.add(1);
            progress.note(note);
        };
        measure_all(&suite.programs, &args.strategy, how, &store, cores(args.jobs), &finished)?
    };
    if is_interrupted() {
        suite.programs.retain(|program| cells.iter().any(|cell| cell.case == program.case.name));
    }
    let bench = Bench {
        command: command(args),
        seed: args.seed,
        runs: args.runs,
        trials: how.trials,
        strategies: args.strategy.clone(),
        cases: suite.programs.iter().map(|program| program.case.clone()).collect(),
        cells,
        published: suite.published,
        suite: suite.name,
    };
    if let Some(folder) = &args.output {
        write_all(folder, &bench)?;
    }
    let false_alarm =
        args.fixed && bench.cells.iter().any(|cell| cell.hits > 0 || !cell.unexpected.is_empty());
    let status = if false_alarm { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let text = if args.json {
        let mut line = serde_json::to_string(&bench).context("the results cannot be written as JSON")?;
        line.push('\n');
        line
    } else {
        markdown(&bench)
    };
    Ok(Outcome { text, status })
}

fn select(suite: &mut Suite, wanted: &[String]) -> Result<()> {
    for name in wanted {
        if !suite.programs.iter().any(|program| program.case.name == *name) {
            let known: Vec<&str> = suite.programs.iter().map(|program| program.case.name.as_str()).collect();
            bail!("{name}: no such case in the suite {}; there are {}", suite.name, known.join(", "));
        }
    }
    if !wanted.is_empty() {
        suite.programs.retain(|program| wanted.contains(&program.case.name));
    }
    Ok(())
}

/// Returns the command that repeats the measurement.
fn command(args: &BenchArgs) -> String {
    let mut words = vec!["raddle bench".to_owned(), format!("--suite {}", args.suite)];
    words.extend(args.case.iter().map(|case| format!("--case {case}")));
    words.extend(args.strategy.iter().map(|strategy| format!("--strategy {strategy}")));
    words.push(format!("--runs {}", args.runs));
    words.extend(args.trials.map(|trials| format!("--trials {trials}")));
    words.extend(args.fixed.then(|| "--fixed".to_owned()));
    words.join(" ")
}

fn write_all(folder: &Path, bench: &Bench) -> Result<()> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let json = serde_json::to_string_pretty(bench).context("the results cannot be written as JSON")?;
    write("results.json", &(json + "\n"))?;
    write("results.md", &markdown(bench))?;
    write("page.html", &page(bench))?;
    for picture in pictures(bench) {
        write(&format!("{}.svg", picture.name), &picture.svg)?;
    }
    Ok(())
}
