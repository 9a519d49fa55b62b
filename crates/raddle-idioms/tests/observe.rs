//! The iRoots of runs with a given schedule, computed by hand. Operation `i` of thread `t` is at location `10
//! t + i`.

mod common;

use common::{set, shown};
use raddle_engine::{MutexKind, Resource};
use raddle_idioms::{WINDOW, observe};
use raddle_model::Kind;
use raddle_testkit::{Act, Follow, Script, once_under};
use std::collections::BTreeSet;

fn under(program: Script, threads: &[u32], window: u32) -> BTreeSet<String> {
    let mut program = program.apart(10);
    let engine = once_under(Default::default(), &mut program, &mut Follow::new(threads), 0);
    shown(&observe(&engine.summary(), window))
}

fn memory(threads: &[&str], schedule: &[u32]) -> BTreeSet<String> {
    under(Script::straight(2, threads), schedule, WINDOW)
}

fn lock(mutex: u32) -> Act {
    Act::On(Kind::Lock, mutex)
}

fn unlock(mutex: u32) -> Act {
    Act::On(Kind::Unlock, mutex)
}

/// Two threads that take locks and release them at once, in this order.
fn sections(threads: [&[u32]; 2]) -> Script {
    let acts = |locks: &[u32]| -> Vec<Act> { locks.iter().flat_map(|&m| [lock(m), unlock(m)]).collect() };
    Script::new().mutex().mutex().thread(&acts(threads[0])).thread(&acts(threads[1]))
}

#[test]
fn idiom_1_of_memory() {
    assert_eq!(memory(&["W0", "R0"], &[0, 1]), set(&["1 W0 R10"]));
    assert_eq!(memory(&["W0", "R0"], &[1, 0]), set(&["1 R10 W0"]));
    assert_eq!(memory(&["W0", "W0"], &[1, 0]), set(&["1 W10 W0"]));
    assert_eq!(memory(&["R0", "R0"], &[0, 1]), set(&[]));
    assert_eq!(memory(&["W0", "W1"], &[0, 1]), set(&[]));
}

#[test]
fn a_dependency_is_immediate() {
    // The second write is what is read, and the thread's own read separates a write from the write of another
    // thread.
    assert_eq!(memory(&["W0 W0", "R0"], &[0, 0, 1]), set(&["1 W1 R10"]));
    assert_eq!(memory(&["W0", "R0 W0"], &[0, 1, 1]), set(&["1 W0 R10"]));
    // A read does not separate a write from another read, and all reads come before the next write.
    assert_eq!(memory(&["W0", "R0", "R0"], &[0, 1, 2]), set(&["1 W0 R10", "1 W0 R20"]));
    assert_eq!(memory(&["R0", "R0", "W0"], &[0, 1, 2]), set(&["1 R0 W20", "1 R10 W20"]));
    assert_eq!(memory(&["R0 R0", "W0"], &[0, 0, 1]), set(&["1 R1 W10"]));
}

#[test]
fn idiom_2_of_memory() {
    let found = memory(&["R0 W0", "W0"], &[0, 1, 0]);
    assert_eq!(found, set(&["1 R0 W10", "1 W10 W1", "2 R0 W10 W1"]));
    // Thread 0 touches the object in between.
    let found = memory(&["W0 R0 W0", "R0"], &[0, 1, 0, 0]);
    assert_eq!(found, set(&["1 W0 R10", "1 R10 W2"]));
}

#[test]
fn idiom_3_of_memory() {
    let found = memory(&["W0 R0", "R0 W0"], &[0, 1, 1, 0]);
    assert_eq!(found, set(&["1 W0 R10", "1 W11 R1", "3 W0 R10 W11 R1"]));
}

#[test]
fn idiom_4_of_memory() {
    let found = memory(&["W0 R1", "R0 W1"], &[0, 1, 1, 0]);
    assert_eq!(found, set(&["1 W0 R10", "1 W11 R1", "4 W0 R10 W11 R1"]));
}

#[test]
fn idiom_5_of_memory() {
    let found = memory(&["W0 R1", "W1 R0"], &[0, 1, 1, 0]);
    assert_eq!(found, set(&["1 W0 R11", "1 W10 R1", "5 W0 R11 W10 R1"]));
    // Whichever thread comes last.
    assert_eq!(memory(&["W0 R1", "W1 R0"], &[1, 0, 0, 1]), found);
}

#[test]
fn idiom_6_of_memory() {
    let found = memory(&["W0 W1", "R0 R1"], &[0, 0, 1, 1]);
    assert_eq!(found, set(&["1 W0 R10", "1 W1 R11", "6 W0 R10 W1 R11"]));
    assert_eq!(memory(&["W0 W1", "R0 R1"], &[0, 1, 0, 1]), found);
}

#[test]
fn idioms_of_locks() {
    let found = under(sections([&[0], &[0]]), &[0, 0, 1, 1], WINDOW);
    assert_eq!(found, set(&["1 U1 L10"]));
    let found = under(sections([&[0, 0], &[0]]), &[0, 0, 1, 1, 0, 0], WINDOW);
    assert_eq!(found, set(&["1 U1 L10", "1 U11 L2", "3 U1 L10 U11 L2"]));
    let found = under(sections([&[0, 1], &[0, 1]]), &[0, 0, 1, 1, 1, 1, 0, 0], WINDOW);
    assert_eq!(found, set(&["1 U1 L10", "1 U13 L2", "4 U1 L10 U13 L2"]));
    let found = under(sections([&[0, 1], &[1, 0]]), &[0, 0, 1, 1, 1, 1, 0, 0], WINDOW);
    assert_eq!(found, set(&["1 U1 L12", "1 U11 L2", "5 U1 L12 U11 L2"]));
    let found = under(sections([&[0, 1], &[0, 1]]), &[0, 0, 0, 0, 1, 1, 1, 1], WINDOW);
    assert_eq!(found, set(&["1 U1 L10", "1 U3 L12", "6 U1 L10 U3 L12"]));
}

#[test]
fn a_deadlock_is_idiom_5() {
    let program = || Script::new().mutex().mutex().thread(&[lock(0), lock(1)]).thread(&[lock(1), lock(0)]);
    assert_eq!(under(program(), &[0, 1], WINDOW), set(&["5 L0 L11 L10 L1"]));
    assert_eq!(under(program(), &[0, 1], 0), set(&[]));
}

#[test]
fn a_lock_that_was_not_taken_is_not_an_access() {
    let program = Script::new().mutex().thread(&[lock(0), unlock(0)]).thread(&[Act::On(Kind::TryLock, 0)]);
    assert_eq!(under(program, &[0, 1, 0], WINDOW), set(&[]));
}

#[test]
fn an_owner_whose_lock_fails_holds_it_once() {
    use MutexKind::{ErrorChecking, Normal, Recursive};
    let again = |kind, second: Kind, unlocks: usize, end: &[Act]| {
        let first = [&[lock(0), Act::On(second, 0)][..], &vec![unlock(0); unlocks]].concat();
        let schedule = [vec![0; first.len()], vec![1; 2 + end.len()]].concat();
        let program = Script::new().object(Resource::mutex(kind)).thread(&first);
        under(program.thread(&[&[lock(0), unlock(0)], end].concat()), &schedule, WINDOW)
    };
    for (kind, second) in
        [(Normal, Kind::TryLock), (ErrorChecking, Kind::TryLock), (ErrorChecking, Kind::Lock)]
    {
        assert_eq!(again(kind, second, 1, &[]), set(&["1 U2 L10"]), "{kind:?} {second:?}");
    }
    for second in [Kind::TryLock, Kind::Lock] {
        assert_eq!(again(Recursive, second, 2, &[]), set(&["1 U3 L10"]), "{second:?}");
    }
    // The type of the lock is no longer known.
    let destroy = [Act::On(Kind::Destroy, 0)];
    assert_eq!(again(Recursive, Kind::Lock, 2, &destroy), set(&["1 U3 L10"]));
    assert_eq!(again(Normal, Kind::TryLock, 1, &destroy), set(&["1 U2 L10"]));
}

#[test]
fn a_downgraded_lock_is_held_for_reading() {
    let on = |kind| Act::On(kind, 0);
    let lock = Script::new().object(Resource::read_write_lock());
    let program = lock
        .thread(&[on(Kind::WriteLock), on(Kind::Downgrade), on(Kind::ReadWriteUnlock)])
        .thread(&[on(Kind::ReadLock), on(Kind::ReadWriteUnlock)])
        .thread(&[on(Kind::WriteLock), on(Kind::ReadWriteUnlock)]);
    let found = under(program, &[0, 0, 1, 1, 0, 2, 2], WINDOW);
    assert_eq!(found, set(&["1 U2 L20", "1 U11 L20"]));
}

#[test]
fn readers_of_a_lock_do_not_depend_on_each_other() {
    let on = |kind| Act::On(kind, 0);
    let reader = [on(Kind::ReadLock), on(Kind::ReadWriteUnlock)];
    let writer = [on(Kind::WriteLock), on(Kind::ReadWriteUnlock)];
    let lock = Script::new().object(Resource::read_write_lock());
    let program = lock.thread(&reader).thread(&reader).thread(&writer);
    let found = under(program, &[0, 0, 1, 1, 2, 2], WINDOW);
    assert_eq!(found, set(&["1 U1 L20", "1 U11 L20"]));
}

#[test]
fn a_wait_releases_the_lock_and_takes_it_again() {
    let condition = Script::new().mutex().object(Resource::condition());
    let program = condition.thread(&[lock(0), Act::Wait(1, 0), unlock(0)]).thread(&[
        lock(0),
        Act::On(Kind::Signal, 1),
        unlock(0),
    ]);
    let found = under(program, &[0, 0, 1, 1, 1, 0, 0], WINDOW);
    assert_eq!(found, set(&["1 U1 L10", "1 U12 L1", "3 U1 L10 U12 L1"]));
}

#[test]
fn accesses_beyond_the_window_are_apart() {
    let program = || Script::straight(3, &["W0 W2 W2 R1", "R0 W1"]);
    let schedule = [0, 1, 1, 0, 0, 0];
    assert!(under(program(), &schedule, 3).contains("4 W0 R10 W11 R3"));
    assert_eq!(under(program(), &schedule, 2), set(&["1 W0 R10", "1 W11 R3"]));
}

/// In quadratic time this would not finish.
#[test]
fn long_runs_are_observed() {
    // Every access has its own location, so that no two are alike; one in four is to a shared object.
    let words = |own: usize| -> Vec<String> {
        let word =
            |i: usize| if i.is_multiple_of(4) { format!("W{}", i / 4 % 2) } else { format!("R{}", own + 2) };
        (0..25_000).map(word).collect()
    };
    let threads: Vec<String> = [0, 1, 2, 3].map(|own| words(own).join(" ")).to_vec();
    let threads: Vec<&str> = threads.iter().map(|text| &text[..]).collect();
    let mut program = Script::straight(6, &threads);
    let engine = once_under(Default::default(), &mut program, &mut raddle_testkit::Walk::default(), 1);
    let summary = engine.summary();
    assert_eq!(summary.trace.events.len(), 100_000);
    assert!(observe(&summary, WINDOW).len() > 10_000);
}
