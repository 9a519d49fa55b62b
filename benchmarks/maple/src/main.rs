//! Measures the strategy `maple` on programs of the corpus and prints Markdown.
//!
//! `cargo build --release -p raddle-cli && cargo run --release -p benchmark-maple [PICTURE.svg]` from the
//! root of the repository; it uses the `raddle` next to its own executable. All counts depend on seeds only;
//! only the times of the store's part depend on the machine.

mod picture;
mod published;
mod why;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A program and its compilation.
type Program = (&'static str, &'static str, &'static str);

/// Name, source and definitions.
const PROGRAMS: &[Program] = &[
    ("account", "account", ""),
    ("bluetooth_driver", "bluetooth_driver", ""),
    ("circular_buffer", "circular_buffer", ""),
    ("stringbuffer", "stringbuffer", ""),
    ("pbzip2", "pbzip2", ""),
    ("aget", "aget", ""),
    ("deadlock01", "deadlock01", ""),
    ("carter01", "carter01", ""),
    ("double_checked", "double_checked", ""),
    ("lazy01", "lazy01", ""),
    ("lost_wakeup", "lost_wakeup", ""),
    ("queue", "queue", ""),
    ("stack", "stack", ""),
    ("token_ring", "token_ring", ""),
    ("aba_stack", "aba_stack", ""),
    ("qsort_mt", "qsort_mt", ""),
    ("reorder_3", "reorder", "-DN=3"),
    ("twostage", "twostage", "-DN=1"),
    ("wronglock_3", "wronglock", "-DN=3"),
    ("log_processing", "../maple/log_processing", ""),
    ("log_miss", "../maple/log_miss", ""),
];

/// The programs whose coverage is recorded run by run.
const FOLLOWED: &[&str] =
    &["account", "bluetooth_driver", "circular_buffer", "aget", "queue", "token_ring", "qsort_mt"];

const STRATEGIES: &[&str] =
    &["maple", "pct:depth=3", "pct-large", "random-delay", "random-walk", "pos", "chess"];

/// The paper's averages of exposed per predicted iRoots, in percent, for idioms 1 to 5.
const PUBLISHED: [u32; 5] = [28, 17, 9, 10, 9];

/// The largest number of runs of a search.
const RUNS: &str = "3000";

struct Bench {
    raddle: PathBuf,
    corpus: PathBuf,
    /// The folder for failures and stores.
    scratch: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let raddle = std::env::current_exe().expect("a program has a path").with_file_name("raddle");
        assert!(raddle.exists(), "{} is missing; run cargo build --release -p raddle-cli", raddle.display());
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scratch = std::env::temp_dir().join(format!("raddle-maple-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("the folder can be created");
        Bench { raddle, corpus: root.join("../corpus"), scratch }
    }

    /// Returns the JSON report of `raddle run` for a program.
    fn run(&self, source: &Path, define: &str, words: &[&str], arguments: &[&str]) -> Value {
        let mut command = Command::new(&self.raddle);
        command.current_dir(&self.scratch).args([
            "run",
            "--json",
            "--races",
            "off",
            "--no-minimize",
            "--coverage",
        ]);
        command.args(words);
        if !define.is_empty() {
            command.arg(format!("--cflags={define}"));
        }
        let output = command.arg(source).args(arguments).output().expect("raddle starts");
        let messages = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {messages}"))
    }

    fn search(&self, (_, source, define): &Program, runs: &str, strategy: &str) -> Value {
        let source = self.corpus.join(format!("{source}.c"));
        self.run(&source, define, &["--fresh", "--keep-going", "--runs", runs, "-s", strategy], &[])
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Leftover files do no harm.
        _ = std::fs::remove_dir_all(&self.scratch);
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let bench = Bench::new();
    println!("{}", exposed(&bench));
    println!("{}", published::beside(&bench));
    let curves = followed(&bench);
    println!("{}", curves_told(&curves));
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, picture::draw(STRATEGIES, &curves)).expect("the picture can be written");
    }
    println!("{}", memory(&bench));
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Returns the table of exposed and predicted iRoots by idiom, and the number of runs to the bug.
fn exposed(bench: &Bench) -> String {
    let mut out = "| program | bug in run | runs to the end | exposed of predicted, idioms 1 to 6 |\n|---|---|---|---|\n".to_owned();
    let (mut predicted, mut confirmed) = ([0; 6], [0; 6]);
    let mut reasons = why::Reasons::default();
    for program in PROGRAMS {
        let report = bench.search(program, RUNS, "maple");
        let first = report["first_failure"].as_u64().map_or("-".to_owned(), |run| (run + 1).to_string());
        let idioms = report["coverage"]["idioms"].as_array().cloned().unwrap_or_default();
        let mut cells = Vec::new();
        for (index, counts) in idioms.iter().enumerate() {
            predicted[index] += number(&counts["predicted"]);
            confirmed[index] += number(&counts["confirmed"]);
            cells.push(format!("{}/{}", counts["confirmed"], counts["predicted"]));
        }
        let end = if report["exhausted"] == true { "" } else { "more than " };
        out.push_str(&format!(
            "| {} | {first} | {end}{} | {} |\n",
            program.0,
            report["runs"],
            cells.join(", ")
        ));
        reasons.add(bench, program, &report);
    }
    out.push_str("\n| idiom | predicted | exposed | share | paper |\n|---|---|---|---|---|\n");
    for index in 0..6 {
        let paper = PUBLISHED.get(index).map_or("-".to_owned(), |share| format!("{share} %"));
        let share = 100.0 * confirmed[index] as f64 / predicted[index].max(1) as f64;
        out.push_str(&format!(
            "| {} | {} | {} | {share:.0} % | {paper} |\n",
            index + 1,
            predicted[index],
            confirmed[index]
        ));
    }
    out.push_str(&reasons.table());
    out
}

/// Per strategy, the number of iRoots exposed in all recorded programs after each number of runs.
type Curves = Vec<Vec<u64>>;

/// Number of runs of the curves.
const LENGTH: usize = 400;

fn followed(bench: &Bench) -> Curves {
    let mut curves = vec![vec![0; LENGTH]; STRATEGIES.len()];
    for (strategy, curve) in STRATEGIES.iter().zip(&mut curves) {
        for program in PROGRAMS.iter().filter(|program| FOLLOWED.contains(&program.0)) {
            let length = LENGTH.to_string();
            let report = bench.search(program, &length, strategy);
            let steps: Vec<(u64, u64)> = report["coverage"]["saturation"]
                .as_array()
                .map(|steps| steps.iter().map(|step| (number(&step[0]), number(&step[1]))).collect())
                .unwrap_or_default();
            for (run, sum) in curve.iter_mut().enumerate() {
                let reached = steps.iter().take_while(|(at, _)| *at <= run as u64 + 1).last();
                *sum += reached.map_or(0, |&(_, count)| count);
            }
        }
    }
    curves
}

fn curves_told(curves: &Curves) -> String {
    let at = [1, 5, 10, 20, 50, 100, 200, LENGTH];
    let mut out = format!(
        "iRoots exposed in {} programs together, by number of runs of each:\n\n| strategy |",
        FOLLOWED.len()
    );
    at.iter().for_each(|runs| out.push_str(&format!(" {runs} |")));
    out.push_str(&format!("\n|---|{}\n", "---|".repeat(at.len())));
    for (strategy, curve) in STRATEGIES.iter().zip(curves) {
        out.push_str(&format!("| {strategy} |"));
        at.iter().for_each(|&runs| out.push_str(&format!(" {} |", curve[runs - 1])));
        out.push('\n');
    }
    let last = |curve: &Vec<u64>| curve.last().copied().unwrap_or(0);
    if let Some((second, final_count)) = STRATEGIES
        .iter()
        .zip(curves)
        .skip(1)
        .map(|(name, curve)| (name, last(curve)))
        .max_by_key(|(_, count)| *count)
    {
        let runs = curves[0].iter().position(|&count| count >= final_count);
        let runs = runs.map_or("never".to_owned(), |runs| format!("in {} runs", runs + 1));
        out.push_str(&format!(
            "\n{second}, the best of the others, exposes {final_count} in {LENGTH} runs; maple reaches that {runs}.\n"
        ));
    }
    out
}

/// Returns the table of eight inputs of one program, with and without a store.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn memory(bench: &Bench) -> String {
    /// The same commands in random orders.
    const INPUTS: [[&str; 2]; 8] = [
        ["rscts", "ctrss"],
        ["tsrcs", "stscr"],
        ["tscsr", "tcssr"],
        ["stsrc", "srcts"],
        ["stscr", "rscst"],
        ["cstsr", "srtsc"],
        ["tcssr", "stsrc"],
        ["ctssr", "ssrtc"],
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("shop.c");
    let search = |input: &[&str; 2], words: &[&str]| {
        let words = [&["-s", "maple", "--keep-going", "--runs", RUNS], words].concat();
        let begun = Instant::now();
        let report = bench.run(&source, "", &words, input);
        (number(&report["runs"]), begun.elapsed().as_secs_f64(), number(&report["failures"]) > 0)
    };
    // Compiled once before anything is measured.
    search(&INPUTS[0], &["--fresh"]);
    let mut out = "Eight inputs of `benchmarks/maple/shop.c`, with the store and without:\n\n| input | runs | runs without | seconds | \
                   seconds without | bug found |\n|---|---|---|---|---|---|\n"
        .to_owned();
    let mut found = [false; 2];
    for input in &INPUTS {
        let (runs, seconds, failed) = search(input, &[]);
        let (without, seconds_without, failed_without) = search(input, &["--fresh"]);
        found = [found[0] || failed, found[1] || failed_without];
        out.push_str(&format!(
            "| {} | {runs} | {without} | {seconds:.2} | {seconds_without:.2} | {failed}, {failed_without} |\n",
            input.join(" ")
        ));
    }
    out.push_str(&format!("\nThe bug is found with the store: {}, without: {}.\n", found[0], found[1]));
    out
}
