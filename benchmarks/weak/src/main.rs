//! Programs that are wrong under weak memory only, under Raddle and Loom; and what weak memory costs. Started by `../run`.
//!
//! * `names`: the programs, one a line; litmus tests have `litmus` behind the name.
//! * `find NAME STRATEGY`: Raddle's runs to the bug for each of 20 seeds.
//! * `clean NAME RUNS`: checks the right version under Raddle.
//! * `speed NAME SECONDS`: executions of the right version a second under Raddle.
//! * `loom NAME right|wrong SECONDS`: `VERDICT EXECUTIONS` under Loom.
//! * `loom-speed NAME SECONDS`: executions of the right version a second under Loom, again and again.
//! * `cost WORKLOAD sc|weak RUNS`: runs a workload, for counting instructions.
//! * `memory sc|weak OPERATIONS`: the peak memory of one run in KiB.

#[macro_use]
mod programs;

use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::{Config, Memory};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

programs!(raddle_programs, raddle);
programs!(loom_programs, loom);

/// Returns a configuration with one job, no files and weak memory.
fn config() -> Config {
    let mut config = Config::new();
    config.memory = Memory::Weak;
    config.jobs = 1;
    config.failures = None;
    config.minimize = false;
    config.explain = false;
    config
}

fn check(config: &Config, name: &str, right: bool) -> Result<raddle::Passed, Box<raddle::Failed>> {
    let program = raddle_programs::program(name);
    raddle::check_with(config, move || program(right))
}

fn find(name: &str, strategy: &str) {
    for seed in 1..=20 {
        let mut config = config();
        if strategy == "default" {
            config.memory = Memory::Auto;
        } else {
            config.strategy = strategy.to_owned();
        }
        (config.seed, config.runs) = (seed, 1_000_000);
        match check(&config, name, false) {
            Ok(_) => println!("none"),
            Err(failed) => println!("{}", failed.number.unwrap_or(0) + 1),
        }
    }
}

fn clean(name: &str, runs: u64) {
    let mut config = config();
    config.runs = runs;
    match check(&config, name, true) {
        Ok(passed) => println!("passed {}", passed.runs),
        Err(failed) => println!("failed {failed}"),
    }
}

fn speed(name: &str, seconds: f64) {
    let start = Instant::now();
    let mut config = config();
    let mut total = 0;
    while start.elapsed().as_secs_f64() < seconds {
        config.runs = 20_000;
        config.seed += 1;
        total += check(&config, name, true).expect("the right version passes").runs;
    }
    println!("{}", total as f64 / start.elapsed().as_secs_f64());
}

fn loom(name: &str, right: bool, seconds: u64) {
    let executions = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = executions.clone();
    let program = loom_programs::program(name);
    let mut builder = loom::model::Builder::new();
    builder.max_duration = Some(Duration::from_secs(seconds));
    builder.max_branches = 100_000;
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            program(right);
        });
    }));
    let elapsed = start.elapsed().as_secs_f64();
    let verdict = match result {
        Ok(()) if elapsed >= seconds as f64 => "unfinished".to_owned(),
        Ok(()) => "passed".to_owned(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("");
            if text.contains("Model exceeded") { "exceeded".to_owned() } else { "failed".to_owned() }
        }
    };
    println!("{verdict} {}", executions.load(std::sync::atomic::Ordering::Relaxed));
}

/// Measures Loom's speed. Programs whose right version Loom fails do not check their outcomes.
fn loom_speed(name: &str, seconds: f64) {
    programs::IS_CHECKED.store(false, std::sync::atomic::Ordering::Relaxed);
    let executions = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let program = loom_programs::program(name);
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let counter = executions.clone();
        let mut builder = loom::model::Builder::new();
        builder.max_duration = Some(Duration::from_secs_f64(seconds));
        builder.check(move || {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            program(true);
        });
    }
    let executions = executions.load(std::sync::atomic::Ordering::Relaxed);
    println!("{}", executions as f64 / start.elapsed().as_secs_f64());
}

/// Two threads that access four atomics `count` times each.
fn accesses(count: usize, [load, store, update]: [Ordering; 3]) {
    let atomics: raddle::sync::Arc<[AtomicUsize; 4]> = Default::default();
    let run = move |me: usize, atomics: &[AtomicUsize; 4]| {
        for step in 0..count {
            let atomic = &atomics[(step + me) % 4];
            match step % 3 {
                0 => _ = atomic.load(load),
                1 => atomic.store(step, store),
                _ => _ = atomic.fetch_add(1, update),
            }
        }
    };
    let other = atomics.clone();
    let child = raddle::thread::spawn(move || run(0, &other));
    run(1, &atomics);
    child.join().unwrap();
}

fn orders(workload: &str) -> [Ordering; 3] {
    match workload {
        "seq_cst" => [Ordering::SeqCst; 3],
        "relaxed" => [Ordering::Relaxed; 3],
        "release_acquire" => [Ordering::Acquire, Ordering::Release, Ordering::AcqRel],
        other => panic!("`{other}` is not a workload"),
    }
}

fn cost(workload: &str, model: &str, runs: u64) {
    let mut config = config();
    config.memory = if model == "sc" { Memory::Sc } else { Memory::Weak };
    config.runs = runs;
    config.strategy = "random-walk".to_owned();
    let orders = orders(workload);
    raddle::check_with(&config, move || accesses(300, orders)).expect("it passes");
}

fn memory(model: &str, operations: usize) {
    let mut config = config();
    config.memory = if model == "sc" { Memory::Sc } else { Memory::Weak };
    // One of them at least reads old values.
    (config.runs, config.strategy) = (4, "random-walk".to_owned());
    config.step_limit = 10_000_000;
    raddle::check_with(&config, move || accesses(operations / 2, orders("relaxed"))).expect("it passes");
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has the peak");
    println!("{}", peak.trim().trim_end_matches(" kB"));
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    std::panic::set_hook(Box::new(|_| ()));
    let number = |text: &str| text.parse().expect("a number");
    match words[..] {
        ["names"] => {
            for (index, name) in programs::NAMES.iter().enumerate() {
                println!("{name}{}", if index < programs::LITMUS { " litmus" } else { "" });
            }
        }
        ["find", name, strategy] => find(name, strategy),
        ["clean", name, runs] => clean(name, number(runs)),
        ["speed", name, seconds] => speed(name, seconds.parse().expect("a number")),
        ["loom", name, version, seconds] => loom(name, version == "right", number(seconds)),
        ["loom-speed", name, seconds] => loom_speed(name, seconds.parse().expect("a number")),
        ["cost", workload, model, runs] => cost(workload, model, number(runs)),
        ["memory", model, operations] => memory(model, operations.parse().expect("a number")),
        _ => panic!("unknown arguments"),
    }
}
