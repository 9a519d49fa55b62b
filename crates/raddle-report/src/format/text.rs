//! The report for a terminal: the run, its outcome, and the explanation.

use crate::failure_report::{FailureReport, PairRole};
use crate::run_text::{Terminal, plain, table};
use crate::table::wrap;
use std::fmt::Write;

/// Returns the failing run, its outcome, and the explanation.
pub fn text(report: &FailureReport, terminal: Terminal) -> String {
    let mut out = String::new();
    paragraph(&mut out, &format!("{}: {}", report.program, report.found), terminal.width);
    out.push('\n');
    out.push_str(&table(&report.failing, &report.callers, &report.pairs, terminal));
    if !report.pairs.is_empty() {
        let legend = |role: PairRole| match role {
            PairRole::Swap => "* if these two steps change places, the run passes",
            PairRole::Enough => "+ the order of these steps is enough for the failure",
            PairRole::Race => "! nothing orders these two steps",
        };
        out.push('\n');
        for role in PairRole::ALL {
            if report.pairs.iter().any(|pair| pair.role == role) {
                paragraph(&mut out, legend(role), terminal.width);
            }
        }
    }
    for lines in [&report.failing.message, &report.why, &report.notes] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines.iter().flat_map(|line| line.split('\n')) {
            paragraph(&mut out, line, terminal.width);
        }
    }
    out
}

/// Adds a wrapped line; continuation lines are indented by two more.
fn paragraph(out: &mut String, line: &str, width: usize) {
    let line = plain(line);
    let text = line.trim_start();
    let mut indent = line.len() - text.len();
    for part in wrap(text, width.saturating_sub(indent + 2).max(24)) {
        let _ = writeln!(out, "{}{part}", " ".repeat(indent));
        indent = line.len() - text.len() + 2;
    }
}
