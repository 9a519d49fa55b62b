//! Interleaving coverage, counted in iRoots.

use crate::table::{Align, Table};
use crate::text;
use raddle_model::{Action, Count, IRoot, Idiom, Ledger, Name, Standing};
use serde::Serialize;
use std::fmt::Write;

/// The maximum number of predicted iRoots without a run that are listed.
const LISTED: usize = 10;

/// The output of `--coverage`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Coverage {
    /// The number of iRoots of each idiom, in order.
    pub idioms: [Count; 6],
    /// The saturation curve: the number of exposed iRoots after a number of runs, for each increase.
    pub saturation: Vec<(u64, u64)>,
    /// All iRoots, in order.
    pub roots: Vec<Root>,
}

/// One iRoot.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Root {
    /// The number of its idiom.
    pub idiom: usize,
    /// Its accesses in the order A, B, C, D.
    pub accesses: Vec<Place>,
    /// Its state.
    #[serde(flatten)]
    pub standing: Standing,
    #[serde(skip)]
    text: String,
}

/// A code location, and the action there.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Place {
    /// The action.
    pub action: Action,
    /// The location.
    pub at: String,
}

impl Coverage {
    /// Returns the contents of a ledger, with `place` for the texts of locations.
    pub fn new(ledger: &Ledger, saturation: Vec<(u64, u64)>, place: impl Fn(Name) -> String) -> Coverage {
        let root = |(root, standing): (&IRoot, Standing)| Root {
            idiom: root.idiom.number(),
            accesses: root
                .sites()
                .iter()
                .map(|site| Place { action: site.action, at: place(site.location) })
                .collect(),
            standing,
            text: root.describe(&place),
        };
        Coverage { idioms: ledger.counts(), saturation, roots: ledger.iter().map(root).collect() }
    }
}

/// Returns a table of the idioms, the saturation, and predicted iRoots that no run had.
pub fn coverage(coverage: &Coverage, runs: u64) -> String {
    let mut table = Table::new([
        ("idiom", Align::Left),
        ("exposed", Align::Right),
        ("predicted", Align::Right),
        ("of these exposed", Align::Right),
    ]);
    let mut all = Count::default();
    let mut row = |name: String, count: &Count| {
        let share = match count.predicted {
            0 => String::new(),
            predicted => format!(" ({:.0} %)", 100.0 * count.confirmed as f64 / predicted as f64),
        };
        table.row(vec![
            name,
            text::count(count.exposed),
            text::count(count.predicted),
            format!("{}{share}", text::count(count.confirmed)),
        ]);
    };
    for (idiom, count) in Idiom::ALL.iter().zip(&coverage.idioms) {
        row(idiom.number().to_string(), count);
        all.exposed += count.exposed;
        all.predicted += count.predicted;
        all.confirmed += count.confirmed;
    }
    row("all".to_owned(), &all);
    let mut out = format!("\nCoverage in iRoots:\n\n{}", table.render(usize::MAX));
    let points = saturation(&coverage.saturation, runs);
    if let Some(&(last, _)) = coverage.saturation.last() {
        let points: Vec<String> = points
            .iter()
            .map(|&(runs, roots)| format!("{} in {}", text::count(roots), text::count(runs)))
            .collect();
        let _ = writeln!(
            out,
            "\nExposed in so many runs: {}. The last new one came in run {} of {}.",
            points.join(", "),
            text::count(last),
            text::count(runs)
        );
    }
    let open: Vec<&Root> =
        coverage.roots.iter().filter(|root| root.standing.predicted && !root.standing.exposed).collect();
    if !open.is_empty() {
        let more = open.len().saturating_sub(LISTED);
        let rest = if more > 0 {
            format!(", the first {LISTED} of {}", text::count(open.len() as u64))
        } else {
            String::new()
        };
        let _ = writeln!(out, "\nPredicted and not exposed{rest}:");
        for root in open.iter().take(LISTED) {
            let tried = match root.standing.failed {
                0 => "not tried".to_owned(),
                failed => {
                    let runs = text::plural(u64::from(failed), "run");
                    format!("tried in {runs}{}", text::met(failed, root.standing.met))
                }
            };
            let _ = writeln!(out, "  {}: {} ({tried})", root.idiom, root.text);
        }
    }
    out
}

/// Returns the saturation at 1, 2, 5, 10 runs and so on, up to where nothing new came.
fn saturation(curve: &[(u64, u64)], runs: u64) -> Vec<(u64, u64)> {
    let at =
        |run: u64| curve.iter().take_while(|&&(when, _)| when <= run).last().map_or(0, |&(_, roots)| roots);
    let marks = (0..).flat_map(|power| [1, 2, 5].map(|mark| mark * 10_u64.pow(power)));
    let last = curve.last().map_or(0, |&(when, _)| when);
    let mut points: Vec<(u64, u64)> =
        marks.take_while(|&mark| mark < last).map(|mark| (mark, at(mark))).collect();
    points.push((last.min(runs), at(last)));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Site;

    #[test]
    fn the_table_and_what_is_left() {
        let site = |place, action| Site { location: Name(place), action };
        let mut ledger = Ledger::default();
        let one = IRoot::new(Idiom::One, &[site(1, Action::Write), site(2, Action::Read)]);
        let other = IRoot::new(Idiom::One, &[site(2, Action::Read), site(1, Action::Write)]);
        ledger.expose(one);
        ledger.predict(one);
        ledger.predict(other);
        ledger.fail(other, false);
        let text =
            coverage(&Coverage::new(&ledger, vec![(1, 5), (30, 9)], |place| format!("a.c:{}", place.0)), 40);
        assert!(text.contains("1 (50 %)"), "{text}");
        assert!(
            text.contains(
                "5 in 1, 5 in 2, 5 in 5, 5 in 10, 5 in 20, 9 in 30. The last new one came in run 30 of 40."
            ),
            "{text}"
        );
        assert!(text.contains("  1: read at a.c:2 => write at a.c:1 (tried in 1 run, and no two threads came to its places)\n"), "{text}");
    }
}
