//! Semaphores, barriers and one-time initialisations.

use raddle_engine::{Config, Reply, Resource};
use raddle_model::{BlockReason, Failure, Kind, ThreadId, Verdict};
use raddle_testkit::Act::{On, Once, With};
use raddle_testkit::{Act, Follow, Script, every_schedule, is_thorough, once_under};
use std::collections::BTreeSet;

const ENTER: Act = On(Kind::SemaphoreWait, 0);
const TRY: Act = On(Kind::SemaphoreTryWait, 0);
const LEAVE: Act = On(Kind::SemaphorePost, 0);

#[test]
fn a_semaphore_lets_in_as_many_as_it_counts() {
    for value in 1..=3 {
        let section = [ENTER, Act::Step, LEAVE];
        let mut program = Script::new()
            .object(Resource::semaphore(value))
            .thread(&section)
            .thread(&section)
            .thread(&section);
        let mut most = 0;
        every_schedule(Config::default(), &mut program, |_, engine| {
            let run = engine.summary();
            assert_eq!(*run.verdict, Verdict::Passed);
            let mut inside = 0;
            for event in &run.trace.events {
                inside += u64::from(event.operation.kind == Kind::SemaphoreWait);
                inside -= u64::from(event.operation.kind == Kind::SemaphorePost);
                assert!(inside <= value);
                most = most.max(inside);
            }
        });
        assert_eq!(most, value, "and no fewer");
    }
}

#[test]
fn posts_are_counted_and_a_try_never_waits() {
    let mut program =
        Script::new().object(Resource::semaphore(0)).thread(&[TRY, LEAVE, LEAVE, TRY, TRY, TRY]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    use Reply::{Acquired, Busy, Go};
    assert_eq!(program.replies_of(0), [Busy, Go, Go, Acquired, Acquired, Busy]);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    let mut program = Script::new().object(Resource::semaphore(0)).thread(&[ENTER]).thread(&[ENTER, LEAVE]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    let Some(Failure::Deadlock { blocked, cycle }) = engine.summary().verdict.failure() else {
        panic!("{:?}", engine.summary().verdict)
    };
    assert!(cycle.is_empty());
    assert!(blocked.iter().all(|b| b.reason == BlockReason::Semaphore && b.held_by.is_empty()));
}

#[test]
fn a_post_wakes_a_waiter_for_one_unit() {
    let mut program =
        Script::new().object(Resource::semaphore(0)).thread(&[ENTER]).thread(&[ENTER]).thread(&[LEAVE]);
    let mut got = BTreeSet::new();
    every_schedule(Config::default(), &mut program, |program, _| {
        let acquired = |t: &u32| program.replies_of(*t) == [Reply::Acquired];
        got.insert((0..2).filter(acquired).collect::<Vec<u32>>());
    });
    assert_eq!(got, BTreeSet::from([vec![0], vec![1]]));
}

#[test]
fn a_barrier_holds_all_threads_until_the_last_arrives_in_every_round() {
    let twice = [Act::Step, On(Kind::Barrier, 0), Act::Step, On(Kind::Barrier, 0), Act::Step];
    let mut program =
        Script::new().object(Resource::barrier(3)).thread(&twice).thread(&twice).thread(&twice[..5]);
    let mut last = BTreeSet::new();
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed);
        let mut arrived = 0;
        for event in &run.trace.events {
            let round = event.operation.location.0.div_ceil(2);
            if event.operation.kind == Kind::Barrier {
                arrived += 1;
                assert_eq!((arrived - 1) / 3 + 1, round);
                last.extend((arrived == 6).then_some(event.thread));
            } else {
                assert_eq!(arrived / 3, round, "a thread is ahead of the barrier");
            }
        }
    });
    assert!(!is_thorough() || last.len() == 3, "anybody can be the last to arrive");
}

#[test]
fn a_barrier_without_enough_threads_is_a_deadlock() {
    let arrive = [On(Kind::Barrier, 0)];
    let mut program = Script::new().object(Resource::barrier(3)).thread(&arrive).thread(&arrive);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    let Some(Failure::Deadlock { blocked, cycle }) = engine.summary().verdict.failure() else {
        panic!("{:?}", engine.summary().verdict)
    };
    assert!(cycle.is_empty());
    let who: Vec<_> = blocked.iter().map(|b| (b.thread.0, b.reason, b.object.map(|o| o.0))).collect();
    assert_eq!(who, [(0, BlockReason::Barrier, Some(0)), (1, BlockReason::Barrier, Some(0))]);
}

#[test]
fn a_barrier_has_one_serial_thread_and_each_can_be_it() {
    let arrive = [With(Kind::Barrier, 0, 1)];
    let mut program =
        Script::new().object(Resource::barrier(3)).thread(&arrive).thread(&arrive).thread(&arrive);
    let mut seen = BTreeSet::new();
    let runs = every_schedule(Config::default(), &mut program, |program, engine| {
        let serial: Vec<ThreadId> =
            program.replies.iter().filter(|(_, reply)| *reply == Reply::Number(1)).map(|r| r.0).collect();
        assert_eq!(serial.len(), 1);
        assert_eq!(program.replies.len(), 3);
        let events = &engine.summary().trace.events;
        seen.insert((events[2].thread, serial[0]));
    });
    assert_eq!(runs, 18, "six orders of arrival, three serial threads");
    assert_eq!(seen.len(), 9, "who is last says nothing about who is serial");
}

#[test]
fn threads_leave_a_barrier_in_thread_order_whatever_the_order_of_arrival() {
    let arrive = [With(Kind::Barrier, 0, 1), Act::Step];
    let mut program =
        Script::new().object(Resource::barrier(3)).thread(&arrive).thread(&arrive).thread(&arrive);
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut picks = Follow::new(&order).picking(&[1]);
        once_under(Config::default(), &mut program, &mut picks, 0);
        let left: Vec<_> = program.replies.iter().take(3).map(|&(thread, reply)| (thread.0, reply)).collect();
        let number = |thread: u32| (thread, Reply::Number(u32::from(thread == 1)));
        assert_eq!(left, [number(0), number(1), number(2)], "arrived as {order:?}");
    }
}

#[test]
fn an_initialisation_runs_once_and_the_others_wait_for_its_end() {
    let acts = [Once(0), Act::Step, On(Kind::OnceEnd, 0), On(Kind::Yield, 1)];
    let mut program = Script::new()
        .object(Resource::once())
        .object(Resource::Memory)
        .thread(&acts)
        .thread(&acts)
        .thread(&acts);
    let mut runners = BTreeSet::new();
    every_schedule(Config::default(), &mut program, |program, engine| {
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed);
        let reported = program.replies.iter().filter(|(_, reply)| *reply == Reply::RunOnce);
        let reported: Vec<ThreadId> = reported.map(|reply| reply.0).collect();
        assert_eq!(reported.len(), 1);
        runners.insert(reported[0]);
        let events = &run.trace.events;
        let end = events.iter().position(|e| e.operation.kind == Kind::OnceEnd).expect("it ends");
        assert!(
            events[..end].iter().all(|event| event.thread == reported[0]),
            "no thread passes before the end"
        );
    });
    assert!(!is_thorough() || runners.len() == 3, "{runners:?}");
}

#[test]
fn an_initialisation_that_needs_itself_is_a_deadlock() {
    let mut program = Script::new().object(Resource::once()).thread(&[
        On(Kind::OnceBegin, 0),
        On(Kind::OnceBegin, 0),
        On(Kind::OnceEnd, 0),
    ]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    let Some(Failure::Deadlock { blocked, cycle }) = engine.summary().verdict.failure() else {
        panic!("{:?}", engine.summary().verdict)
    };
    assert_eq!((blocked[0].reason, cycle.as_slice()), (BlockReason::Once, &[ThreadId(0)][..]));
}
