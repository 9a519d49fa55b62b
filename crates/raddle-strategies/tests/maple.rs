//! The iRoots that Maple exposes, compared with the possible ones.

use raddle_engine::{Engine, Plan, Resource, Rng, Strategy, explore};
use raddle_idioms::{WINDOW, observe};
use raddle_model::{IRoot, Idiom, Kind, Ledger, Standing};
use raddle_strategies::build;
use raddle_strategies::coverage::coverage;
use raddle_testkit::{
    Act, Script, affordable, affordable_searches, every_schedule, is_thorough, locked, spawning, straight,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Returns all iRoots that any run of `program` exposes.
fn possible(program: &Script) -> BTreeSet<IRoot> {
    let mut all = BTreeSet::new();
    every_schedule(Default::default(), &mut program.clone(), |_, engine| {
        all.extend(observe(&engine.summary(), WINDOW));
    });
    all
}

/// Returns the ledger after `runs` runs, and the number of exposed iRoots after each.
fn explored(program: &Script, spec: &str, runs: u64) -> (Ledger, Vec<u64>) {
    let mut strategy = coverage(build(spec).unwrap(), WINDOW);
    let mut engine = Engine::new(Default::default());
    let mut curve = Vec::new();
    let mut program = program.clone();
    for run in 0..runs {
        explore(&mut engine, &mut program, &mut strategy, (1, run, 1), |_, _| ControlFlow::Continue(()));
        curve.push(strategy.ledger().unwrap().exposed());
    }
    (strategy.ledger().unwrap().clone(), curve)
}

/// Returns small programs of one family.
fn programs(family: usize) -> impl Iterator<Item = Script> {
    (0..affordable_searches(20)).map(move |number| {
        let mut rng = Rng::for_run(77, number);
        let program = match family {
            0 => straight(&mut rng, 3, 4),
            1 => locked(&mut rng, 3),
            _ => spawning(&mut rng),
        };
        program.apart(10)
    })
}

#[test]
fn whatever_is_possible_is_exposed() {
    for program in (0..3).flat_map(programs) {
        let (ledger, _) = explored(&program, "maple:profile=20", affordable(300));
        if !is_thorough() {
            continue;
        }
        let exposed = ledger.iter().filter(|(_, standing)| standing.exposed).map(|(&root, _)| root);
        assert_eq!(exposed.collect::<BTreeSet<IRoot>>(), possible(&program), "{:?}", program.acts());
    }
}

#[test]
#[cfg_attr(miri, ignore = "compares what thousands of runs expose")]
fn it_takes_fewer_runs_than_at_random() {
    for family in 0..3 {
        let after = |spec: &str, runs: u64| -> u64 {
            programs(family).map(|program| explored(&program, spec, runs).0.exposed()).sum()
        };
        let maple = after("maple", 20);
        for spec in ["pos", "random-walk", "pct", "pct-large"] {
            assert!(maple > after(spec, 20), "family {family}, {spec}");
            assert!(maple >= after(spec, 35), "family {family}, {spec}");
        }
    }
}

/// Two threads that take two locks in opposite orders after many steps of their own, and an unrelated one.
fn circle() -> Script {
    let own = |object: u32| vec![Act::W(object); 30];
    let lock = |mutex| Act::On(Kind::Lock, mutex);
    let unlock = |mutex| Act::On(Kind::Unlock, mutex);
    let nested = |first, second| vec![lock(first), lock(second), unlock(second), unlock(first)];
    let mut program = Script::new().mutex().mutex();
    for _ in 0..3 {
        program = program.object(Resource::Memory);
    }
    program
        .thread(&[own(2), nested(0, 1)].concat())
        .thread(&[nested(1, 0), own(3)].concat())
        .thread(&own(4))
        .apart(100)
}

#[test]
fn a_deadlock_is_attempted() {
    let mut program = circle();
    let mut strategy = build("maple:profile=1").unwrap();
    let mut engine = Engine::new(Default::default());
    let mut first = None;
    explore(&mut engine, &mut program, &mut *strategy, (1, 0, 40), |run, summary| {
        first = summary.verdict.failure().map(|_| run);
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(first.is_some());
    let circle = strategy.ledger().unwrap().iter().find(|(root, _)| root.idiom == Idiom::Five);
    assert!(circle.is_some_and(|(_, standing)| standing.exposed && standing.predicted));
}

/// Of eight threads the first to begin the initialisation writes what the last thread reads: seven of the
/// eight writes do not occur in a run.
fn preconditioned() -> Script {
    let mut program = Script::new().object(Resource::Memory).object(Resource::once());
    for _ in 0..8 {
        program = program.thread(&[Act::Step, Act::Once(1), Act::W(0), Act::On(Kind::OnceEnd, 1)]);
    }
    program.thread(&[Act::Step, Act::R(0)]).apart(10)
}

#[test]
#[cfg_attr(miri, ignore = "a hundred runs of nine threads")]
fn the_run_of_the_prediction_is_followed() {
    // The second of two runs for a candidate follows the recorded run; a random one has the wanted write in
    // one of eight cases.
    let (ledger, _) = explored(&preconditioned(), "maple:profile=12,attempts=2", 100);
    let predicted = ledger.iter().filter(|(_, standing)| standing.predicted);
    assert!(predicted.count() >= 12, "{ledger:?}");
    assert!(ledger.iter().all(|(_, standing)| standing.exposed && standing.failed < 2), "{ledger:?}");
}

#[test]
fn a_candidate_is_abandoned_after_the_attempts() {
    // Time passes only when nothing else can happen, which no prediction knows: the read never comes first.
    let program = Script::new().object(Resource::Memory);
    let program = program.thread(&[Act::W(0)]).thread(&[Act::Bare(Kind::Sleep, 5), Act::R(0)]).apart(10);
    let (ledger, _) = explored(&program, "maple:attempts=4", 50);
    let standings: Vec<Standing> = ledger.iter().map(|(_, standing)| standing).collect();
    let had = Standing { exposed: true, predicted: true, failed: 0, met: 0 };
    assert_eq!(standings, [had, Standing { exposed: false, failed: 4, met: 4, ..had }]);
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of runs until all is known")]
fn known_iroots_are_not_attempted() {
    for program in programs(0) {
        let (ledger, _) = explored(&program, "maple", 400);
        let mut maple = build("maple").unwrap();
        maple.recall(&ledger);
        let mut program = program.clone();
        let is_over = |maple: &dyn Strategy| maple.fork().begin(Rng::for_run(0, 0)) == Plan::Exhausted;
        let mut pos = build("pos").unwrap();
        let mut seed = 0;
        while !is_over(&*maple) {
            // The remaining runs predict, and every other one of these is POS.
            let run = program.run(&mut *maple, seed);
            assert!(seed % 2 == 1 || run == program.run(&mut *pos, seed));
            seed += 1;
        }
        assert_eq!(seed, 100, "it stops when nothing new is to be expected in 100 runs");
        assert_eq!(maple.ledger(), Some(&ledger));
    }
}

#[test]
fn a_thread_that_has_ended_is_not_a_partner() {
    // The first two threads share their locations. A thread that had ended was taken for a partner of the
    // other, and it took 12 runs.
    let program = Script::straight(2, &["R0 W0 W1", "R0 W0 W1", "R1 W0"]);
    let (ledger, _) = explored(&program, "maple:profile=1", 8);
    if is_thorough() {
        assert_eq!(ledger.exposed(), possible(&program).len() as u64, "{ledger:?}");
    }
}
