//! The shapes as text.

use crate::claim_text::{exhaustion, unless_exhausted};
use crate::shape::{Bound, BoundRow, Micro, MicroCell, MicroPublished, Run, StrategyEntry};
use crate::table::{Align, Table, wrap};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns a number with thousands separators.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a share with four significant digits.
pub fn share(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        1.0 => "1".to_owned(),
        small if small < 1e-3 => format!("{small:.3e}"),
        value => {
            // Below 0.1 and 0.01 the leading zeros do not count.
            let digits = if value < 0.01 {
                6
            } else if value < 0.1 {
                5
            } else {
                4
            };
            format!("{value:.digits$}")
        }
    }
}

/// Returns `1 run`, `2 runs`.
pub fn plural(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{} {word}s", count(number)) }
}

/// Returns the number of failed attempts at an iRoot in which two threads reached its locations, to follow
/// the number of attempts.
pub fn met(failed: u32, met: u32) -> String {
    match met {
        0 => ", and no two threads came to its places".to_owned(),
        all if all >= failed => ", where two threads came to its places".to_owned(),
        some => format!(", in {} of them two threads came to its places", count(u64::from(some))),
    }
}

/// Returns `2 assertion, 1 deadlock`.
pub fn kinds(counts: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> = counts.iter().map(|(kind, times)| format!("{} {kind}", count(*times))).collect();
    each.join(", ")
}

/// Returns the table of `raddle lab run`, and notes for reading it.
pub fn runs(reports: &[Run], width: usize) -> String {
    let exact = reports.iter().any(|report| report.exact.is_some());
    let mut columns = vec![
        ("strategy", Align::Left),
        ("runs", Align::Right),
        ("hits", Align::Right),
        ("hit ratio", Align::Right),
        ("95 % interval", Align::Left),
        ("partial orders", Align::Right),
    ];
    if exact {
        columns.insert(5, ("exact", Align::Left));
    }
    let mut table = Table::new(columns);
    for report in reports {
        let [low, high] = report.interval;
        let mut row = vec![
            report.strategy.clone(),
            count(report.runs),
            count(report.hits),
            share(report.hit_ratio),
            // An enumeration is not a sample.
            if report.exhausted.is_some() {
                "-".to_owned()
            } else {
                format!("{} to {}", share(low), share(high))
            },
            count(report.partial_orders),
        ];
        if exact {
            row.insert(5, report.exact.as_deref().map_or_else(|| "-".to_owned(), fraction));
        }
        table.row(row);
    }
    let mut out = table.render(width);
    let notes: Vec<(&str, String)> = reports
        .iter()
        .flat_map(|report| notes(report).into_iter().map(move |note| (report.strategy.as_str(), note)))
        .collect();
    if !notes.is_empty() {
        out.push('\n');
    }
    for (strategy, note) in notes {
        let text = if reports.len() > 1 { format!("{strategy}: {note}") } else { note };
        for (index, part) in wrap(&text, width.saturating_sub(2).max(20)).into_iter().enumerate() {
            let _ = writeln!(out, "{}{part}", if index == 0 { "" } else { "  " });
        }
    }
    out
}

/// Returns a fraction, with its value if that is not obvious; a long one only by its value.
fn fraction(text: &str) -> String {
    let value = |text: &str| text.parse::<f64>().ok();
    let Some((numerator, denominator)) = text.split_once('/') else { return text.to_owned() };
    match (value(numerator), value(denominator)) {
        (Some(n), Some(d)) if d.is_finite() && text.len() <= 20 => format!("{text} = {}", share(n / d)),
        (Some(n), Some(d)) if d.is_finite() => share(n / d),
        _ => text.to_owned(),
    }
}

fn notes(report: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    if report.hits > 0 {
        let kinds: Vec<String> =
            report.failures.iter().map(|(kind, number)| format!("{kind} {}", count(*number))).collect();
        notes.push(format!("failures by kind: {}", kinds.join(", ")));
    }
    if let (Some(orders), Some(reachable)) = (report.exact_partial_orders, report.exact_reachable) {
        let least = report.exact_least.as_deref().map_or_else(String::new, |least| {
            if reachable < orders {
                String::new()
            } else {
                format!(", the least likely with probability {}", fraction(least))
            }
        });
        notes.push(format!(
            "computed: {} in all, of which the strategy can reach {}{least}",
            plural(orders, "partial order"),
            count(reachable)
        ));
    }
    if let Some(reason) = &report.exact_refused {
        notes.push(format!("no exact probability: {reason}"));
    }
    if let Some(line) = unless_exhausted(&report.claims) {
        notes.push(line);
    } else if let Some(space) = report.space {
        notes.push(format!(
            "seen {} of about {} partial orders",
            count(report.partial_orders),
            count(space.round() as u64)
        ));
    }
    if let Some(exhausted) = report.exhausted {
        let cut_off = match report.cut_off {
            0 => String::new(),
            number => format!("; {} cut off because others cover them, counted apart", plural(number, "run")),
        };
        notes.push(match exhaustion(&report.claims) {
            Some(left) if exhausted => format!("exhausted: {left}{cut_off}"),
            _ if report.inconclusive > 0 => {
                format!("not exhausted: runs ended at the step limit{cut_off}")
            }
            _ => format!("not exhausted: schedules are left, give more --runs to see them{cut_off}"),
        });
    }
    if report.inconclusive > 0 {
        notes.push(crate::search_text::inconclusive(report.inconclusive, report.runs, report.steps));
    }
    if report.rests > 0 {
        notes.push(format!(
            "spinning threads were held back {}: schedules in which they spin on are not explored, and the strategy's \
             guarantee is impaired (see \"Spinning\" in ARCHITECTURE.md)",
            plural(report.rests, "time")
        ));
    }
    notes
}

/// Returns the tables of `raddle lab micro`.
pub fn micro(report: &Micro, width: usize) -> String {
    let mut out = String::new();
    let mut counts = Table::new([
        ("program", Align::Left),
        ("partial orders", Align::Right),
        ("published", Align::Right),
        ("max races", Align::Right),
        ("published", Align::Right),
        ("max preemptions", Align::Right),
        ("published", Align::Right),
    ]);
    for program in &report.programs {
        let pair = |found: u64, published: u64| [count(found), count(published)];
        let cells = [
            pair(program.partial_orders, program.published.partial_orders),
            pair(program.max_races, program.published.max_races),
            pair(program.max_preemptions, program.published.max_preemptions),
        ];
        counts.row([program.name.clone()].into_iter().chain(cells.into_iter().flatten()).collect());
    }
    out += &counts.render(width);
    let _ = writeln!(
        out,
        "\nLeast-covered partial order's share of {}, or 0(number of partial orders seen); published in brackets.",
        plural(report.runs, "run")
    );
    let columns = [("program".to_owned(), Align::Left)]
        .into_iter()
        .chain(report.strategies.iter().map(|spec| (spec.clone(), Align::Left)));
    let mut shares = Table::new(columns);
    for program in &report.programs {
        let cells =
            report.strategies.iter().map(|spec| program.strategies.get(spec).map_or("-".into(), cell));
        shares.row([program.name.clone()].into_iter().chain(cells).collect());
    }
    for mean in &report.means {
        let row = |title: &str, value: &dyn Fn(&crate::shape::MeanCell) -> String| {
            let cells = report.strategies.iter();
            let cells = cells.map(|spec| mean.strategies.get(spec).map_or_else(|| "-".into(), value));
            [format!("{title}, {}", mean.group)].into_iter().chain(cells).collect()
        };
        shares
            .row(row("mean", &|cell| with_published(&short(cell.min_hit_ratio), cell.published.map(short))));
        shares
            .row(row("ratio", &|cell| cell.ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}x"))));
    }
    out += &shares.render(usize::MAX);
    let _ = writeln!(
        out,
        "\nMeans are geometric; incomplete coverage counts as one hit. Ratio: measured over published, where that can be \
         compared\n(complete coverage, or at least {} runs). Random walk is computed, not sampled.",
        count(report.published_runs)
    );
    out += &seen(report, width);
    out
}

/// Returns the number of runs after which everything was seen, for the strategies for which it is known.
fn seen(report: &Micro, width: usize) -> String {
    let known = |spec: &&String| {
        let mut cells = report.programs.iter().filter_map(|program| program.strategies.get(*spec));
        cells.any(|cell| cell.all_seen_after.is_some() || cell.space.is_some())
    };
    let specs: Vec<&String> = report.strategies.iter().filter(known).collect();
    if specs.is_empty() {
        return String::new();
    }
    let mut table = Table::new(
        [("program".to_owned(), Align::Left)]
            .into_iter()
            .chain(specs.iter().map(|spec| (format!("{spec}: all seen after"), Align::Right)))
            .chain(specs.iter().map(|spec| (format!("{spec}: estimate"), Align::Right))),
    );
    for program in &report.programs {
        let of = |value: &dyn Fn(&MicroCell) -> Option<u64>| -> Vec<String> {
            let cells = specs.iter().map(|spec| program.strategies.get(*spec).and_then(value));
            cells.map(|number| number.map_or_else(|| "-".to_owned(), count)).collect()
        };
        let after = of(&|cell| cell.all_seen_after);
        let space = of(&|cell| cell.space.map(|space| space.round() as u64));
        table.row([program.name.clone()].into_iter().chain(after).chain(space).collect());
    }
    format!("\n{}", table.render(width))
}

fn short(value: f64) -> String {
    format!("{value:.2e}")
}

fn with_published(found: &str, published: Option<String>) -> String {
    published.map_or_else(|| found.to_owned(), |published| format!("{found} ({published})"))
}

fn cell(cell: &MicroCell) -> String {
    let found =
        if cell.min_hit_ratio > 0.0 { short(cell.min_hit_ratio) } else { format!("0({})", cell.covered) };
    let published = cell.published.map(|published| match published {
        MicroPublished::MinHitRatio(share) => short(share),
        MicroPublished::Covered(covered) => format!("0({covered})"),
    });
    with_published(&found, published)
}

/// Returns the table of `raddle lab bound`.
pub fn bound(report: &Bound, width: usize) -> String {
    let mut table = Table::new([
        ("guarantee".to_owned(), Align::Left),
        ("one run hits".to_owned(), Align::Right),
        (format!("{} miss", plural(report.runs, "run")), Align::Right),
        ("runs for 95 %".to_owned(), Align::Right),
        ("runs for 99 %".to_owned(), Align::Right),
    ]);
    let mut row = |name: String, row: &BoundRow| {
        table.row(vec![
            name,
            power(row.probability, row.log10_probability),
            share(row.missed),
            row.runs_95.map_or_else(|| power(f64::INFINITY, row.log10_runs_95), whole),
            row.runs_99.map_or_else(|| power(f64::INFINITY, row.log10_runs_99), whole),
        ]);
    };
    row(format!("pct, a bug of depth {}", report.depth), &report.pct);
    row(format!("pos, any partial order, {}", plural(report.conflicts, "conflict")), &report.pos);
    let mut out = format!(
        "At most {} and {}. \"Hits\" is at least, \"miss\" is at most.\n\n",
        plural(report.threads, "thread"),
        plural(report.steps, "step")
    );
    out += &table.render(width);
    out
}

fn whole(number: f64) -> String {
    if number < 1e12 { count(number as u64) } else { format!("{number:.2e}") }
}

/// Returns a value, or the power of ten if it does not fit a floating-point number.
fn power(value: f64, log10: f64) -> String {
    if value > 0.0 && value.is_finite() { share(value) } else { format!("10^{log10:.1}") }
}

/// Returns the list of `raddle strategies`, by family.
pub fn strategies(entries: &[StrategyEntry], width: usize) -> String {
    let mut out = String::new();
    for (family, title) in [
        ("randomized", "Randomized: each run is drawn at random"),
        ("systematic", "Systematic: runs are enumerated until none is left"),
        ("wrapper", "Wrappers: around a randomized strategy, such as conflict:pos"),
    ] {
        let members: Vec<&StrategyEntry> = entries.iter().filter(|entry| entry.family == family).collect();
        if members.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{}{title}\n", if out.is_empty() { "" } else { "\n" });
        for entry in members {
            strategy(&mut out, entry, width);
        }
    }
    out
}

fn strategy(out: &mut String, entry: &StrategyEntry, width: usize) {
    let mut line = |first: &str, text: &str| {
        let indent = first.chars().count();
        for (index, part) in wrap(text, width.saturating_sub(indent).max(20)).into_iter().enumerate() {
            let start = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
            let _ = writeln!(out, "{start}{part}");
        }
    };
    line("  ", &entry.name);
    line("      ", &entry.summary);
    for parameter in &entry.parameters {
        let text = format!("{} (default: {})", parameter.meaning, parameter.default);
        line(&format!("      {:<11} ", format!("{}=", parameter.name)), &text);
    }
    line("      from: ", &entry.source);
    line("      promise: ", &entry.guarantee);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_not_wrong() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(50_000_000)],
            ["0", "999", "1,000", "50,000,000"]
        );
        assert_eq!([share(0.0), share(1.0), share(0.5)], ["0", "1", "0.5000"]);
        assert_eq!([share(1.0 / 48.0), share(1.0 / 128.0), share(2e-8)], ["0.02083", "0.007812", "2.000e-8"]);
        assert_eq!([fraction("1/48"), fraction("0"), fraction("1")], ["1/48 = 0.02083", "0", "1"]);
        let long = format!("1{}/3{}", "0".repeat(30), "0".repeat(30));
        assert_eq!(fraction(&long), "0.3333");
    }

    #[test]
    fn what_impairs_a_result_is_said() {
        let report = Run {
            rests: 3,
            space: Some(12.4),
            partial_orders: 11,
            exhausted: Some(false),
            cut_off: 1,
            exact_refused: Some("it learns".into()),
            ..Run::default()
        };
        let text = runs(&[report], 100);
        for part in [
            "held back 3 times",
            "guarantee is impaired",
            "seen 11 of about 12 partial orders",
            "not exhausted",
            "1 run cut off",
            "no exact probability: it learns",
        ] {
            assert!(text.replace("\n  ", " ").contains(part), "{part}: {text}");
        }
    }
}
