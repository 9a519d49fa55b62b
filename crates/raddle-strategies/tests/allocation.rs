//! No step of a run allocates, once the tables have grown to the size of the program.

use raddle_engine::{Engine, Resource, Rng, run};
use raddle_model::Kind;
use raddle_strategies::build;
use raddle_testkit::{Act, Script};

#[test]
#[cfg_attr(miri, ignore = "nothing is allocated only after hundreds of long runs")]
fn a_run_does_not_allocate() {
    let section = [
        Act::On(Kind::Lock, 0),
        Act::W(1),
        Act::R(2),
        Act::On(Kind::Unlock, 0),
        Act::W(2),
        Act::Bare(Kind::Yield, 0),
    ];
    let mut program = Script::new().mutex().object(Resource::Memory).object(Resource::Memory);
    for _ in 0..12 {
        program = program.thread(&section);
    }
    let mut engine = Engine::new(Default::default());
    for spec in [
        "random-walk",
        "pct:depth=3,steps=72",
        "rpro:steps=72",
        "basic-pos",
        "pos",
        "rapos",
        "stride",
        "urw",
        "surw",
        "oos",
    ] {
        let mut strategy = build(spec).unwrap();
        let mut one_run = |number: u64, learn: bool| {
            let counted = allocation_counter::measure(|| {
                strategy.begin(Rng::for_run(1, number));
                run(&mut engine, &mut program, &mut *strategy);
            });
            if learn {
                strategy.learn(&engine.summary());
            }
            counted.count_total
        };
        // The tables grow in the first runs, to the largest size that any of these needs.
        for number in 0..400 {
            one_run(number, number < 100);
        }
        let counted: u64 = (0..400).map(|number| one_run(number, false)).sum();
        assert_eq!(counted, 0, "{spec}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of threads take long")]
fn conflicts_of_many_threads_take_little_memory() {
    // Clocks of all threads at all events would be 2 * 4,000 * 2,000 numbers: 64 MB.
    let mut program = Script::new();
    for thread in 0..2_000 {
        program = program.object(Resource::Memory).thread(&[Act::W(thread), Act::W(thread)]);
    }
    let mut engine = Engine::new(Default::default());
    for spec in ["conflict:pct:depth=5", "conflict-place:pos"] {
        let mut strategy = build(spec).unwrap();
        strategy.begin(Rng::for_run(1, 0));
        run(&mut engine, &mut program, &mut *strategy);
        let most = allocation_counter::measure(|| strategy.learn(&engine.summary())).bytes_max;
        assert!(most < 8 << 20, "{spec}: {most} bytes");
    }
}
