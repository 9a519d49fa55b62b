//! Randomized strategies that claim to reach every partial order, against the set that DPOR enumerates.

use raddle_engine::{Census, Choice, Engine, Plan, Point, Resource, Rng, Strategy, explore};
use raddle_model::{Kind, Reads, ThreadId, Verdict, dependent};
use raddle_strategies::build;
use raddle_strategies::dpor::Dpor;
use raddle_strategies::upo::{Repeats, Upo};
use raddle_testkit::{
    Act, Script, affordable, affordable_searches, is_thorough, locked, mixed_of, spawning, straight,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Programs with more partial orders than this are skipped: a biased strategy needs too many runs for the
/// rare ones.
const MOST: usize = 40;

/// Returns the fingerprints of the complete runs among the first `runs`; stops once `enough` are known.
fn orders(program: &mut Script, strategy: &mut dyn Strategy, runs: u64, enough: usize) -> BTreeSet<u64> {
    orders_of(program, strategy, 1, runs, enough)
}

fn orders_of(
    program: &mut Script,
    strategy: &mut dyn Strategy,
    seed: u64,
    runs: u64,
    enough: usize,
) -> BTreeSet<u64> {
    let mut engine = Engine::new(Default::default());
    let mut found = BTreeSet::new();
    explore(&mut engine, program, strategy, (seed, 0, runs), |_, run| {
        if !matches!(run.verdict, Verdict::CutOff) {
            found.insert(run.fingerprint);
        }
        if found.len() >= enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// Returns programs with the start of a thread, its end, locks and condition variables, each with accesses
/// that race around them.
fn by_hand() -> Vec<Script> {
    use Act::{Join, On, R, Spawn, W, Wait};
    let memory = || Script::new().object(Resource::Memory).object(Resource::Memory);
    let condition = || memory().mutex().object(Resource::condition());
    let (lock, unlock) = (On(Kind::Lock, 2), On(Kind::Unlock, 2));
    vec![
        // A lost update whose second thread is spawned.
        memory().thread(&[Spawn(1), R(0), W(0)]).spawned(&[R(0), W(0)]),
        memory().thread(&[Spawn(1), Spawn(2)]).spawned(&[R(0), W(0)]).spawned(&[R(0), W(0)]),
        // The operation after a join races with a third thread.
        memory().thread(&[Spawn(2), Join(2), W(0)]).thread(&[W(1), W(0)]).spawned(&[W(1)]),
        memory().thread(&[Spawn(2), W(1), Join(2), W(0)]).thread(&[W(0), W(1), W(0)]).spawned(&[W(0)]),
        condition()
            .thread(&[lock, Wait(3, 2), W(0), unlock])
            .thread(&[lock, On(Kind::Signal, 3), unlock, W(0)])
            .thread(&[W(0)]),
        condition()
            .thread(&[lock, Wait(3, 2), unlock, W(0)])
            .thread(&[lock, Wait(3, 2), unlock, W(0)])
            .thread(&[On(Kind::Signal, 3), On(Kind::Signal, 3)]),
        memory()
            .object(Resource::barrier(2))
            .thread(&[W(0), Act::With(Kind::Barrier, 2, 0), W(1)])
            .thread(&[Act::With(Kind::Barrier, 2, 0), W(0)])
            .thread(&[W(1), W(0)]),
    ]
}

/// Returns the smallest program with a number drawn beside a failing operation, and larger ones.
fn drawn() -> Vec<Script> {
    let (memory, fails) = (|| Script::new().object(Resource::Memory).mutex(), Act::On(Kind::Unlock, 1));
    let draws = Act::Bare(Kind::Choose, 2);
    vec![
        memory().thread(&[fails]).thread(&[draws]),
        memory().thread(&[Act::W(0), fails]).thread(&[draws, Act::W(0)]),
        memory().thread(&[fails]).thread(&[draws, Act::R(0), draws]).thread(&[Act::W(0)]),
        memory().thread(&[Act::R(0), fails]).thread(&[Act::W(0)]).thread(&[draws, Act::W(0)]),
    ]
}

/// Returns small generated programs without time, whose passing is not a step of a thread.
fn generated() -> Vec<Script> {
    let mut all = by_hand();
    for number in 0..affordable(120) {
        let mut rng = Rng::for_run(41, number);
        all.push(match number % 4 {
            0 => straight(&mut rng, 3, 3),
            1 => locked(&mut rng, 3),
            2 => spawning(&mut rng),
            _ => mixed_of(&mut rng, 2),
        });
    }
    let timeless = |acts: &Vec<Act>| !acts.iter().any(|act| matches!(act, Act::Bare(Kind::Sleep, _)));
    all.retain(|program| program.acts().iter().all(timeless));
    all
}

#[test]
fn rapos_reaches_every_partial_order() {
    let mut compared = 0;
    for (number, mut program) in generated().into_iter().enumerate() {
        let expected = orders(&mut program, &mut Dpor::new(), u64::MAX, MOST + 1);
        if expected.len() > MOST {
            continue;
        }
        let mut rapos = build("rapos").expect("the strategy exists");
        let found = orders(&mut program, &mut *rapos, affordable(60_000), expected.len() + 1);
        let (some, all) = (found.len(), expected.len());
        assert!(!is_thorough() || found == expected, "{some} of {all} in program {number}: {program:?}");
        compared += 1;
    }
    assert!(!is_thorough() || compared > 60, "only {compared} programs were small enough");
}

/// Generates a program over two memory objects and a mutex in which some runs end early: one thread exits the
/// program, releases a lock that it may not hold, or destroys the mutex while another one may hold it. In half of the
/// programs another thread draws a number.
fn cut_short(rng: &mut Rng) -> Script {
    let turn = [Act::On(Kind::Lock, 2), Act::On(Kind::Unlock, 2)];
    let ending = match rng.below(3) {
        0 => Act::Bare(Kind::Exit, 0),
        1 => Act::On(Kind::Unlock, 2),
        _ => Act::On(Kind::Destroy, 2),
    };
    let mut threads = straight(rng, 3, 3).acts().to_vec();
    let at = rng.below(threads[0].len() as u64 + 1) as usize;
    threads[0].insert(at, ending);
    if rng.below(2) == 0 {
        threads[0].splice(at..at, turn.into_iter().take(1 + rng.below(2) as usize));
    }
    threads[1].extend(turn);
    if rng.below(2) == 0 {
        let at = rng.below(threads[2].len() as u64 + 1) as usize;
        threads[2].insert(at, Act::Bare(Kind::Choose, 2));
    }
    let memory = Script::new().object(Resource::Memory).object(Resource::Memory).mutex();
    threads.iter().fold(memory, |script, acts| script.thread(acts))
}

/// Returns programs, each with its number of partial orders, some of which end in a failure or an exit.
fn failing() -> Vec<(Script, usize)> {
    let mut all = Vec::new();
    for number in 0..affordable(60) {
        let mut program = cut_short(&mut Rng::for_run(43, number));
        let expected = orders(&mut program, &mut Dpor::new(), u64::MAX, 300).len();
        if expected < 300 {
            all.push((program, expected));
        }
    }
    assert!(!is_thorough() || all.len() > 30, "only {} programs were small enough", all.len());
    all
}

#[test]
fn upo_counts_what_dpor_enumerates() {
    let mut programs = failing();
    for mut program in generated() {
        let expected = orders(&mut program, &mut Dpor::new(), u64::MAX, 300).len();
        if expected < 300 {
            programs.push((program, expected));
        }
    }
    for (number, (mut program, expected)) in programs.into_iter().enumerate() {
        let mut upo = Upo::new(1_000_000, Repeats::Avoided);
        let found = orders(&mut program, &mut upo, affordable(500 + 20 * expected as u64), usize::MAX).len();
        let (space, text) = (upo.space(), format!("program {number}: {program:?}"));
        assert!(!is_thorough() || found == expected, "seen {found} of {expected} in {text}");
        assert!(!is_thorough() || space == Some(expected as f64), "{space:?}, not {expected} in {text}");
    }
}

#[test]
fn upo_counts_numbers_drawn_beside_a_failure_with_any_seed() {
    for (number, mut program) in drawn().into_iter().enumerate() {
        let expected = orders(&mut program, &mut Dpor::new(), u64::MAX, 300).len();
        for seed in 0..affordable_searches(40) {
            let mut upo = Upo::new(1_000_000, Repeats::Avoided);
            let runs = 100 + 20 * expected as u64;
            let found = orders_of(&mut program, &mut upo, seed, runs, usize::MAX).len();
            assert_eq!(found, expected, "program {number}, seed {seed}");
            assert_eq!(upo.space(), Some(expected as f64), "program {number}, seed {seed}");
        }
    }
}

#[test]
fn upo_is_uniform_where_runs_fail() {
    for (number, (mut program, expected)) in failing().into_iter().enumerate().filter(|(_, (_, n))| *n < 60) {
        let mut upo = Upo::new(1_000_000, Repeats::Avoided);
        orders(&mut program, &mut upo, affordable(2_000), usize::MAX);
        let mut census = Census::default();
        let runs = affordable(200 * expected as u64);
        explore(&mut Engine::new(Default::default()), &mut program, &mut upo, (1, 2_000, runs), |_, run| {
            census.count(run.fingerprint);
            ControlFlow::Continue(())
        });
        // 200 on average, with a sigma of 14.
        let (least, most) = (census.least().unwrap_or(0), census.most().unwrap_or(0));
        let is_uniform = expected == 1 || least > 200 - 5 * 14 && most < 200 + 5 * 14;
        assert!(!is_thorough() || is_uniform, "{least} to {most} in program {number}: {program:?}");
    }
}

/// A random walk that checks that a disabled event conflicts with the one executed last.
#[derive(Clone)]
struct Watch {
    rng: Rng,
    /// The threads enabled at the latest choice, each with its steps so far.
    enabled: Vec<(ThreadId, u32)>,
    disabled: u64,
}

impl Strategy for Watch {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.enabled.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        for &(thread, progress) in &self.enabled {
            let (next, last) = (point.operation(thread), point.last().expect("a step was taken"));
            if point.progress(thread) == progress && !point.is_enabled(thread) {
                let conflict = dependent(next, &last.operation, Reads::Independent);
                assert!(conflict, "{next:?} was disabled by {last:?}");
                self.disabled += 1;
            }
        }
        self.enabled.clear();
        self.enabled.extend(point.enabled().iter().map(|&thread| (thread, point.progress(thread))));
        Choice::Run(self.enabled[self.rng.below(self.enabled.len() as u64) as usize].0)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[test]
fn a_disabling_event_conflicts_with_the_disabled_one() {
    let mut watch = Watch { rng: Rng::for_run(0, 0), enabled: Vec::new(), disabled: 0 };
    for mut program in generated() {
        orders(&mut program, &mut watch, affordable(200), usize::MAX);
    }
    assert!(!is_thorough() || watch.disabled > 1_000, "{} events were disabled", watch.disabled);
}
