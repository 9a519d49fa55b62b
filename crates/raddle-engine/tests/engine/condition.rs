//! Condition variables.

use raddle_engine::{Config, MutexKind, Reply, Resource};
use raddle_model::{BlockReason, Failure, Kind, ThreadId, Verdict};
use raddle_testkit::Act::{On, Wait};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};
use std::collections::BTreeSet;

const LOCK: Act = On(Kind::Lock, 0);
const UNLOCK: Act = On(Kind::Unlock, 0);
const WAIT: Act = Wait(1, 0);
const SIGNAL: Act = On(Kind::Signal, 1);
const BROADCAST: Act = On(Kind::Broadcast, 1);

fn waiters(count: usize) -> Script {
    let script = Script::new().mutex().object(Resource::condition());
    (0..count).fold(script, |script, _| script.thread(&[LOCK, WAIT, UNLOCK]))
}

/// Returns the threads left waiting in a deadlock, with the reason.
fn left(verdict: &Verdict) -> Vec<(u32, BlockReason)> {
    match verdict.failure() {
        Some(Failure::Deadlock { blocked, .. }) => blocked.iter().map(|b| (b.thread.0, b.reason)).collect(),
        None => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_signal_wakes_exactly_one_and_each_can_be_it() {
    let mut woken = BTreeSet::new();
    for pick in 0..3 {
        let mut program = waiters(3).thread(&[SIGNAL]);
        let mut strategy = Follow::new(&[0, 0, 1, 1, 2, 2, 3]).picking(&[pick]);
        let engine = once_under(Config::default(), &mut program, &mut strategy, 0);
        let run = engine.summary();
        assert_eq!(run.trace.picks.len(), 1);
        assert_eq!((run.trace.picks[0].step, run.trace.picks[0].arity), (6, 3));
        let left = left(run.verdict);
        assert!(left.iter().all(|&(_, reason)| reason == BlockReason::Condition), "{left:?}");
        let free: Vec<u32> = (0..3).filter(|&t| left.iter().all(|&(other, _)| other != t)).collect();
        assert_eq!(free, [pick], "waiters are numbered in order of arrival");
        assert_eq!(program.replies_of(pick), [Reply::Acquired, Reply::Go, Reply::Go]);
        woken.insert(pick);
    }
    assert_eq!(woken.len(), 3);
}

#[test]
fn under_every_schedule_a_signal_wakes_at_most_one() {
    let mut program = waiters(2).thread(&[SIGNAL]);
    let mut free = BTreeSet::new();
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        let waiting = |name: Kind| {
            run.trace.events.iter().position(|event| event.operation.kind == name).expect("it is executed")
        };
        let at = waiting(Kind::Signal);
        let before =
            run.trace.events[..at].iter().filter(|e| e.operation.kind == Kind::ConditionWait).count();
        let left = left(run.verdict).len();
        assert_eq!(left, if before == 0 { 2 } else { 1 }, "a signal without a waiter is lost");
        assert_eq!(run.trace.picks.len(), usize::from(before == 2), "only a real choice is a pick");
        free.extend(
            run.trace.events.iter().filter_map(|e| {
                (e.operation.kind == Kind::ConditionReacquire).then_some((before, e.thread.0))
            }),
        );
    });
    assert_eq!(free, BTreeSet::from([(1, 0), (1, 1), (2, 0), (2, 1)]));
}

#[test]
fn a_broadcast_wakes_all_and_each_takes_the_mutex_back() {
    let mut program = waiters(3).thread(&[LOCK, BROADCAST, UNLOCK]);
    let mut all = 0;
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        let events = &run.trace.events;
        let at = events.iter().position(|e| e.operation.kind == Kind::Broadcast).expect("it is executed");
        let before = events[..at].iter().filter(|e| e.operation.kind == Kind::ConditionWait).count();
        assert_eq!(left(run.verdict).len(), 3 - before);
        all += usize::from(before == 3);
        let mut owner: Option<ThreadId> = None;
        for event in events {
            match event.operation.kind {
                Kind::Lock | Kind::ConditionReacquire => {
                    assert_eq!(owner.replace(event.thread), None, "{events:?}");
                }
                Kind::Unlock | Kind::ConditionWait => assert_eq!(owner.take(), Some(event.thread)),
                _ => assert_eq!(owner, Some(event.thread)),
            }
        }
    });
    assert!(all > 0);
}

#[test]
fn a_woken_waiter_waits_for_the_mutex() {
    let mut program = waiters(1).thread(&[LOCK, SIGNAL, Act::Step]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0, 0, 1, 1, 1]), 0);
    assert_eq!(left(engine.summary().verdict), [(0, BlockReason::Mutex)]);
}

#[test]
fn the_mutex_is_free_while_waiting() {
    let mut program = waiters(1).thread(&[On(Kind::TryLock, 0)]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0, 0, 1]), 0);
    assert_eq!(program.replies_of(1), [Reply::Acquired]);
    assert_eq!(left(engine.summary().verdict), [(0, BlockReason::Condition)]);
}

#[test]
fn waiting_without_the_mutex_is_misuse() {
    let recursive = Resource::mutex(MutexKind::Recursive);
    let mut without = Script::new().mutex().object(Resource::condition()).thread(&[WAIT]);
    let mut twice = Script::new().object(recursive).object(Resource::condition()).thread(&[LOCK, LOCK, WAIT]);
    let mut other =
        Script::new().mutex().object(Resource::condition()).thread(&[LOCK, UNLOCK]).thread(&[WAIT]);
    for (program, order, thread, rule) in [
        (&mut without, &[0][..], 0, "used in a wait by a thread that does not hold it"),
        (&mut other, &[0, 1], 1, "used in a wait by a thread that does not hold it"),
        (&mut twice, &[0, 0, 0], 0, "used in a wait while locked more than once"),
    ] {
        let engine = once_under(Config::default(), program, &mut Follow::new(order), 0);
        match engine.summary().verdict.failure() {
            Some(Failure::Misuse { thread: who, object, message, .. }) => {
                assert_eq!((who.0, object.0, message.as_str()), (thread, 0, rule));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_signal_after_a_signal_goes_to_another_waiter() {
    let mut program = waiters(2).thread(&[SIGNAL, SIGNAL]);
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        let kinds: Vec<Kind> = run.trace.events.iter().map(|e| e.operation.kind).collect();
        let signals: Vec<usize> = (0..kinds.len()).filter(|&i| kinds[i] == Kind::Signal).collect();
        let waits = |until: usize| kinds[..until].iter().filter(|&&k| k == Kind::ConditionWait).count();
        if waits(signals[0]) == 2 || (waits(signals[0]) == 1 && waits(signals[1]) == 2) {
            assert_eq!(*run.verdict, Verdict::Passed, "both signals found a waiter");
        }
    });
}
