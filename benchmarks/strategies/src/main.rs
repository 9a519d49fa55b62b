//! Prints hit ratios of several strategies on growing programs and on the figures of the papers, side by
//! side.
//!
//! `cargo run --release -p benchmark-strategies [RUNS]`; the default is 20,000 runs per cell. The ratio of
//! OOS to SURW is printed for the growing programs. Correct programs are skipped. The same seed gives the
//! same numbers.

use raddle_engine::Config;
use raddle_lab::{Job, Machine, sample_all, syntax};
use raddle_search::{Budget, Lanes, Portfolio};
use std::path::PathBuf;

const STRATEGIES: [&str; 6] = ["random-walk", "pos", "pct:depth=3", "surw", "oos", "upo"];
const SIZES: [i64; 6] = [3, 5, 10, 20, 50, 100];

struct Row {
    name: String,
    machine: Machine,
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let runs: u64 =
        std::env::args().nth(1).map_or(20_000, |text| text.parse().expect("the number of runs is a number"));
    let mut rows = Vec::new();
    for name in ["reorder", "twostage"] {
        for size in SIZES {
            rows.push(Row { name: format!("{name}_{size}"), machine: machine(name, &[("n", size)]) });
        }
    }
    let growing = rows.len();
    for name in figures() {
        rows.push(Row { machine: machine(&name, &[]), name });
    }
    let jobs = rows.iter().flat_map(|row| {
        STRATEGIES.iter().map(move |spec| Job {
            program: Box::new(row.machine.clone()),
            lanes: Lanes::parse(spec, Portfolio::Tests).unwrap_or_else(|error| panic!("{error}")),
            config: Config::default(),
            seed: 1,
            budget: Budget::all(runs),
        })
    });
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let jobs: Vec<Job> = jobs.collect();
    let sampled = sample_all(&jobs, cores, &|_| ()).expect("threads can be started");
    let heads: String = STRATEGIES.iter().map(|spec| format!("{spec:>14}")).collect();
    println!("{:<18}{heads}{:>12}", "hit ratio", "oos / surw");
    for (index, row) in rows.iter().enumerate() {
        let cells = &sampled[index * STRATEGIES.len()..][..STRATEGIES.len()];
        let ratios: Vec<f64> =
            cells.iter().map(|cell| cell.tally.failures as f64 / cell.tally.runs.max(1) as f64).collect();
        if ratios.iter().all(|&ratio| ratio == 0.0) {
            continue; // A correct program.
        }
        let text: String = ratios.iter().map(|ratio| format!("{ratio:>14.5}")).collect();
        let relation =
            if index < growing { format!("{:>12.2}", ratios[4] / ratios[3]) } else { String::new() };
        println!("{:<18}{text}{relation}", row.name);
    }
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../crates/raddle-lab/figures")
}

/// Returns the names of the figures that are not among the growing programs.
fn figures() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).expect("the figures are in the repository");
    let names = entries.filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned));
    let mut names: Vec<String> = names.filter(|name| name != "reorder" && name != "twostage").collect();
    names.sort();
    names
}

fn machine(name: &str, parameters: &[(&str, i64)]) -> Machine {
    let text =
        std::fs::read_to_string(directory().join(name).with_extension("rdl")).expect("figures are readable");
    Machine::new(syntax::compile(&text, parameters).unwrap_or_else(|error| panic!("{name}: {error}")))
}
