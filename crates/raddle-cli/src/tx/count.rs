//! `raddle tx count`: the number of interleavings against the size of transactions.

use super::chart;
use super::library::Library;
use super::number::{Row, number};
use crate::args::CountArgs;
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail};
use raddle_launch::native::{Counted, Limits};
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_model::native::Transactions;
use raddle_report::shape;
use raddle_report::table::{Align, Table};
use raddle_report::text::{kinds, plural};
use raddle_search::Deadline;
use serde::Serialize;

/// The number of runs from whose lengths the number of all interleavings is estimated.
const SAMPLES: u64 = 50;

#[derive(Serialize)]
struct Report {
    /// The estimated number of interleavings without reduction and transactions.
    interleavings: f64,
    sizes: Vec<Row>,
}

pub(super) fn run(args: &CountArgs, width: usize) -> Result<Outcome> {
    let library = Library::of(&args.library)?;
    let mut divided = library.divided()?;
    let mut rows = Vec::new();
    for size in args.sizes.iter().map(|size| parse(size)) {
        let size = size?;
        // An operation has fewer accesses than that.
        let transactions = Transactions { size: Some(size.unwrap_or(u64::MAX)), ..library.transactions() };
        let limits = Limits { runs: args.limit, deadline: Deadline::new(None), stop: false };
        rows.push(row(size, &divided.count(&transactions, "dpor", limits)?));
    }
    let interleavings = interleavings(&divided.lengths(SAMPLES)?);
    if let Some(path) = &args.svg {
        let name = library.operations.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        std::fs::write(path, chart::svg(&name, &rows, args.limit))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let report = Report { interleavings, sizes: rows };
    let text = if args.json { shape::line(&report) } else { text(&report, width) };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

fn parse(size: &str) -> Result<Option<u64>> {
    match size.parse() {
        Ok(0) | Err(_) if size != "inf" => {
            bail!("--sizes: `{size}` is no size\nhelp: write whole numbers of at least 1, or inf")
        }
        Ok(number) => Ok(Some(number)),
        Err(_) => Ok(None),
    }
}

fn row(size: Option<u64>, counted: &Counted) -> Row {
    Row {
        size,
        schedules: counted.number(),
        exact: counted.exhausted,
        cut_off: counted.cut_off,
        failures: counted.failures.clone(),
        incomplete: counted.incomplete,
    }
}

/// Estimates the number of interleavings of the threads that the first one starts, from the numbers of their steps in some
/// runs: the mean number of ways to merge them.
fn interleavings(lengths: &[Vec<u64>]) -> f64 {
    let factorial = |number: u64| (1..=number).map(|factor| (factor as f64).ln()).sum::<f64>();
    let ways = |threads: &Vec<u64>| {
        let own = threads.get(1..).filter(|own| own.len() > 1).unwrap_or(threads);
        (factorial(own.iter().sum()) - own.iter().map(|&steps| factorial(steps)).sum::<f64>()).exp()
    };
    lengths.iter().map(ways).sum::<f64>() / lengths.len().max(1) as f64
}

fn text(report: &Report, width: usize) -> String {
    let mut table =
        Table::new([("transaction", Align::Left), ("interleavings", Align::Right), ("", Align::Left)]);
    for row in &report.sizes {
        let size = row.size.map_or_else(
            || "operation".to_owned(),
            |size| plural(size, "access").replace("accesss", "accesses"),
        );
        let mut remarks = Vec::new();
        remarks.extend((!row.failures.is_empty()).then(|| format!("failing: {}", kinds(&row.failures))));
        remarks.extend((row.incomplete > 0).then(|| "some may be missing".to_owned()));
        table.row(vec![size, number(row.schedules, row.exact), remarks.join("; ")]);
    }
    format!(
        "{}\nWithout partial-order reduction and transactions: {} interleavings.\n~ is an estimate.\n",
        table.render(width),
        number(report.interleavings, false)
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_threads_of_three_steps_have_twenty_interleavings() {
        assert_eq!(super::interleavings(&[vec![9, 3, 3]]).round(), 20.0);
        assert_eq!(super::interleavings(&[vec![9, 3, 3], vec![9, 1, 1]]).round(), 11.0);
    }
}
