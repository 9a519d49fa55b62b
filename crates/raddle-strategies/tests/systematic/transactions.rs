//! Transactions: steps of one thread that no other thread interrupts, in programs whose later steps depend on earlier ones.

use crate::common::{distinct_fingerprints, exhaust, verdicts};
use raddle_engine::{Engine, LONGEST_TRANSACTION, Program, Reply, Resource, Rng, Strategy, explore};
use raddle_model::{Access, Failure, Kind, LocationId, Name, Operation, ThreadId, Verdict};
use raddle_strategies::{dfs::Dfs, dpor::Dpor};
use raddle_testkit::affordable;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// One instruction of a thread with one register.
#[derive(Clone, Copy, Debug)]
enum Code {
    /// Loads a variable.
    Load(u32),
    /// Stores a number that depends on the register.
    Store(u32),
    /// Skips so many instructions if the register is odd.
    SkipIfOdd(usize),
    /// Goes back so many instructions if the register is even.
    BackIfEven(usize),
    /// Fails if the register is odd.
    FailIfOdd,
}

/// A program of threads that read and write variables. `joined` instructions continue a transaction.
#[derive(Clone, Default, Debug)]
struct Branching {
    threads: Vec<Vec<(Code, bool)>>,
    memory: [u32; 3],
    registers: Vec<u32>,
    at: Vec<usize>,
}

impl Branching {
    fn of(threads: &[&[(Code, bool)]]) -> Branching {
        Branching { threads: threads.iter().map(|code| code.to_vec()).collect(), ..Branching::default() }
    }
}

impl Program for Branching {
    fn start(&mut self, engine: &mut Engine) {
        (self.memory, self.registers) = ([0; 3], vec![0; self.threads.len()]);
        self.at = vec![usize::MAX; self.threads.len()];
        (0..3).for_each(|object| _ = engine.add_object(Name(object), Resource::Memory));
        self.threads.iter().for_each(|_| _ = engine.add_thread());
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, _: Reply) {
        let index = thread.index();
        match self.threads[index].get(self.at[index]) {
            Some(&(Code::Load(from), _)) => self.registers[index] = self.memory[from as usize],
            Some(&(Code::Store(to), _)) => {
                self.memory[to as usize] = self.registers[index] + thread.0 + 1;
            }
            _ => {}
        }
        let mut next = self.at[index].wrapping_add(1);
        let is_odd = self.registers[index] % 2 == 1;
        loop {
            let place = LocationId(10 * thread.0 + next as u32);
            let Some(&(code, joined)) = self.threads[index].get(next) else {
                return engine.finish(thread);
            };
            let (kind, object, access) = match code {
                Code::Load(from) => (Kind::Read, from, Access::Read),
                Code::Store(to) => (Kind::Write, to, Access::Write),
                Code::SkipIfOdd(count) => {
                    next += 1 + if is_odd { count } else { 0 };
                    continue;
                }
                Code::BackIfEven(count) => {
                    next = if is_odd { next + 1 } else { next - count };
                    continue;
                }
                Code::FailIfOdd if is_odd => {
                    let message = "odd".to_owned();
                    return engine.fail(Failure::Assertion { thread, location: place, message });
                }
                Code::FailIfOdd => {
                    next += 1;
                    continue;
                }
            };
            self.at[index] = next;
            if joined {
                engine.join_next(thread);
            }
            return engine
                .announce(thread, Operation::new(kind, place).on(raddle_model::ObjectId(object), access));
        }
    }
}

/// Generates two threads of four instructions or three of three, about two thirds of which continue a transaction.
fn program(seed: u64) -> Branching {
    let mut rng = Rng::for_run(seed, 9);
    let (count, length) = if rng.below(2) == 0 { (2, 5) } else { (3, 3) };
    let mut threads = Vec::new();
    for _ in 0..count {
        let mut code = Vec::new();
        for _ in 0..length {
            let variable = rng.below(3) as u32;
            let instruction = match rng.below(14) {
                0..=4 => Code::Load(variable),
                5..=9 => Code::Store(variable),
                10 => Code::FailIfOdd,
                _ => Code::SkipIfOdd(1 + rng.below(2) as usize),
            };
            code.push((instruction, rng.below(3) > 0));
        }
        threads.push(code);
    }
    Branching { threads, ..Branching::default() }
}

#[test]
fn random_programs_agree_with_depth_first_search() {
    let (mut all, mut reduced, mut cut_off) = (0, 0, 0);
    for seed in 0..affordable(3_000) {
        let mut program = program(seed);
        let (full, full_totals) = exhaust(&mut program, &mut Dfs::new());
        let (seen, totals) = exhaust(&mut program, &mut Dpor::new());
        let wanted: BTreeSet<u64> = full.iter().map(|run| run.fingerprint).collect();
        assert_eq!(distinct_fingerprints(&seen), wanted, "program {seed}: {program:?}");
        assert_eq!(verdicts(&seen), verdicts(&full), "program {seed}: {program:?}");
        (all, reduced) = (all + full_totals.complete, reduced + totals.complete);
        cut_off += totals.cut_off;
    }
    assert!(reduced * 2 < all, "{reduced} partial orders among {all} schedules");
    assert!(cut_off * 5 < reduced, "{cut_off} runs cut off for {reduced} partial orders are too many");
}

/// Runs a program under depth-first search and under partial-order reduction; returns the numbers of runs.
fn counts(program: &Branching) -> (u64, u64) {
    let complete = |strategy: &mut dyn Strategy| exhaust(&mut program.clone(), strategy).1.complete;
    (complete(&mut Dfs::new()), complete(&mut Dpor::new()))
}

#[test]
fn transactions_interleave_like_single_steps() {
    let (x, y) = (Code::Store(0), Code::Store(1));
    // Two steps of each of two threads: six interleavings. As transactions: two.
    assert_eq!(counts(&Branching::of(&[&[(x, false), (x, false)], &[(x, false), (x, false)]])), (6, 6));
    assert_eq!(counts(&Branching::of(&[&[(x, false), (x, true)], &[(x, false), (x, true)]])), (2, 2));
    // Transactions that have nothing in common are independent as wholes only.
    assert_eq!(counts(&Branching::of(&[&[(y, false), (y, true)], &[(x, false), (x, true)]])), (2, 1));
    assert_eq!(counts(&Branching::of(&[&[(y, false), (x, true)], &[(x, false), (x, true)]])), (2, 2));
    // Two transactions of each thread: six.
    let two = [(x, false), (y, true), (x, false), (y, true)];
    assert_eq!(counts(&Branching::of(&[&two, &two])), (6, 6));
}

#[test]
fn a_transaction_that_waits_for_another_thread_fails() {
    let waits = [(Code::Load(0), false), (Code::Load(0), true), (Code::BackIfEven(1), true)];
    let mut program = Branching::of(&[&waits, &[(Code::Store(0), false), (Code::Store(0), false)]]);
    let mut failures = BTreeSet::new();
    let look = |_, run: &raddle_engine::RunSummary<'_>| {
        failures.insert(match run.verdict {
            Verdict::Failed { failure: Failure::StepLimit { limit, spinning } } => {
                Some((*limit, spinning.clone()))
            }
            _ => None,
        });
        ControlFlow::Continue(())
    };
    explore(&mut Engine::new(Default::default()), &mut program, &mut Dpor::new(), (0, 0, 100), look);
    assert!(failures.contains(&Some((LONGEST_TRANSACTION, vec![ThreadId(0)]))), "{failures:?}");
}

#[test]
fn the_estimate_of_an_exhausted_search_is_its_count() {
    let steps = [(Code::Store(0), false), (Code::Store(1), false), (Code::Store(0), false)];
    let mut program = Branching::of(&[&steps, &steps, &steps]);
    let mut dpor = Dpor::new();
    let mut estimates = Vec::new();
    let mut engine = Engine::new(Default::default());
    let mut totals = Default::default();
    for runs in [40, u64::MAX] {
        totals =
            explore(&mut engine, &mut program, &mut dpor, (0, 0, runs), |_, _| ControlFlow::Continue(()));
        estimates.push(dpor.space().expect("there were runs"));
    }
    let all = counts(&program).1 as f64;
    assert!(totals.exhausted);
    assert_eq!(estimates[1], all);
    assert!(estimates[0] > all / 20.0 && estimates[0] < all * 20.0, "{estimates:?} of {all}");
}
