//! The bugs of the paper's Table 2 that the corpus has too.

use crate::{Bench, PROGRAMS, RUNS};

/// A bug there: its name, our program, runs of Maple (to profile and to test), of PCT and of PCTLarge. A `+`
/// follows numbers of runs that took 24 hours without finding the bug.
type Row = (&'static str, &'static str, [&'static str; 3]);

/// Yu and Narayanasamy, OOPSLA 2012, Table 2.
const TABLE: &[Row] = &[
    ("LogProcSweep", "log_processing", ["11 + 1", "98511+", "10169"]),
    ("StringBuffer", "stringbuffer", ["8 + 1", "40", "61"]),
    ("CircularList", "circular_buffer", ["6 + 1", "6", "18"]),
    ("BankAccount", "account", ["6 + 1", "12", "44"]),
    ("MySQL-LogMiss", "log_miss", ["8 + 100", "18", "15"]),
    ("Pbzip2", "pbzip2", ["8 + 2", "26933+", "3336"]),
];

/// Returns the table of runs to the bug, including those that only predict, next to the paper's.
pub(crate) fn beside(bench: &Bench) -> String {
    let mut out = "Runs to the bug beside those of the paper's Table 2, whose programs are larger:\n\n\
                   | bug there | program here | maple | paper | pct:depth=3 | paper | pct-large | paper |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, program, paper) in TABLE {
        let found = PROGRAMS.iter().find(|known| known.0 == *program).expect("it is one of the programs");
        let runs = |strategy: &str| {
            let first = bench.search(found, RUNS, strategy)["first_failure"].as_u64();
            first.map_or(format!("{RUNS}+"), |run| (run + 1).to_string())
        };
        let [maple, pct, large] = ["maple", "pct:depth=3", "pct-large"].map(runs);
        out.push_str(&format!(
            "| {name} | {program} | {maple} | {} | {pct} | {} | {large} | {} |\n",
            paper[0], paper[1], paper[2]
        ));
    }
    out
}
