//! Prints the table of all structures: what refutes the wrong ones, and what the right ones are verified for.
//!
//! `benchmarks/lockfree/run [NAME]`

use lockfree::{CASES, Case, Effort};
use raddle::linearizable::Summary;
use std::io::{Write, stdout};
use std::time::{Duration, Instant};

/// The number of runs of larger scenarios.
const RUNS: u64 = 10_000;

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn timed<T>(action: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = action();
    (result, begin.elapsed())
}

fn main() -> std::io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let cases = || CASES.iter().filter(|case| case.name.contains(&name));
    let mut out = stdout().lock();
    let mut is_wrong = false;
    writeln!(
        out,
        "| wrong structure | mistake | smallest scenario | runs to the failure | time |\n|---|---|---|---|---|"
    )?;
    for case in cases().filter(|case| case.mistake.is_some()) {
        is_wrong |= !wrong(&mut out, case)?;
    }
    writeln!(
        out,
        "\n| right structure | one call each: scenarios, interleavings, time a scenario | up to two calls each | one call each under \
         weak memory | {RUNS} runs of larger ones | progress |\n|---|---|---|---|---|---|"
    )?;
    for case in cases().filter(|case| case.mistake.is_none()) {
        is_wrong |= !right(&mut out, case)?;
    }
    std::process::exit(i32::from(is_wrong));
}

/// Writes the row of a wrong structure. Returns true if it was refuted.
fn wrong(out: &mut impl Write, case: &Case) -> std::io::Result<bool> {
    let (result, time) = timed(|| case.search());
    let mistake = case.mistake.unwrap_or_default();
    match &result {
        Ok(summary) => {
            writeln!(out, "| {} | {mistake} | NOT FOUND in {} runs | | |", case.name, summary.runs)?
        }
        Err(refuted) => {
            let lines: Vec<String> = refuted
                .scenario
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect();
            let runs = refuted.runs + refuted.failed.number.unwrap_or(0) + 1;
            let (name, scenario, time) = (case.name, lines.join("; "), time.as_secs_f64());
            writeln!(out, "| {name} | {mistake} | {scenario} | {runs} | {time:.2} s |")?;
        }
    }
    Ok(result.is_err())
}

/// Writes the row of a right structure. Returns true if nothing was found.
fn right(out: &mut impl Write, case: &Case) -> std::io::Result<bool> {
    let mut is_clean = true;
    let mut cell = |effort| {
        let (result, time) = timed(|| (case.check)(effort, false));
        match result {
            Err(refuted) => {
                is_clean = false;
                refuted.headline.clone()
            }
            Ok(Summary { scenarios, verified, interleavings, runs, .. }) => {
                let each = time.as_secs_f64() * 1e3 / scenarios as f64;
                match effort {
                    Effort::Random(_) => format!("{runs} clean, {:.1} s", time.as_secs_f64()),
                    _ if verified < scenarios => format!("{verified} of {scenarios} verified, {runs} runs"),
                    _ => format!("{scenarios}, {interleavings}, {each:.2} ms"),
                }
            }
        }
    };
    let few = cell(Effort::Verify { calls: 1 });
    let many = cell(Effort::Verify { calls: 2 });
    let weak = cell(Effort::VerifyWeak);
    let random = cell(Effort::Random(RUNS));
    let progress = match (case.check)(Effort::Verify { calls: 1 }, true) {
        Ok(summary) => format!("lock-free, at most {} steps", summary.most_steps),
        Err(refuted) => refuted.headline.clone(),
    };
    is_clean &= progress.starts_with("lock-free") != case.is_blocking;
    writeln!(out, "| {} | {few} | {many} | {weak} | {random} | {progress} |", case.name)?;
    out.flush()?;
    Ok(is_clean)
}
