//! The reasons why predicted iRoots were not exposed.

use crate::{Bench, Program, RUNS, number};
use serde_json::Value;
use std::collections::BTreeSet;

/// The largest number of runs of the search for all partial orders.
const ALL: &str = "20000";

/// The column headers, in the order of [`Reasons`].
const COLUMNS: [&str; 5] = ["impossible", "pre-condition", "arbitration", "never exposed", "not tried"];

/// Per idiom, the number of iRoots for each reason.
#[derive(Default)]
pub(crate) struct Reasons([[u64; COLUMNS.len()]; 6]);

/// Returns an iRoot as a text.
fn key(root: &Value) -> String {
    format!("{} {}", root["idiom"], root["accesses"])
}

fn roots(report: &Value) -> Vec<Value> {
    report["coverage"]["roots"].as_array().cloned().unwrap_or_default()
}

impl Reasons {
    /// Counts the unexposed iRoots of a program after maple's search, described by `report`. Other strategies
    /// with many runs, and a search of all partial orders, show what was possible.
    pub(crate) fn add(&mut self, bench: &Bench, program: &Program, report: &Value) {
        let others = bench.search(program, RUNS, "portfolio");
        let all = bench.search(program, ALL, "dpor");
        let had = |report: &Value| {
            roots(report).iter().filter(|root| root["exposed"] == true).map(key).collect::<Vec<_>>()
        };
        let possible: BTreeSet<String> = [had(&others), had(&all)].concat().into_iter().collect();
        let open = roots(report);
        for root in open.iter().filter(|root| root["predicted"] == true && root["exposed"] != true) {
            let (tried, met) = (number(&root["failed"]) > 0, number(&root["met"]) > 0);
            let reason = match possible.contains(&key(root)) {
                false if all["exhausted"] == true => 0,
                _ if !tried => 4,
                true if !met => 1,
                true => 2,
                false => 3,
            };
            self.0[number(&root["idiom"]).clamp(1, 6) as usize - 1][reason] += 1;
        }
    }

    pub(crate) fn table(&self) -> String {
        let mut out = format!("\nPredicted and not exposed:\n\n| idiom | {} |\n|---|", COLUMNS.join(" | "));
        out.push_str(&"---|".repeat(COLUMNS.len()));
        out.push('\n');
        for (index, counts) in self.0.iter().enumerate() {
            let cells: Vec<String> = counts.iter().map(u64::to_string).collect();
            out.push_str(&format!("| {} | {} |\n", index + 1, cells.join(" | ")));
        }
        out.push_str(&format!(
            "\nImpossible: `dpor` has seen every partial order of the program, and none has it. Pre-condition: another run has it, and \
             in no run that aimed at it did two threads reach its locations. Arbitration: they did, in another order. Never exposed: \
             neither by {RUNS} runs of the portfolio nor by {ALL} of `dpor`, which had not seen all.\n"
        ));
        out
    }
}
