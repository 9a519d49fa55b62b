//! The litmus programs of the lab as Rust tests: the same outcomes.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicI64, Ordering, fence};
use raddle::{Config, Memory, check_with, thread};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

/// One step of a thread; atomics and registers are numbers.
#[derive(Clone, Copy)]
enum Step {
    Load(usize, usize, Ordering),
    Store(usize, i64, Ordering),
    Add(usize, usize, i64, Ordering),
    Swap(usize, usize, i64, Ordering),
    Exchange(usize, usize, [i64; 2], [Ordering; 2]),
    Fence(Ordering),
}

#[derive(Default)]
struct Program {
    /// The names of the atomics.
    atomics: Vec<String>,
    registers: Vec<String>,
    threads: Vec<Vec<Step>>,
}

fn order(word: &str) -> Ordering {
    match word {
        "relaxed" => Ordering::Relaxed,
        "acquire" => Ordering::Acquire,
        "release" => Ordering::Release,
        "acq_rel" => Ordering::AcqRel,
        "seq_cst" => Ordering::SeqCst,
        other => panic!("`{other}` is not an order"),
    }
}

/// Reads a program of the lab: every statement on a line of its own.
fn parse(text: &str) -> Program {
    let mut program = Program::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(names) = line.strip_prefix("shared ") {
            program.atomics =
                names.split(", ").map(|name| name.trim_end_matches(" = 0").to_owned()).collect();
        } else if let Some(names) = line.strip_prefix("local ") {
            program.registers.extend(names.split(", ").map(str::to_owned));
        } else if line.starts_with("thread ") {
            program.threads.push(Vec::new());
        } else if line != "}" {
            let step = step(&program, line);
            program.threads.last_mut().unwrap().push(step);
        }
    }
    program
}

fn step(program: &Program, line: &str) -> Step {
    let (register, call) = line.split_once(" = ").map_or((None, line), |(name, call)| (Some(name), call));
    let (callee, arguments) = call.trim_end_matches(')').split_once('(').unwrap();
    let arguments: Vec<&str> = arguments.split(", ").collect();
    if callee == "fence" {
        return Step::Fence(order(arguments[0]));
    }
    let (atomic, method) = callee.split_once('.').unwrap();
    let atomic = program.atomics.iter().position(|name| name == atomic).unwrap();
    let register =
        register.map_or(0, |name| program.registers.iter().position(|known| known == name).unwrap());
    let value = |index: usize| arguments[index].parse().unwrap();
    match method {
        "load" => Step::Load(register, atomic, order(arguments[0])),
        "store" => Step::Store(atomic, value(0), order(arguments[1])),
        "fetch_add" => Step::Add(register, atomic, value(0), order(arguments[1])),
        "swap" => Step::Swap(register, atomic, value(0), order(arguments[1])),
        "compare_exchange" => {
            let orders = [order(arguments[2]), order(arguments[3])];
            Step::Exchange(register, atomic, [value(0), value(1)], orders)
        }
        other => panic!("`{other}` is not a method"),
    }
}

/// Runs the steps of a thread. Returns the registers that it sets.
fn run(steps: &[Step], atomics: &[AtomicI64]) -> Vec<(usize, i64)> {
    let mut registers = Vec::new();
    for step in steps {
        match *step {
            Step::Load(register, atomic, order) => registers.push((register, atomics[atomic].load(order))),
            Step::Store(atomic, value, order) => atomics[atomic].store(value, order),
            Step::Add(register, atomic, value, order) => {
                registers.push((register, atomics[atomic].fetch_add(value, order)));
            }
            Step::Swap(register, atomic, value, order) => {
                registers.push((register, atomics[atomic].swap(value, order)));
            }
            Step::Exchange(register, atomic, [expected, new], [success, failure]) => {
                let read = atomics[atomic].compare_exchange(expected, new, success, failure);
                registers.push((register, read.unwrap_or_else(|found| found)));
            }
            Step::Fence(order) => fence(order),
        }
    }
    registers
}

/// Returns the outcomes of all runs as the lab writes them.
fn outcomes(program: Program) -> BTreeSet<String> {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let results = std::sync::Arc::clone(&seen);
    let config = Config::new().with_strategy("dpor").with_runs(2_000_000).with_std_freedoms(false);
    let passed = check_with(&config.with_memory(Memory::Weak), move || {
        let atomics: Arc<Vec<AtomicI64>> =
            Arc::new(program.atomics.iter().map(|_| AtomicI64::new(0)).collect());
        let spawn = |steps: &Vec<Step>| {
            let (steps, atomics) = (steps.clone(), Arc::clone(&atomics));
            thread::spawn(move || run(&steps, &atomics))
        };
        let handles: Vec<_> = program.threads.iter().map(spawn).collect();
        let mut registers = vec![0; program.registers.len()];
        for (register, value) in handles.into_iter().flat_map(|handle| handle.join().unwrap()) {
            registers[register] = value;
        }
        // A thread that has joined all writers reads the newest values.
        let last = atomics.iter().map(|atomic| atomic.load(Ordering::Relaxed));
        let values = registers.into_iter().chain(last);
        let names = program.registers.iter().chain(&program.atomics);
        let text: Vec<String> = names.zip(values).map(|(name, value)| format!("{name}={value}")).collect();
        results.lock().unwrap().insert(text.join(" "));
    });
    assert!(passed.unwrap_or_else(|failed| panic!("{failed}")).exhausted);
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn litmus_programs_have_the_outcomes_of_the_lab() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle-lab/litmus");
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("outcomes.txt")).unwrap().lines() {
        let (name, outcome) = line.split_once(": ").unwrap();
        wanted.entry(name.to_owned()).or_default().insert(outcome.to_owned());
    }
    assert!(wanted.len() >= 48, "{}", wanted.len());
    for (name, wanted) in wanted {
        let text = std::fs::read_to_string(folder.join(format!("{name}.rdl"))).unwrap();
        assert_eq!(outcomes(parse(&text)), wanted, "{name}");
    }
}
