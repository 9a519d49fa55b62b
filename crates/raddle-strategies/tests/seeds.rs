//! A seed means the same schedules in every version. Users notice a change of these numbers: it needs a line
//! in the changelog, and a reason.

use raddle_engine::{Engine, Resource, explore};
use raddle_model::{Kind, mix};
use raddle_strategies::build;
use raddle_testkit::{Act, Script, affordable, is_thorough};
use std::ops::ControlFlow;

/// Returns a hash of the schedules and picks of the first runs of seed 1.
fn meaning(spec: &str) -> u64 {
    let main = [Act::Spawn(1), Act::W(1), Act::Spawn(2), Act::R(2), Act::Bare(Kind::Choose, 3)];
    let section = [Act::On(Kind::Lock, 0), Act::W(1), Act::On(Kind::Unlock, 0), Act::W(2), Act::R(1)];
    let mut program = Script::new().mutex().object(Resource::Memory).object(Resource::Memory);
    program = program.thread(&main).spawned(&section).spawned(&section);
    let mut engine = Engine::new(Default::default());
    let mut strategy = build(spec).unwrap();
    let mut hash = 0;
    explore(&mut engine, &mut program, &mut *strategy, (1, 0, affordable(200)), |_, run| {
        for event in &run.trace.events {
            hash = mix(hash ^ u64::from(event.thread.0));
        }
        for pick in &run.trace.picks {
            hash = mix(hash ^ u64::from(pick.value) << 32);
        }
        ControlFlow::Continue(())
    });
    hash
}

#[test]
fn seed_1_keeps_its_meaning() {
    let now: Vec<(&str, u64)> = PINNED.iter().map(|&(spec, _)| (spec, meaning(spec))).collect();
    if is_thorough() {
        assert_eq!(now, PINNED);
    }
}

const PINNED: &[(&str, u64)] = &[
    ("random-walk", 3976565664917211520),
    ("pct:depth=3,steps=15", 18321426325591132072),
    ("rpro:steps=15", 16759015872502939664),
    ("basic-pos", 10614065803043242929),
    ("pos", 1935934949098189861),
    ("rapos", 6873807672713001557),
    ("stride", 7741744932581396013),
    ("urw", 16432788499937248697),
    ("surw", 995107277273197195),
    ("oos", 324987406170055576),
    ("exit-last:oos", 7766460666848825262),
    ("upo", 16419938061983596540),
    ("conflict:pos", 17155337253417748159),
    ("dfs", 15135520703915061913),
    ("dpor", 3083994246912761690),
    ("preemption", 10844778432943670305),
    ("delay", 16442009450263881988),
    ("period", 15020344156425943242),
    ("maple", 9940209860365126631),
    ("pct-large", 1727424243817978095),
    ("chess", 836126120954901535),
    ("random-delay", 7516496563894445719),
];
