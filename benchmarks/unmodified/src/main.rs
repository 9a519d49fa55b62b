//! The bugs of `examples/planted/src/plain.rs`: unmodified under `cargo raddle test`, and rewritten for
//! Shuttle. Prints Markdown.
//!
//! `cargo build --release -p raddle-cli`, then `cargo run --release` in this folder. Executions depend on
//! seeds 1 to 20, times depend on the machine. Under Raddle a test is a process of its own, forked for every
//! run, and Raddle's time includes that, the start of the test program and the profiling before the first
//! run; Shuttle's executions are calls in one process.

use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// False: the tests contain their bugs.
const FIXED: bool = false;

include!(concat!(env!("OUT_DIR"), "/rewritten.rs"));

const SEEDS: u64 = 20;
/// The largest number of executions of a search.
const LIMIT: u64 = 10_000;

/// Executions and seconds of the searches for one bug, and the number of searches that found it.
#[derive(Clone, Copy, Default)]
struct Cell {
    executions: u64,
    seconds: f64,
    found: u64,
}

impl Cell {
    fn add(&mut self, executions: Option<u64>, seconds: f64) {
        self.executions += executions.unwrap_or(LIMIT);
        self.seconds += seconds;
        self.found += u64::from(executions.is_some());
    }

    fn cell(&self) -> String {
        let missed = if self.found < SEEDS { format!(" ({} of {SEEDS} found)", self.found) } else { String::new() };
        let (executions, seconds) = (self.executions as f64 / SEEDS as f64, self.seconds / SEEDS as f64);
        format!("{executions:.1}{missed} | {:.1}", seconds * 1e3)
    }
}

/// Returns the report of `cargo raddle test` for all tests with one seed.
fn ours(seed: u64) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo_raddle = root.join("target/release/cargo-raddle");
    assert!(cargo_raddle.exists(), "run cargo build --release -p raddle-cli first");
    let mut command = Command::new(cargo_raddle);
    command.args(["raddle", "test", "--json", "--no-minimize", "--jobs", "1", "--runs", &LIMIT.to_string()]);
    command.args(["--seed", &seed.to_string(), "plain::"]).current_dir(root.join("examples/planted"));
    let output = command.output().expect("cargo raddle starts");
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the number of the execution in which Shuttle finds the bug of a test.
fn theirs(pct: bool, seed: u64, test: fn()) -> Option<u64> {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let body = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        test();
    };
    let mut config = shuttle::Config::new();
    config.silence_warnings = true;
    config.failure_persistence = shuttle::FailurePersistence::None;
    let limit = LIMIT as usize;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if pct {
            shuttle::Runner::new(PctScheduler::new_from_seed(seed, 3, limit), config).run(body)
        } else {
            shuttle::Runner::new(RandomScheduler::new_from_seed(seed, limit), config).run(body)
        }
    }));
    outcome.is_err().then(|| count.load(Ordering::Relaxed))
}

fn main() {
    // The first one builds the tests.
    ours(0);
    let mut raddle: BTreeMap<String, Cell> = BTreeMap::new();
    for seed in 1..=SEEDS {
        for test in ours(seed) {
            let Some(name) = test["test"].as_str().and_then(|name| name.strip_prefix("plain::")) else { continue };
            let executions = test["first_failure"].as_u64().map(|run| run + 1);
            let seconds = test["seconds"].as_f64().unwrap_or(0.0);
            raddle.entry(name.to_owned()).or_default().add(executions, seconds);
        }
    }
    std::panic::set_hook(Box::new(|_| {}));
    println!("Lines of the {} tests that were changed: 0 for Raddle, {CHANGED} for Shuttle.\n", TESTS.len());
    println!(
        "| test | raddle: executions | ms | shuttle, random walk: executions | ms | shuttle, pct 3: executions | ms |\n\
         |---|---|---|---|---|---|---|"
    );
    for &(name, test) in TESTS {
        let mut cells = [Cell::default(); 2];
        for (pct, cell) in [false, true].into_iter().zip(&mut cells) {
            for seed in 1..=SEEDS {
                let begun = Instant::now();
                let executions = theirs(pct, seed, test);
                cell.add(executions, begun.elapsed().as_secs_f64());
            }
        }
        let ours = raddle.get(name).copied().unwrap_or_default();
        println!("| {name} | {} | {} | {} |", ours.cell(), cells[0].cell(), cells[1].cell());
    }
}
