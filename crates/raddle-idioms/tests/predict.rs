//! iRoots that must be predicted from one run, and iRoots that must not. Operation `i` of thread `t` is at
//! location `10 t + i`.

mod common;

use common::{set, shown};
use raddle_engine::{Resource, Rng};
use raddle_idioms::{WINDOW, observe, predict};
use raddle_model::{IRoot, Kind};
use raddle_testkit::{
    Act, Priorities, Script, Walk, every_schedule, locked, mixed, once_under, spawning, straight,
};
use std::collections::BTreeSet;

/// Predicts from the run in which each thread ends before the next one begins, if it can.
fn predicted(program: Script) -> BTreeSet<String> {
    let mut program = program.apart(10);
    let engine = once_under(Default::default(), &mut program, &mut Priorities::new(&[]), 0);
    shown(&predict(&engine.summary(), WINDOW))
}

fn lock(mutex: u32) -> Act {
    Act::On(Kind::Lock, mutex)
}

fn unlock(mutex: u32) -> Act {
    Act::On(Kind::Unlock, mutex)
}

/// A mutex 0 and memory 1 and 2.
fn guarded() -> Script {
    Script::new().mutex().object(Resource::Memory).object(Resource::Memory)
}

#[test]
fn both_orders_are_predicted() {
    assert_eq!(predicted(Script::straight(1, &["W0", "R0"])), set(&["1 W0 R10", "1 R10 W0"]));
    assert_eq!(predicted(Script::straight(1, &["R0", "R0"])), set(&[]));
}

#[test]
fn the_order_of_creation_and_end_lasts() {
    let memory = || Script::new().object(Resource::Memory);
    let program = memory().thread(&[Act::W(0), Act::Spawn(1)]).spawned(&[Act::R(0)]);
    assert_eq!(predicted(program), set(&["1 W0 R10"]));
    let program = memory().thread(&[Act::Spawn(1), Act::Join(1), Act::W(0)]).spawned(&[Act::R(0)]);
    assert_eq!(predicted(program), set(&["1 R10 W2"]));
    let program = memory().thread(&[Act::Spawn(1), Act::W(0), Act::Join(1)]).spawned(&[Act::R(0)]);
    assert_eq!(predicted(program), set(&["1 W1 R10", "1 R10 W1"]));
}

#[test]
fn the_order_of_a_post_and_its_wait_lasts() {
    let program = Script::new().object(Resource::Memory).object(Resource::semaphore(0));
    let program = program
        .thread(&[Act::W(0), Act::On(Kind::SemaphorePost, 1)])
        .thread(&[Act::On(Kind::SemaphoreWait, 1), Act::R(0)]);
    assert_eq!(predicted(program), set(&["1 W0 R11"]));
}

#[test]
fn accesses_that_always_come_in_between_prevent_a_prediction() {
    let memory = || Script::new().object(Resource::Memory);
    let program = memory().thread(&[Act::W(0), Act::W(0), Act::Spawn(1)]).spawned(&[Act::R(0), Act::R(0)]);
    assert_eq!(predicted(program), set(&["1 W1 R10", "1 W1 R11"]));
    let program = memory().thread(&[Act::W(0), Act::Spawn(1)]).spawned(&[Act::W(0), Act::W(0)]);
    assert_eq!(predicted(program), set(&["1 W0 W10"]));
}

#[test]
fn only_the_ends_of_a_critical_section_meet_others() {
    let program = guarded().thread(&[lock(0), Act::W(1), Act::W(1), unlock(0)]).thread(&[
        lock(0),
        Act::R(1),
        unlock(0),
    ]);
    assert_eq!(predicted(program), set(&["1 W2 R11", "1 R11 W1", "1 U3 L10", "1 U12 L0"]));
}

#[test]
fn idiom_2_is_predicted_unless_one_section_holds_it() {
    let free = predicted(Script::straight(1, &["R0 W0", "W0"]));
    assert_eq!(free, set(&["1 R0 W10", "1 W1 W10", "1 W10 R0", "1 W10 W1", "2 R0 W10 W1"]));
    let write = [lock(0), Act::W(1), unlock(0)];
    let parted = [lock(0), Act::R(1), unlock(0), lock(0), Act::W(1), unlock(0)];
    assert!(predicted(guarded().thread(&parted).thread(&write)).contains("2 R1 W11 W4"));
    let whole = [lock(0), Act::R(1), Act::W(1), unlock(0)];
    let held = predicted(guarded().thread(&whole).thread(&write));
    assert!(held.iter().all(|root| root.starts_with('1')), "{held:?}");
}

#[test]
fn idiom_3_is_predicted() {
    assert!(predicted(Script::straight(1, &["W0 R0", "R0 W0"])).contains("3 W0 R10 W11 R1"));
    // Thread 0 touches the object in between.
    assert!(!predicted(Script::straight(1, &["W0 W0 R0", "R0 W0"])).contains("3 W0 R10 W11 R2"));
}

#[test]
fn idiom_4_is_predicted_unless_one_section_holds_it() {
    assert!(predicted(Script::straight(2, &["W0 R1", "R0 W1"])).contains("4 W0 R10 W11 R1"));
    let reader = [lock(0), Act::R(1), Act::W(2), unlock(0)];
    let whole = [lock(0), Act::W(1), Act::R(2), unlock(0)];
    assert!(!predicted(guarded().thread(&whole).thread(&reader)).contains("4 W1 R11 W12 R2"));
    let parted = [lock(0), Act::W(1), unlock(0), lock(0), Act::R(2), unlock(0)];
    assert!(predicted(guarded().thread(&parted).thread(&reader)).contains("4 W1 R11 W12 R4"));
}

#[test]
fn a_pair_may_span_two_rounds_of_a_loop() {
    // Thread 0 does the same twice, at the same locations: its first access of one round and the second one
    // of the next.
    let round = [lock(0), Act::W(1), Act::R(2), unlock(0)];
    let reader = [lock(0), Act::R(1), Act::W(2), unlock(0)];
    let program = guarded().thread(&[round, round].concat()).thread(&reader).apart(10).looping(4);
    let engine = once_under(Default::default(), &mut { program }, &mut Priorities::new(&[]), 0);
    assert!(shown(&predict(&engine.summary(), WINDOW)).contains("4 W1 R11 W12 R2"));
}

#[test]
fn idioms_5_and_6_are_predicted() {
    assert!(predicted(Script::straight(2, &["W0 R1", "W1 R0"])).contains("5 W0 R11 W10 R1"));
    assert!(predicted(Script::straight(2, &["W0 W1", "R0 R1"])).contains("6 W0 R10 W1 R11"));
    // Two sections of one lock come one after the other.
    let section = |first, last| [lock(0), first, last, unlock(0)];
    let program = guarded().thread(&section(Act::W(1), Act::R(2))).thread(&section(Act::W(2), Act::R(1)));
    assert!(!predicted(program).iter().any(|root| root.starts_with('5')));
}

#[test]
fn deadlocks_are_predicted_unless_a_third_lock_or_an_order_prevents_them() {
    let nested = |first, second| [lock(first), lock(second), unlock(second), unlock(first)];
    let circle = "5 L0 L11 L10 L1";
    let locks = || Script::new().mutex().mutex().mutex();
    assert!(predicted(locks().thread(&nested(0, 1)).thread(&nested(1, 0))).contains(circle));
    assert!(!predicted(locks().thread(&nested(0, 1)).thread(&nested(0, 1))).contains(circle));
    let gated = |acts: [Act; 4]| [&[lock(2)], &acts[..], &[unlock(2)]].concat();
    let program = locks().thread(&gated(nested(0, 1))).thread(&gated(nested(1, 0)));
    assert!(!predicted(program).iter().any(|root| root.starts_with("5 L")));
    let mut main = nested(0, 1).to_vec();
    main.push(Act::Spawn(1));
    assert!(!predicted(locks().thread(&main).spawned(&nested(1, 0))).contains(circle));
}

/// In programs without branches one run shows all accesses, so every iRoot of any run must be predicted from
/// each of them.
#[test]
fn every_iroot_of_any_run_is_predicted() {
    let (mut had, mut thought) = (0, 0);
    for number in 0..60 {
        let mut rng = Rng::for_run(23, number);
        let program = if number.is_multiple_of(2) { straight(&mut rng, 2, 5) } else { locked(&mut rng, 2) };
        let mut program = program.apart(10);
        let mut seen: BTreeSet<IRoot> = BTreeSet::new();
        every_schedule(Default::default(), &mut program, |_, engine| {
            seen.extend(observe(&engine.summary(), WINDOW));
        });
        let engine = once_under(Default::default(), &mut program, &mut Priorities::new(&[]), 0);
        if engine.summary().verdict.failure().is_some() {
            continue;
        }
        let predicted = predict(&engine.summary(), WINDOW);
        let missed: BTreeSet<IRoot> = seen.difference(&predicted).copied().collect();
        assert!(missed.is_empty(), "program {number}, {:?}: {:?}", program.acts(), shown(&missed));
        (had, thought) = (had + seen.len(), thought + predicted.len());
    }
    // Not every predicted iRoot is possible, but most are.
    assert!(had * 10 > thought * 6, "{had} of {thought}");
}

/// An iRoot that a run exposes is possible, whatever the program does: waits, wake-ups, semaphores, barriers,
/// read locks.
#[test]
fn every_iroot_of_the_run_itself_is_predicted() {
    let mut had = 0;
    for number in 0..400 {
        let mut rng = Rng::for_run(29, number);
        let mut program = if number.is_multiple_of(2) { mixed(&mut rng) } else { spawning(&mut rng) };
        // Threads that share locations are harder to distinguish.
        if number % 4 < 2 {
            program = program.apart(10);
        }
        let engine = once_under(Default::default(), &mut program, &mut Walk::default(), number);
        let (seen, predicted) = (observe(&engine.summary(), WINDOW), predict(&engine.summary(), WINDOW));
        let missed: BTreeSet<IRoot> = seen.difference(&predicted).copied().collect();
        let events: Vec<_> = engine
            .summary()
            .trace
            .events
            .iter()
            .map(|event| (event.thread.0, event.operation.kind))
            .collect();
        assert!(
            missed.is_empty(),
            "program {number}, {:?}: {:?}, {events:?}",
            program.acts(),
            shown(&missed)
        );
        had += seen.len();
    }
    assert!(had > 1_000, "{had}");
}
