//! Runs the same programs under Raddle, Shuttle and Loom in one go and prints the ratios.
//!
//! `cargo run --release 2>/dev/null` in this folder (Shuttle prints every failure). Absolute times depend on the machine, the
//! ratios hardly do. `shapes` as an argument compares only the shapes of real tests, and `one PEER SHAPE RUNS` executes one
//! of them, for a profiler.

#[macro_use]
mod programs;
#[macro_use]
mod shapes;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

programs!(raddle_programs, raddle);
programs!(shuttle_programs, shuttle);
programs!(loom_programs, loom);
shapes!(raddle_shapes, raddle);
shapes!(shuttle_shapes, shuttle);

/// Returns the seconds of processor time that `action` takes, in all threads of this process.
fn processor_seconds(action: impl FnOnce()) -> f64 {
    let now = || cpu_time::ProcessTime::now().as_duration().as_secs_f64();
    let start = now();
    action();
    now() - start
}

/// Returns the seconds that `action` takes.
fn seconds(action: impl FnOnce()) -> f64 {
    let start = Instant::now();
    action();
    start.elapsed().as_secs_f64()
}

/// Returns the best of `TIMES`.
fn best(mut action: impl FnMut()) -> f64 {
    (0..TIMES).map(|_| seconds(&mut action)).fold(f64::INFINITY, f64::min)
}

/// Returns the best of `TIMES` of both, which take turns, so that a machine that slows down slows down both.
fn both(mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    (0..TIMES)
        .map(|_| (seconds(&mut ours), seconds(&mut theirs)))
        .fold((f64::INFINITY, f64::INFINITY), |best, now| (best.0.min(now.0), best.1.min(now.1)))
}

/// Number of repetitions of each measurement.
const TIMES: usize = 7;

/// Returns a configuration with one job and no files, as in Shuttle.
fn config(strategy: &str, runs: u64) -> raddle::Config {
    let mut config = raddle::Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    config.jobs = 1;
    config.failures = None;
    config
}

fn raddle(strategy: &str, runs: u64, test: fn()) {
    let config = config(strategy, runs);
    if let Err(failed) = raddle::check_with(&config, test) {
        panic!("{failed}");
    }
}

fn shuttle_random(runs: usize, test: fn()) {
    shuttle::check_random(test, runs);
}

fn shuttle_pct(runs: usize, depth: usize, test: fn()) {
    shuttle::check_pct(test, runs, depth);
}

/// Returns the 1-based number of the first failing run, if one of `runs` fails.
fn raddle_first(strategy: &str, seed: u64, runs: u64, test: fn()) -> Option<u64> {
    let mut config = config(strategy, runs);
    config.seed = seed;
    raddle::check_with(&config, test).err().map(|failed| failed.run + 1)
}

/// The randomized schedulers of Shuttle.
#[derive(Clone, Copy)]
enum Shuttle {
    Random,
    Pct(usize),
    Urw,
}

fn shuttle_first(scheduler: Shuttle, seed: u64, runs: usize, test: fn()) -> Option<u64> {
    use shuttle::scheduler::{PctScheduler, RandomScheduler, UrwRandomScheduler};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let body = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        test();
    };
    let mut config = shuttle::Config::new();
    config.silence_warnings = true;
    config.failure_persistence = shuttle::FailurePersistence::None;
    let outcome = catch_unwind(AssertUnwindSafe(|| match scheduler {
        Shuttle::Random => shuttle::Runner::new(RandomScheduler::new_from_seed(seed, runs), config).run(body),
        Shuttle::Pct(depth) => {
            shuttle::Runner::new(PctScheduler::new_from_seed(seed, depth, runs), config).run(body)
        }
        Shuttle::Urw => shuttle::Runner::new(UrwRandomScheduler::new_from_seed(seed, runs), config).run(body),
    }));
    outcome.is_err().then(|| count.load(Ordering::Relaxed))
}

/// Returns a Loom builder with room for long runs. Loom supports at most five threads, including the first.
fn loom(runs: Option<usize>) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 1_000_000;
    builder.max_permutations = runs;
    builder
}

/// Returns the seconds per execution of `test`, which Loom explores completely again and again.
fn loom_execution(test: fn()) -> f64 {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let count = Arc::new(AtomicU64::new(0));
    let mut executions = 0;
    let seconds = best(|| {
        count.store(0, Ordering::Relaxed);
        for _ in 0..500 {
            let counted = Arc::clone(&count);
            loom(None).check(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                test();
            });
        }
        executions = count.load(Ordering::Relaxed);
    });
    seconds / executions as f64
}

/// Returns the number of the execution in which Loom finds a failure.
fn loom_first(test: fn()) -> Option<u64> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let body = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        test();
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| loom(Some(20_000)).check(body)));
    outcome.is_err().then(|| count.load(Ordering::Relaxed))
}

/// Number of runs of the longer programs in one measurement.
const REPEATS: u64 = 20;

/// The shapes of real tests, and the number of runs of each in one measurement.
type Shape = (&'static str, fn(), fn(), u64);
const SHAPES: [Shape; 6] = [
    ("tiny", raddle_programs::two_threads_one_lock, shuttle_programs::two_threads_one_lock, 20_000),
    ("storm", raddle_shapes::storm, shuttle_shapes::storm, 200),
    ("tasks", raddle_shapes::tasks, shuttle_shapes::tasks, 2_000),
    ("queue", raddle_shapes::queue, shuttle_shapes::queue, 500),
    ("channel", raddle_shapes::channel, shuttle_shapes::channel, 300),
    ("cache", raddle_shapes::cache, shuttle_shapes::cache, 500),
];

/// Prints the processor time of the shapes under a random walk, the best of `TIMES` for each peer, which take turns.
fn shapes() {
    println!(
        "{:<54}{:>10}{:>10}{:>20}",
        "processor time of a run, best of seven, in us", "raddle", "shuttle", "shuttle/"
    );
    for (name, ours, theirs, runs) in SHAPES {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..TIMES {
            best[0] = best[0].min(processor_seconds(|| raddle("random-walk", runs, ours)));
            best[1] = best[1].min(processor_seconds(|| shuttle_random(runs as usize, theirs)));
        }
        let [ours, theirs] = best.map(|seconds| seconds / runs as f64 * 1e6);
        println!("{name:<54}{ours:>10.2}{theirs:>10.2}{:>20.1}", theirs / ours);
    }
}

/// Executes runs of one shape under one peer.
fn one(peer: &str, name: &str, runs: u64) {
    let (_, ours, theirs, _) = SHAPES.into_iter().find(|shape| shape.0 == name).expect("no shape of this name");
    match peer {
        "raddle" => raddle("random-walk", runs, ours),
        "shuttle" => shuttle_random(runs as usize, theirs),
        _ => panic!("the peer is raddle or shuttle"),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => everything(),
        ["shapes"] => shapes(),
        ["one", peer, name, runs] => one(peer, name, runs.parse().expect("a number")),
        _ => panic!("say nothing, shapes, or one PEER SHAPE RUNS"),
    }
}

fn everything() {
    println!(
        "{:<54}{:>10}{:>10}{:>10}{:>9}{:>9}",
        "time, best of seven", "raddle", "shuttle", "loom", "shuttle/", "loom/"
    );
    let row = |name: &str, unit: f64, ours: f64, theirs: f64, loom: Option<f64>| {
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        println!(
            "{name:<54}{:>10.1}{:>10.1}{:>10}{:>9.1}{:>9}",
            ours * unit,
            theirs * unit,
            cell(loom.map(|loom| loom * unit)),
            theirs / ours,
            cell(loom.map(|loom| loom / ours)),
        );
    };
    let runs = 50_000;
    let (ours, theirs) = both(
        || raddle("random-walk", runs, raddle_programs::two_threads_one_lock),
        || shuttle_random(runs as usize, shuttle_programs::two_threads_one_lock),
    );
    let (ours, theirs) = (ours / runs as f64, theirs / runs as f64);
    let loom_time = loom_execution(loom_programs::two_threads_one_lock);
    row("ns an execution: 2 threads x 1 lock, random walk", 1e9, ours, theirs, Some(loom_time));
    for (threads, ours_test, theirs_test, repeats) in [
        (2, raddle_programs::adds_2 as fn(), shuttle_programs::adds_2 as fn(), REPEATS),
        (64, raddle_programs::adds_64 as fn(), shuttle_programs::adds_64 as fn(), 2),
    ] {
        let steps = (threads * 10_000) as f64 * repeats as f64;
        // Loom runs as far as it can without a switch.
        let loom_time = (threads == 2).then(|| {
            // Once: it takes minutes.
            let seconds = seconds(|| loom(Some(1)).check(loom_programs::adds_2));
            seconds / (threads * 10_000) as f64
        });
        let (ours, theirs) = both(
            || raddle("random-walk", repeats, ours_test),
            || shuttle_random(repeats as usize, theirs_test),
        );
        let name = format!("ns a step: {threads} threads x 10,000 adds, random walk");
        row(&name, 1e9, ours / steps, theirs / steps, None);
        let (ours, theirs) = both(
            || raddle("pct:depth=1,steps=1000", repeats, ours_test),
            || shuttle_pct(repeats as usize, 1, theirs_test),
        );
        let name = format!("ns a step: {threads} threads x 10,000 adds, no switch (PCT)");
        row(&name, 1e9, ours / steps, theirs / steps, loom_time);
    }
    let steps = (8 * 1_000 * 2) as f64 * REPEATS as f64;
    let (ours, theirs) = both(
        || raddle("random-walk", REPEATS, raddle_programs::locks_8),
        || shuttle_random(REPEATS as usize, shuttle_programs::locks_8),
    );
    let name = "ns a step: 8 threads x 1,000 lock/unlock, random walk";
    row(name, 1e9, ours / steps, theirs / steps, None);

    println!();
    shapes();
    println!(
        "\nexecutions to the first failure, mean over 20 seeds (at most 20,000 a seed; > means some found nothing)"
    );
    println!(
        "{:<16}{:>15}{:>15}{:>15}{:>15}{:>15}{:>15}{:>15}{:>16}",
        "",
        "raddle default",
        "raddle pos",
        "raddle oos",
        "raddle pct-3",
        "shuttle rand",
        "shuttle pct-3",
        "shuttle urw",
        "loom (one seed)"
    );
    std::panic::set_hook(Box::new(|_| ()));
    let limit = 20_000;
    type Row = (&'static str, fn(), fn(), Option<fn()>);
    let rows: [Row; 4] = [
        (
            "lost update",
            raddle_programs::lost_update,
            shuttle_programs::lost_update,
            Some(loom_programs::lost_update),
        ),
        ("reorder_10", raddle_programs::reorder_10, shuttle_programs::reorder_10, None),
        ("twostage_20", raddle_programs::twostage_20, shuttle_programs::twostage_20, None),
        ("depth 3", raddle_programs::depth_3, shuttle_programs::depth_3, Some(loom_programs::depth_3)),
    ];
    for (name, ours, theirs, loom_test) in rows {
        let mean = |first: &dyn Fn(u64) -> Option<u64>| {
            let all: Vec<Option<u64>> = (0..20).map(first).collect();
            let missed = all.iter().filter(|run| run.is_none()).count();
            let sum: u64 = all.iter().map(|run| run.unwrap_or(limit)).sum();
            format!("{}{:.1}", if missed > 0 { ">" } else { "" }, sum as f64 / 20.0)
        };
        let cells = [
            mean(&|seed| raddle_first("portfolio", seed, limit, ours)),
            mean(&|seed| raddle_first("pos", seed, limit, ours)),
            mean(&|seed| raddle_first("oos", seed, limit, ours)),
            mean(&|seed| raddle_first("pct:depth=3", seed, limit, ours)),
            mean(&|seed| shuttle_first(Shuttle::Random, seed, limit as usize, theirs)),
            mean(&|seed| shuttle_first(Shuttle::Pct(3), seed, limit as usize, theirs)),
            mean(&|seed| shuttle_first(Shuttle::Urw, seed, limit as usize, theirs)),
            loom_test.map_or("-".to_owned(), |test| {
                loom_first(test).map_or(">20000".to_owned(), |first| first.to_string())
            }),
        ];
        let cells: String = cells.iter().map(|cell| format!("{cell:>14} ")).collect();
        println!("{name:<16}{cells}");
    }
}
