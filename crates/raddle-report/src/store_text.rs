//! The interleavings in a store, as JSON and as text.

use crate::table::{Align, Table};
use crate::text::{count, met, plural};
use serde::Serialize;
use std::fmt::Write;

/// The store as JSON.
#[derive(Serialize)]
pub struct Kept {
    /// The numbers for each idiom.
    pub idioms: Vec<KeptIdiom>,
    /// The searches, the earliest first.
    pub searches: Vec<KeptSearch>,
    /// The iRoots, if they are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iroots: Option<Vec<KeptRoot>>,
    /// The number of forgotten iRoots, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<u64>,
    /// The exposed iRoots that another store does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_here: Option<Vec<String>>,
    /// The exposed iRoots that only the other store has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_there: Option<Vec<String>>,
}

/// The iRoots of one idiom.
#[derive(Serialize)]
pub struct KeptIdiom {
    /// Its number, from 1.
    pub idiom: usize,
    /// The number of iRoots seen in runs.
    pub exposed: u64,
    /// The number of predicted ones.
    pub predicted: u64,
    /// The number of predicted ones that were seen in runs.
    pub confirmed: u64,
    /// The number of failed attempts.
    pub failed: u64,
}

/// One search.
#[derive(Serialize)]
pub struct KeptSearch {
    /// The time of its end, in seconds since 1970.
    pub at: i64,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: String,
    /// The strategies.
    pub strategy: String,
    /// The runs.
    pub runs: u64,
    /// The failing runs.
    pub failures: u64,
    /// The number of iRoots that it exposed first.
    pub fresh: u64,
}

/// One iRoot.
#[derive(Serialize)]
pub struct KeptRoot {
    /// The number of its idiom.
    pub idiom: usize,
    /// The iRoot as text.
    pub reported: String,
    /// True if it was seen in a run.
    pub exposed: bool,
    /// True if it was predicted.
    pub predicted: bool,
    /// The number of failed attempts.
    pub failed: u32,
    /// The number of them in which two threads reached its locations.
    pub met: u32,
}

/// Returns the text of a store for lines of `width` columns.
pub fn text(shape: &Kept, width: usize) -> String {
    let mut out = String::new();
    if let Some(forgotten) = shape.forgotten {
        let _ = writeln!(out, "Forgotten, because the code was changed: {}.\n", plural(forgotten, "iRoot"));
    }
    let number = |name| (name, Align::Right);
    let columns = ["idiom", "exposed", "predicted", "of these exposed", "tried in vain"].map(number);
    let mut table = Table::new(columns);
    for row in &shape.idioms {
        let cells = [row.exposed, row.predicted, row.confirmed, row.failed].map(count);
        table.row([row.idiom.to_string()].into_iter().chain(cells).collect());
    }
    out.push_str(&table.render(width));
    if !shape.searches.is_empty() {
        let mut table = Table::new([
            ("search", Align::Left),
            ("strategy", Align::Left),
            ("runs", Align::Right),
            ("failed", Align::Right),
            ("newly exposed", Align::Right),
        ]);
        for search in &shape.searches {
            table.row(vec![
                format!("{} {}", search.program, search.arguments).trim().to_owned(),
                search.strategy.clone(),
                count(search.runs),
                count(search.failures),
                count(search.fresh),
            ]);
        }
        out.push('\n');
        out.push_str(&table.render(width));
    }
    for (title, roots) in [("Only here", &shape.only_here), ("Only in the other", &shape.only_there)] {
        let Some(roots) = roots else { continue };
        let _ = writeln!(out, "\n{title}: {}", plural(roots.len() as u64, "iRoot"));
        roots.iter().for_each(|root| _ = writeln!(out, "  {root}"));
    }
    for root in shape.iroots.iter().flatten() {
        let state = match (root.exposed, root.failed) {
            (true, _) => "exposed".to_owned(),
            (false, 0) => "predicted".to_owned(),
            (false, 1) => format!("tried in vain once{}", met(1, root.met)),
            (false, times) => format!("tried in vain {times} times{}", met(times, root.met)),
        };
        let _ = writeln!(out, "idiom {}, {state}: {}", root.idiom, root.reported);
    }
    out
}
