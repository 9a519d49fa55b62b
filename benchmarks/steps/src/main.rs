//! Prints nanoseconds per step for each strategy with 4, 64 and 1,000 threads, and the growth of the cost.
//!
//! `cargo run --release -p benchmark-steps [-- STRATEGY ...]`. Each program has `n` threads of 16 reads and
//! writes on `n` objects, so that about one thread is about to touch each object, whatever `n` is. Absolute
//! times depend on the machine; the growth from 4 to 1,000 threads hardly does. The last lines time the POS
//! micro benchmark's first program with fingerprints counted, on one core and on all.

use raddle_engine::{Config, Engine, Program, Rng, explore};
use raddle_lab::{Job, Straight, sample};
use raddle_search::{Budget, Lanes, Portfolio};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

const SIZES: [usize; 3] = [4, 64, 1_000];
const EVENTS: usize = 16;
const RANDOMIZED: [&str; 8] =
    ["random-walk", "pct:depth=3,steps=1000", "basic-pos", "pos", "rapos", "stride", "urw", "surw"];
const SLOWER: [&str; 3] = ["oos", "conflict:pos", "upo"];

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let specs: Vec<String> = if given.is_empty() {
        RANDOMIZED.iter().chain(&SLOWER).map(|&spec| spec.to_owned()).collect()
    } else {
        given
    };
    println!(
        "{:<24}{:>12}{:>12}{:>14}{:>12}",
        "ns a step", "4 threads", "64 threads", "1000 threads", "1000 / 4"
    );
    for spec in &specs {
        let times: Vec<f64> = SIZES.iter().map(|&threads| step_time(spec, threads)).collect();
        let growth = times[2] / times[0];
        println!("{spec:<24}{:>12.1}{:>12.1}{:>14.1}{growth:>12.2}", times[0], times[1], times[2]);
    }
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    for cores in [1, cores] {
        let runs = 4_000_000;
        let start = now();
        let tally = sample(micro_job(runs), cores).expect("threads can be started").tally;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "pos, 16-event program, {} partial orders counted, {cores} core(s): {:.2} s for {runs} runs, {:.1} s for 5e7",
            tally.census.distinct(),
            seconds,
            seconds * 5e7 / runs as f64
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the best of several measurements: what the machine can do when nothing disturbs it.
fn step_time(spec: &str, threads: usize) -> f64 {
    let mut program = program(threads);
    let mut engine = Engine::new(Config::default());
    let mut strategy = raddle_strategies::build(spec).unwrap_or_else(|error| panic!("{error}"));
    let steps = (threads * EVENTS) as u64;
    let runs = (400_000 / steps).max(8);
    let mut first = 0;
    let mut measure = || {
        let start = now();
        explore(&mut engine, &mut program, &mut *strategy, (1, first, runs), |_, run| {
            black_box(run.fingerprint);
            ControlFlow::Continue(())
        });
        first += runs;
        start.elapsed().as_nanos() as f64 / (runs * steps) as f64
    };
    measure();
    (0..5).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

fn program(threads: usize) -> impl Program {
    let mut rng = Rng::for_run(9, 0);
    let mut access = || format!("{}{}", if rng.below(2) == 0 { "R" } else { "W" }, rng.below(threads as u64));
    let texts: Vec<Vec<String>> = (0..threads).map(|_| (0..EVENTS).map(|_| access()).collect()).collect();
    Straight::new(&texts, false).expect("the texts are accesses")
}

fn micro_job(runs: u64) -> Job {
    let texts = ["Wz Wy Wy Wz", "Wx Ww Wy Wx", "Ww Wx Ww Wy", "Wz Wx Ww Wz"];
    let threads: Vec<Vec<String>> =
        texts.iter().map(|text| text.split(' ').map(str::to_owned).collect()).collect();
    Job {
        program: Box::new(Straight::new(&threads, false).expect("the texts are accesses")),
        lanes: Lanes::parse("pos", Portfolio::Tests).expect("POS exists"),
        config: Config::default(),
        seed: 1,
        budget: Budget::all(runs),
    }
}
