//! Runs one workload, so that `run` can count its instructions on two commits.
//!
//! `benchmark-compare steps STRATEGY THREADS RUNS`: the engine alone, with threads of 16 reads and writes, as in
//! `benchmarks/steps`. `benchmark-compare test PROGRAM STRATEGY RUNS`: a Rust test of `benchmarks/rust-peers`.

#[macro_use]
#[path = "../../rust-peers/src/programs.rs"]
mod programs;

use raddle_engine::{Config, Engine, Rng, explore};
use raddle_lab::Straight;
use std::hint::black_box;
use std::ops::ControlFlow;

programs!(tests, raddle);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["steps", strategy, threads, runs] => steps(strategy, number(threads) as usize, number(runs)),
        ["test", program, strategy, runs] => test(program, strategy, number(runs)),
        _ => panic!("say steps STRATEGY THREADS RUNS, or test PROGRAM STRATEGY RUNS"),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn steps(strategy: &str, threads: usize, runs: u64) {
    const EVENTS: usize = 16;
    let mut rng = Rng::for_run(9, 0);
    let mut access = || format!("{}{}", if rng.below(2) == 0 { "R" } else { "W" }, rng.below(threads as u64));
    let texts: Vec<Vec<String>> = (0..threads).map(|_| (0..EVENTS).map(|_| access()).collect()).collect();
    let mut program = Straight::new(&texts, false).expect("the texts are accesses");
    let mut strategy = raddle_strategies::build(strategy).expect("the strategy exists");
    let mut engine = Engine::new(Config::default());
    explore(&mut engine, &mut program, &mut *strategy, (1, 0, runs), |_, run| {
        black_box(run.fingerprint);
        ControlFlow::Continue(())
    });
}

fn test(program: &str, strategy: &str, runs: u64) {
    let program = match program {
        "two_threads_one_lock" => tests::two_threads_one_lock,
        "adds_2" => tests::adds_2,
        "adds_64" => tests::adds_64,
        "locks_8" => tests::locks_8,
        _ => panic!("no test {program}"),
    };
    let mut config = raddle::Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    config.jobs = 1;
    config.failures = None;
    raddle::check_with(&config, program).map(drop).unwrap_or_else(|failed| panic!("{failed}"));
}
