//! Mutexes: exclusion under every schedule, and the replies of each kind.

use raddle_engine::{Config, MutexKind, Reply, Resource};
use raddle_model::{Event, Failure, Kind, Verdict};
use raddle_testkit::Act::{On, R, W};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};

const LOCK: Act = On(Kind::Lock, 0);
const TRY: Act = On(Kind::TryLock, 0);
const UNLOCK: Act = On(Kind::Unlock, 0);

/// Asserts that between a lock and the unlock of a thread no other thread touches the memory.
fn assert_exclusive(events: &[Event]) {
    let mut owner = None;
    for event in events {
        match event.operation.kind {
            Kind::Lock => {
                assert_eq!(owner.replace(event.thread), None, "two threads have the mutex: {events:?}")
            }
            Kind::Unlock => assert_eq!(owner.take(), Some(event.thread)),
            _ => assert_eq!(owner, Some(event.thread), "a thread is inside without the mutex: {events:?}"),
        }
    }
}

#[test]
fn a_mutex_excludes_under_every_schedule() {
    for kind in [MutexKind::Normal, MutexKind::Recursive, MutexKind::ErrorChecking] {
        let section = [LOCK, R(1), W(1), UNLOCK];
        let twice = [LOCK, R(1), W(1), UNLOCK, LOCK, W(1), UNLOCK];
        let mut program = Script::new()
            .object(Resource::mutex(kind))
            .object(Resource::Memory)
            .thread(&section)
            .thread(&section)
            .thread(&twice);
        let runs = every_schedule(Config::default(), &mut program, |_, engine| {
            let run = engine.summary();
            assert_eq!(*run.verdict, Verdict::Passed);
            assert_eq!(run.trace.events.len(), 15);
            assert_exclusive(&run.trace.events);
        });
        assert_eq!(runs, 12, "the four sections in any order, two of them in program order");
    }
}

#[test]
fn two_mutexes_do_not_exclude_each_other() {
    let mut program = Script::new()
        .mutex()
        .mutex()
        .thread(&[LOCK, UNLOCK])
        .thread(&[On(Kind::Lock, 1), On(Kind::Unlock, 1)]);
    assert_eq!(every_schedule(Config::default(), &mut program, |_, _| {}), 6);
}

#[test]
fn a_try_takes_a_free_mutex_and_no_other() {
    let mut program = Script::new().mutex().thread(&[LOCK, UNLOCK]).thread(&[TRY]);
    let mut seen = Vec::new();
    every_schedule(Config::default(), &mut program, |program, engine| {
        let order: Vec<u32> = engine.summary().trace.events.iter().map(|event| event.thread.0).collect();
        seen.push((order, program.replies_of(1)));
    });
    seen.sort_by_key(|(order, _)| order.clone());
    // If the try comes first, the other thread never gets the mutex.
    let expected = [
        (vec![0, 0, 1], vec![Reply::Acquired]),
        (vec![0, 1, 0], vec![Reply::Busy]),
        (vec![1], vec![Reply::Acquired]),
    ];
    assert_eq!(seen, expected);
}

fn alone(kind: MutexKind, acts: &[Act]) -> (Vec<Reply>, Verdict) {
    let mut program = Script::new().object(Resource::mutex(kind)).thread(acts);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    (program.replies_of(0), engine.summary().verdict.clone())
}

#[test]
fn locking_again_depends_on_the_kind() {
    use Reply::{Acquired, Busy, Go, NotOwner, WouldDeadlock};
    let (replies, verdict) = alone(MutexKind::Recursive, &[LOCK, LOCK, TRY, UNLOCK, UNLOCK, UNLOCK, UNLOCK]);
    assert_eq!(replies, [Acquired, Acquired, Acquired, Go, Go, Go, NotOwner]);
    assert_eq!(verdict, Verdict::Passed);
    let (replies, verdict) = alone(MutexKind::ErrorChecking, &[LOCK, LOCK, TRY, UNLOCK, UNLOCK]);
    assert_eq!(replies, [Acquired, WouldDeadlock, Busy, Go, NotOwner]);
    assert_eq!(verdict, Verdict::Passed);
    let (replies, verdict) = alone(MutexKind::Normal, &[LOCK, TRY, LOCK]);
    assert_eq!(replies, [Acquired, Busy]);
    assert!(matches!(verdict.failure(), Some(Failure::Deadlock { .. })), "{verdict:?}");
}

#[test]
fn a_recursive_mutex_is_free_only_after_the_last_unlock() {
    let mut program = Script::new()
        .object(Resource::mutex(MutexKind::Recursive))
        .thread(&[LOCK, LOCK, UNLOCK, UNLOCK])
        .thread(&[TRY]);
    every_schedule(Config::default(), &mut program, |program, engine| {
        let events = &engine.summary().trace.events;
        let at = events.iter().position(|event| event.thread.0 == 1).expect("the try never waits");
        let expected = if at == 0 || at == 4 { Reply::Acquired } else { Reply::Busy };
        assert_eq!(program.replies_of(1), [expected], "{events:?}");
    });
}

#[test]
fn only_the_owner_can_unlock() {
    for (kind, refused) in
        [(MutexKind::Normal, false), (MutexKind::Recursive, true), (MutexKind::ErrorChecking, true)]
    {
        let mut program =
            Script::new().object(Resource::mutex(kind)).thread(&[LOCK, UNLOCK]).thread(&[UNLOCK]);
        let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0, 1]), 0);
        let verdict = engine.summary().verdict;
        if refused {
            assert_eq!(program.replies_of(1), [Reply::NotOwner]);
            assert_eq!(program.replies_of(0), [Reply::Acquired, Reply::Go], "the owner still has it");
            assert_eq!(*verdict, Verdict::Passed);
        } else {
            let Some(Failure::Misuse { thread, object, message, .. }) = verdict.failure() else {
                panic!("{verdict:?}")
            };
            assert_eq!((thread.0, object.0), (1, 0));
            assert_eq!(message, "unlocked by a thread that does not hold it");
        }
    }
}
