//! The tables, as Markdown.

use super::{Bench, Case, Cell, geometric};
use crate::text;
use std::fmt::Write;

/// Returns all tables of a suite's results.
pub fn markdown(bench: &Bench) -> String {
    let mut out = format!("# Suite {}\n\n", bench.suite);
    let _ = writeln!(out, "`{}`, seed {}.\n", bench.command, bench.seed);
    if bench.trials > 0 {
        let (trials, runs) = (text::count(bench.trials), text::count(bench.runs));
        let _ = writeln!(
            out,
            "Mean number of runs to the bug over {trials} trials with different seeds, at most {runs} runs each; `>` where a \
             trial did not find it and counts with all of its runs. In brackets the median."
        );
    } else {
        let runs = text::count(bench.runs);
        let _ = writeln!(
            out,
            "Share of {runs} runs that show the bug, with its 95 % interval. In a geometric mean a program that was never hit \
             counts as hit once."
        );
    }
    out.push('\n');
    main_table(&mut out, bench);
    published_table(&mut out, bench);
    coverage_table(&mut out, bench);
    unexpected(&mut out, bench);
    out
}

fn heading(out: &mut String, first: &str, columns: impl Iterator<Item = String>) {
    let columns: Vec<String> = columns.collect();
    let _ = writeln!(out, "| {first} | {} |", columns.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(columns.len()));
}

fn row(out: &mut String, first: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let _ = writeln!(out, "| {first} | {} |", cells.join(" | "));
}

fn main_table(out: &mut String, bench: &Bench) {
    heading(out, "program", bench.strategies.iter().cloned());
    for case in &bench.cases {
        let cells = bench.strategies.iter().map(|strategy| {
            bench.cell(&case.name, strategy).map_or_else(String::new, |cell| shown(bench, cell))
        });
        row(out, &case.name, cells);
    }
    let mean = |strategy: &String| bench.mean(strategy).map_or_else(String::new, text::share);
    row(out, "**geometric mean**", bench.strategies.iter().map(mean));
    let found = |strategy: &String| format!("{} of {}", bench.found(strategy), bench.cases.len());
    row(out, "**found**", bench.strategies.iter().map(found));
    row(out, "**best or equal**", bench.strategies.iter().map(|strategy| bench.wins(strategy).to_string()));
}

/// Returns the number in a cell of the table.
fn shown(bench: &Bench, cell: &Cell) -> String {
    if let Some((mean, missed)) = cell.schedules(bench.runs) {
        let median = cell.median().map_or_else(|| "-".to_owned(), text::count);
        return format!("{}{mean:.1} ({median})", if missed { ">" } else { "" });
    }
    match cell.interval {
        Some([low, high]) => {
            format!("{} ({} to {})", text::share(cell.hit_ratio()), text::share(low), text::share(high))
        }
        None => "-".to_owned(),
    }
}

/// Adds a comparison with published figures, for the programs and strategies that have both.
fn published_table(out: &mut String, bench: &Bench) {
    if bench.trials > 0 {
        return published_schedules(out, bench);
    }
    let with = |case: &&Case| {
        bench.strategies.iter().any(|strategy| bench.published_ratio(case, strategy).is_some())
    };
    let cases: Vec<&Case> = bench.cases.iter().filter(with).collect();
    let of = |strategy: &&String| cases.iter().any(|case| bench.published_ratio(case, strategy).is_some());
    let strategies: Vec<&String> = bench.strategies.iter().filter(of).collect();
    if strategies.is_empty() {
        return;
    }
    out.push_str(
        "\n## Beside the published shares\n\nOurs, and in brackets the published one (10,000 runs).\n\n",
    );
    heading(out, "program", strategies.iter().map(|&strategy| strategy.clone()));
    for case in &cases {
        let cells = strategies.iter().map(|strategy| {
            let ours = bench.cell(&case.name, strategy).map(|cell| text::share(cell.hit_ratio()));
            let theirs = bench.published_ratio(case, strategy).map(text::share);
            format!(
                "{} ({})",
                ours.unwrap_or_else(|| "-".to_owned()),
                theirs.unwrap_or_else(|| "-".to_owned())
            )
        });
        row(out, &case.name, cells);
    }
    let means = strategies.iter().map(|strategy| {
        let both = || {
            cases.iter().filter_map(|case| {
                Some((bench.cell(&case.name, strategy)?, bench.published_ratio(case, strategy)?))
            })
        };
        let ours = geometric(both().map(|(cell, _)| cell.ratio_or_once()));
        // One hit in the 10,000 runs of the published figures.
        let theirs = geometric(both().map(|(_, ratio)| ratio.max(1e-4)));
        let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), text::share);
        format!("{} ({})", share(ours), share(theirs))
    });
    row(out, "**geometric mean**", means);
}

fn published_schedules(out: &mut String, bench: &Bench) {
    let sources: Vec<&String> = bench.published.schedules_to_bug.keys().collect();
    for source in sources {
        let rows = &bench.published.schedules_to_bug[source];
        let shared = |case: &&Case| case.published.as_ref().is_some_and(|name| rows.contains_key(name));
        let cases: Vec<&Case> = bench.cases.iter().filter(shared).collect();
        if cases.is_empty() {
            continue;
        }
        let mut theirs: Vec<&String> = cases
            .iter()
            .filter_map(|case| rows.get(case.published.as_ref()?))
            .flat_map(|row| row.keys())
            .collect();
        theirs.sort_unstable();
        theirs.dedup();
        let _ = writeln!(
            out,
            "\n## Beside {source}\n\nPublished mean runs to the bug, with in how many of the trials; then ours.\n"
        );
        let ours = bench.strategies.iter().map(|strategy| format!("**{strategy}**"));
        heading(out, "program", theirs.iter().map(|&name| name.clone()).chain(ours));
        for case in &cases {
            let found = case.published.as_ref().and_then(|name| rows.get(name));
            let published = theirs.iter().map(|&name| match found.and_then(|row| row.get(name)) {
                Some(cell) => {
                    let mean = cell.mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.0}"));
                    if cell.found < cell.trials {
                        format!("{mean} ({} of {})", cell.found, cell.trials)
                    } else {
                        mean
                    }
                }
                None => String::new(),
            });
            let ours = bench.strategies.iter().map(|strategy| {
                bench.cell(&case.name, strategy).map_or_else(String::new, |cell| shown(bench, cell))
            });
            row(out, &case.name, published.chain(ours));
        }
    }
}

fn coverage_table(out: &mut String, bench: &Bench) {
    out.push_str("\n## Partial orders seen, and runs a second\n\n");
    heading(out, "program", bench.strategies.iter().cloned());
    for case in &bench.cases {
        let cells = bench.strategies.iter().map(|strategy| match bench.cell(&case.name, strategy) {
            Some(cell) if cell.seconds > 0.0 => {
                let speed = text::count((cell.runs as f64 / cell.seconds).round() as u64);
                format!("{}, {speed}/s", text::count(cell.partial_orders))
            }
            Some(cell) => text::count(cell.partial_orders),
            None => String::new(),
        });
        row(out, &case.name, cells);
    }
}

fn unexpected(out: &mut String, bench: &Bench) {
    let mut lines = String::new();
    for cell in bench.cells.iter().filter(|cell| !cell.unexpected.is_empty()) {
        let _ = writeln!(lines, "* {} under {}: {}", cell.case, cell.strategy, text::kinds(&cell.unexpected));
    }
    if !lines.is_empty() {
        let _ =
            write!(out, "\n## Failures that the manifest does not expect\n\nNot counted as hits.\n\n{lines}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn ours_stand_beside_the_published() {
        let text = markdown(&sample());
        assert!(text.contains("| a | 0.2500 (0.2500) | 0.6400 (0.5000) |"), "{text}");
        assert!(!text.contains("| b | 0.2500"), "{text}");
        assert!(text.contains("| **best or equal** | 0 | 1 |"), "{text}");
    }
}
