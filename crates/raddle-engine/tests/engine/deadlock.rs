//! Wait-for cycles: deadlocks report every cycle, and nothing else.

use raddle_engine::{Config, Resource};
use raddle_model::{BlockReason, Blocked, Failure, Kind, ThreadId};
use raddle_testkit::Act::{Join, On, Spawn, Wait};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};

fn lock(object: u32) -> Act {
    On(Kind::Lock, object)
}

fn unlock(object: u32) -> Act {
    On(Kind::Unlock, object)
}

fn deadlock(program: &mut Script, order: &[u32]) -> (Vec<Blocked>, Vec<u32>) {
    let engine = once_under(Config::default(), program, &mut Follow::new(order), 0);
    match engine.summary().verdict.failure() {
        Some(Failure::Deadlock { blocked, cycle }) => {
            (blocked.clone(), cycle.iter().map(|thread| thread.0).collect())
        }
        other => panic!("{other:?}"),
    }
}

fn ids(threads: &[u32]) -> Vec<ThreadId> {
    threads.iter().map(|&thread| ThreadId(thread)).collect()
}

/// Asserts that each thread of the cycle waits for something that the next one holds.
fn assert_ring(blocked: &[Blocked], cycle: &[u32]) {
    for (index, &thread) in cycle.iter().enumerate() {
        let next = ThreadId(cycle[(index + 1) % cycle.len()]);
        let entry = blocked.iter().find(|entry| entry.thread.0 == thread).expect("a ring of blocked threads");
        assert!(entry.held_by.contains(&next), "{blocked:?} {cycle:?}");
    }
}

fn two() -> Script {
    let script = Script::new().mutex().mutex();
    let first = [lock(0), lock(1), unlock(1), unlock(0)];
    script.thread(&first).thread(&[lock(1), lock(0), unlock(0), unlock(1)])
}

#[test]
fn two_locks_in_opposite_order() {
    let (blocked, mut cycle) = deadlock(&mut two(), &[0, 1]);
    assert_ring(&blocked, &cycle);
    cycle.sort_unstable();
    assert_eq!(cycle, [0, 1]);
    let what: Vec<_> = blocked.iter().map(|b| (b.thread.0, b.object.map(|o| o.0), b.location.0)).collect();
    assert_eq!(what, [(0, Some(1), 1), (1, Some(0), 1)]);
    assert!(blocked.iter().all(|b| b.reason == BlockReason::Mutex));
    assert_eq!((&blocked[0].held_by, &blocked[1].held_by), (&ids(&[1]), &ids(&[0])));
}

#[test]
fn every_schedule_of_two_locks_passes_or_reports_the_cycle() {
    let mut stuck = 0;
    let runs = every_schedule(Config::default(), &mut two(), |_, engine| {
        if let Some(failure) = engine.summary().verdict.failure() {
            let Failure::Deadlock { blocked, cycle } = failure else { panic!("{failure:?}") };
            assert_eq!((blocked.len(), cycle.len()), (2, 2));
            stuck += 1;
        }
    });
    assert_eq!((runs, stuck), (6, 2), "after its inner section a thread may be overtaken");
}

#[test]
fn three_philosophers() {
    let script = Script::new().mutex().mutex().mutex().mutex();
    let mut program = script
        .thread(&[lock(3), lock(0)])
        .thread(&[lock(0), lock(1)])
        .thread(&[lock(1), lock(2)])
        .thread(&[lock(2), lock(0)]);
    let (blocked, cycle) = deadlock(&mut program, &[0, 1, 2, 3]);
    assert_ring(&blocked, &cycle);
    assert_eq!(blocked.len(), 4, "the guest waits as well");
    let start = cycle.iter().position(|&thread| thread == 1).expect("the ring has thread 1");
    let turned: Vec<u32> = (0..3).map(|index| cycle[(start + index) % cycle.len()]).collect();
    assert_eq!((cycle.len(), turned), (3, vec![1, 2, 3]), "but is no part of the ring");
}

#[test]
fn a_mutex_locked_twice() {
    let mut program = Script::new().mutex().thread(&[Act::Step]).thread(&[lock(0), lock(0)]);
    let (blocked, cycle) = deadlock(&mut program, &[]);
    assert_eq!((blocked.len(), cycle), (1, vec![1]));
    assert_eq!(blocked[0].held_by, ids(&[1]));
}

#[test]
fn threads_that_join_one_another() {
    let mut program = Script::new().thread(&[Spawn(1), Join(1)]).spawned(&[Act::Step, Join(0)]);
    let (blocked, mut cycle) = deadlock(&mut program, &[0]);
    assert_ring(&blocked, &cycle);
    cycle.sort_unstable();
    assert_eq!(cycle, [0, 1]);
    assert!(blocked.iter().all(|b| b.reason == BlockReason::Join && b.object.is_some()));
}

#[test]
fn a_cycle_of_different_kinds() {
    // Thread 0 holds the mutex and joins 1; 1 reads and wants the mutex; 2 holds nothing and wants to write.
    let mut program = Script::new()
        .mutex()
        .object(Resource::read_write_lock())
        .thread(&[lock(0), Spawn(1), Join(1)])
        .spawned(&[Spawn(2), On(Kind::ReadLock, 1), lock(0)])
        .spawned(&[Act::Step, On(Kind::WriteLock, 1)]);
    let (blocked, mut cycle) = deadlock(&mut program, &[0, 0, 1, 1]);
    assert_ring(&blocked, &cycle);
    cycle.sort_unstable();
    assert_eq!(cycle, [0, 1]);
    let reasons: Vec<BlockReason> = blocked.iter().map(|b| b.reason).collect();
    assert_eq!(reasons, [BlockReason::Join, BlockReason::Mutex, BlockReason::ReadWriteLock]);
    assert_eq!(blocked[2].held_by, ids(&[1]));
}

#[test]
fn all_readers_hold_a_read_write_lock() {
    let mut program = Script::new()
        .object(Resource::read_write_lock())
        .thread(&[On(Kind::ReadLock, 0)])
        .thread(&[On(Kind::ReadLock, 0)])
        .thread(&[On(Kind::WriteLock, 0)]);
    let (blocked, cycle) = deadlock(&mut program, &[0, 1]);
    assert!(cycle.is_empty(), "the readers have ended, they wait for no thread");
    let mut held = blocked[0].held_by.clone();
    held.sort_unstable();
    assert_eq!(held, ids(&[0, 1]));
}

#[test]
fn a_lost_wake_up_is_not_a_cycle() {
    let mut program = Script::new()
        .mutex()
        .object(Resource::condition())
        .thread(&[lock(0), Wait(1, 0), unlock(0)])
        .thread(&[On(Kind::Signal, 1)]);
    let (blocked, cycle) = deadlock(&mut program, &[1]);
    assert!(cycle.is_empty());
    let entry = &blocked[0];
    assert_eq!((entry.thread.0, entry.reason, entry.location.0), (0, BlockReason::Condition, 1));
    assert_eq!((entry.object.map(|o| o.0), entry.held_by.len()), (Some(1), 0));
}

#[test]
fn a_chain_that_ends_at_a_lost_wake_up_is_not_a_cycle() {
    let mut program = Script::new()
        .mutex()
        .object(Resource::condition())
        .mutex()
        .thread(&[lock(2), lock(0), Wait(1, 0)])
        .thread(&[lock(2)])
        .thread(&[Join(1)]);
    let (blocked, cycle) = deadlock(&mut program, &[0, 0, 0]);
    assert!(cycle.is_empty());
    let held: Vec<Vec<ThreadId>> = blocked.iter().map(|b| b.held_by.clone()).collect();
    assert_eq!(held, [ids(&[]), ids(&[0]), ids(&[1])]);
}

#[test]
fn a_thread_that_ends_with_a_mutex_leaves_it_locked() {
    let mut program = Script::new().mutex().thread(&[lock(0)]).thread(&[lock(0)]);
    let (blocked, cycle) = deadlock(&mut program, &[0]);
    assert!(cycle.is_empty());
    assert_eq!((blocked.len(), &blocked[0].held_by), (1, &ids(&[0])));
}
