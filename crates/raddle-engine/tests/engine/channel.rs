//! Channels, and attempts at read-write locks.

use raddle_engine::{Config, Reply, Resource};
use raddle_model::{BlockReason, Failure, Kind, Verdict};
use raddle_testkit::Act::{On, With};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};

const SEND: Act = With(Kind::Send, 0, u64::MAX);
const TRY_SEND: Act = On(Kind::TrySend, 0);
const RECEIVE: Act = With(Kind::Receive, 0, u64::MAX);
const TRY_RECEIVE: Act = On(Kind::TryReceive, 0);
const CLOSE_SENDER: Act = With(Kind::Close, 0, 0);
const CLOSE_RECEIVER: Act = With(Kind::Close, 0, 1);

fn replies(capacity: u64, acts: &[Act]) -> Vec<Reply> {
    let mut program = Script::new().object(Resource::channel(capacity, 1)).thread(acts);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    program.replies_of(0).to_vec()
}

#[test]
fn attempts_distinguish_full_empty_and_closed() {
    use Reply::{Acquired, Busy, Closed, Go, TimedOut};
    let acts = [TRY_RECEIVE, TRY_SEND, TRY_SEND, RECEIVE, With(Kind::Receive, 0, 5), CLOSE_SENDER, RECEIVE];
    assert_eq!(replies(1, &acts), [Busy, Acquired, Busy, Acquired, TimedOut, Go, Closed]);
    assert_eq!(replies(u64::MAX, &[SEND, SEND, CLOSE_RECEIVER, SEND]), [Acquired, Acquired, Go, Closed]);
    let meet = [TRY_SEND, On(Kind::ReceiveBegin, 0), TRY_SEND, TRY_SEND, RECEIVE, TRY_SEND];
    assert_eq!(replies(0, &meet), [Busy, Go, Acquired, Busy, Acquired, Busy]);
    let alone = [SEND, CLOSE_RECEIVER, With(Kind::SendEnd, 0, 0)];
    assert_eq!(replies(0, &alone), [Acquired, Go, Closed]);
}

#[test]
fn under_every_schedule_values_are_neither_lost_nor_invented() {
    for capacity in [1, 2, u64::MAX] {
        let mut program = Script::new()
            .object(Resource::channel(capacity, 2))
            .thread(&[SEND, SEND, CLOSE_SENDER])
            .thread(&[SEND, CLOSE_SENDER])
            .thread(&[RECEIVE, RECEIVE, RECEIVE, RECEIVE]);
        every_schedule(Config::default(), &mut program, |program, engine| {
            let run = engine.summary();
            assert_eq!(*run.verdict, Verdict::Passed);
            let mut queued = 0;
            for event in &run.trace.events {
                queued += u64::from(event.operation.kind == Kind::Send);
                queued = queued.saturating_sub(u64::from(event.operation.kind == Kind::Receive));
                assert!(queued <= capacity);
            }
            use Reply::{Acquired, Closed};
            assert_eq!(program.replies_of(2), [Acquired, Acquired, Acquired, Closed]);
        });
    }
}

#[test]
fn a_deadlock_reports_waits_for_a_channel() {
    for acts in [&[RECEIVE][..], &[SEND, SEND]] {
        let mut program = Script::new().object(Resource::channel(1, 1)).thread(acts);
        let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
        let Some(Failure::Deadlock { blocked, .. }) = engine.summary().verdict.failure() else { panic!() };
        assert_eq!((blocked[0].reason, blocked[0].object.map(|o| o.0)), (BlockReason::Channel, Some(0)));
    }
}

#[test]
fn attempts_at_a_read_write_lock_never_wait() {
    let unlock = On(Kind::ReadWriteUnlock, 0);
    let (reads, writes) = (On(Kind::TryReadLock, 0), On(Kind::TryWriteLock, 0));
    let acts = [reads, reads, writes, unlock, unlock, writes, reads, writes];
    let mut program = Script::new().object(Resource::read_write_lock()).thread(&acts);
    once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    use Reply::{Acquired, Busy, Go};
    assert_eq!(program.replies_of(0), [Acquired, Acquired, Busy, Go, Go, Acquired, Busy, Busy]);
}

#[test]
fn an_abandoned_initialisation_is_run_by_the_next_thread() {
    let acts = [
        On(Kind::OnceTry, 0),
        On(Kind::OnceBegin, 0),
        With(Kind::OnceEnd, 0, 0),
        On(Kind::OnceTry, 0),
        On(Kind::OnceBegin, 0),
        On(Kind::OnceEnd, 0),
        On(Kind::OnceTry, 0),
    ];
    let mut program = Script::new().object(Resource::once()).thread(&acts);
    once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    use Reply::{Acquired, Busy, Go, RunOnce};
    assert_eq!(program.replies_of(0), [Busy, RunOnce, Go, Busy, RunOnce, Go, Acquired]);
}
