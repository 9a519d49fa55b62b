//! Data races: the detector against the definition.

mod definition;
mod programs;

use definition::Definition;
use programs::Exchanging;
use raddle_engine::{Config, Races, Resource, Rng};
use raddle_model::{Access, Failure, Kind, MemoryOrder, ThreadId, Verdict};
use raddle_testkit::Act::{On, With};
use raddle_testkit::{Act, Follow, Script, Walk, affordable, is_thorough, once_under};

fn config(races: Races) -> Config {
    let mut config = Config::default();
    config.races = races;
    config
}

const PLAIN: u64 = MemoryOrder::Plain as u64;

/// The runs of [`compare`].
#[derive(Default, Debug)]
struct Seen {
    races: u32,
    clean: u32,
    /// Clean runs in which two conflicting accesses were ordered by something between threads.
    ordered: u32,
    kinds: Vec<Kind>,
}

/// Runs `program` once and compares the verdict with the definition.
fn compare(program: Script, races: Races, seed: u64, seen: &mut Seen) {
    let mut program = Exchanging::new(program, seed);
    let engine = once_under(config(races), &mut program, &mut Walk::default(), seed);
    let summary = engine.summary();
    let definition = Definition::new(&summary, &program);
    for kind in summary.trace.events.iter().map(|event| event.operation.kind) {
        if !seen.kinds.contains(&kind) {
            seen.kinds.push(kind);
        }
    }
    let found = definition.races();
    match summary.verdict {
        Verdict::Failed { failure: Failure::DataRace { object, first, second } } => {
            seen.races += 1;
            let pair = (first.step as usize, second.step as usize);
            assert_eq!(pair.1 + 1, summary.trace.events.len(), "seed {seed}: the run ends with the race");
            assert!(found.contains(&pair), "seed {seed}: {pair:?} is none of {found:?}");
            let earlier = found.iter().find(|race| race.1 < pair.1);
            assert_eq!(earlier, None, "seed {seed}: an earlier race was missed");
            for racing in [first, second] {
                let event = &summary.trace.events[racing.step as usize];
                let access = event.operation.objects().find(|(touched, _)| touched == object);
                assert_eq!((event.thread, event.operation.location), (racing.thread, racing.location));
                assert!(access.is_some_and(|(_, writes)| writes || racing.access == Access::Read));
            }
        }
        verdict => {
            assert!(found.is_empty(), "seed {seed}: {found:?} was missed, {verdict:?}");
            seen.clean += 1;
            seen.ordered += u32::from(definition.has_ordered_conflict());
        }
    }
}

#[test]
fn the_detector_agrees_with_the_definition() {
    let mut seen = Seen::default();
    for seed in 0..affordable(30_000) {
        let mut rng = Rng::for_run(seed, 1);
        compare(programs::random(&mut rng, false), Races::BetweenPlain, seed, &mut seen);
    }
    if !is_thorough() {
        return;
    }
    assert!(seen.races > 5_000 && seen.ordered > 1_500, "{seen:?}");
    for kind in programs::KINDS {
        assert!(seen.kinds.contains(&kind), "{kind:?} was never executed: {seen:?}");
    }
}

#[test]
fn the_detector_agrees_on_mixed_plain_and_atomic_memory() {
    let mut seen = Seen::default();
    for seed in 0..affordable(30_000) {
        let mut rng = Rng::for_run(seed, 2);
        compare(programs::random(&mut rng, true), Races::All, seed, &mut seen);
    }
    if !is_thorough() {
        return;
    }
    assert!(seen.races > 5_000 && seen.ordered > 1_500, "{seen:?}");
}

#[test]
fn an_engine_discards_the_previous_run() {
    // The first run ends with a race; the same engine then runs a program without one, and the first again.
    let racing = || {
        Script::new().object(Resource::Memory).thread(&[With(Kind::Write, 0, PLAIN)]).thread(&[With(
            Kind::Read,
            0,
            PLAIN,
        )])
    };
    let clean = || {
        Script::new().object(Resource::Memory).thread(&[With(Kind::Read, 0, PLAIN)]).thread(&[With(
            Kind::Read,
            0,
            PLAIN,
        )])
    };
    let mut engine = raddle_engine::Engine::new(config(Races::BetweenPlain));
    let mut kinds = Vec::new();
    for mut program in [racing(), clean(), racing()] {
        raddle_engine::run(&mut engine, &mut program, &mut Follow::default());
        kinds.push(engine.summary().verdict.failure().map(Failure::kind));
    }
    assert_eq!(kinds, [Some("data-race"), None, Some("data-race")]);
}

#[test]
fn races_are_found_only_if_requested_and_plain() {
    let verdict = |races: Races, order: u64| {
        let access: [Act; 1] = [With(Kind::Write, 0, order)];
        let mut program = Script::new().object(Resource::Memory).thread(&access).thread(&access);
        let engine = once_under(config(races), &mut program, &mut Follow::default(), 0);
        engine.summary().verdict.failure().map(Failure::kind)
    };
    assert_eq!(Config::default().races, Races::Ignored);
    for untold in [u64::MAX, MemoryOrder::Relaxed as u64] {
        assert_eq!(verdict(Races::All, untold), None);
    }
    assert_eq!(verdict(Races::Ignored, PLAIN), None);
    assert_eq!(verdict(Races::BetweenPlain, PLAIN), Some("data-race"));
    assert_eq!(verdict(Races::All, PLAIN), Some("data-race"));
}

#[test]
fn the_latest_of_several_earlier_accesses_is_reported() {
    let read = [With(Kind::Read, 0, PLAIN)];
    let mut program = Script::new()
        .object(Resource::Memory)
        .thread(&read)
        .thread(&read)
        .thread(&[On(Kind::Yield, 0), With(Kind::Write, 0, PLAIN)]);
    let mut order = Follow::new(&[1, 0, 2, 2]);
    let engine = once_under(config(Races::BetweenPlain), &mut program, &mut order, 0);
    let Some(Failure::DataRace { first, second, .. }) = engine.summary().verdict.failure().cloned() else {
        panic!("{:?}", engine.summary().verdict);
    };
    assert_eq!((first.thread, first.step), (ThreadId(0), 1));
    assert_eq!((second.thread, second.step), (ThreadId(2), 3));
}
