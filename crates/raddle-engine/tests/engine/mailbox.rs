//! Mailboxes and other operations of actors.

use raddle_engine::{
    Choice, Config, Engine, Needs, Next, Plan, Point, Reply, Resource, Rng, Strategy, Timeouts, conflicts,
};
use raddle_model::{
    Access, BlockReason, Failure, Kind, LocationId, Name, ObjectId, Operation, Replaced, ThreadId, Verdict,
};
use raddle_testkit::Act::{On, With};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};

const SEND: Act = On(Kind::Send, 0);
const RECEIVE: Act = On(Kind::Receive, 0);

fn verdicts(config: Config, acts: &[&[Act]]) -> Vec<Verdict> {
    let mut program = Script::new().object(Resource::mailbox());
    for thread in acts {
        program = program.thread(thread);
    }
    let mut verdicts = Vec::new();
    every_schedule(config, &mut program, |_, engine| verdicts.push(engine.summary().verdict.clone()));
    verdicts
}

#[test]
fn a_receive_waits_for_new_messages_and_sees_all_of_them() {
    assert_eq!(verdicts(Config::default(), &[&[RECEIVE], &[SEND]]), [Verdict::Passed], "one schedule");
    let verdicts = verdicts(Config::default(), &[&[RECEIVE, RECEIVE], &[SEND, SEND]]);
    let stuck = verdicts.iter().filter(|verdict| verdict.failure().is_some()).count();
    assert_eq!((stuck, verdicts.len()), (1, 2), "two sends before the first look are one piece of news");
    let Some(Failure::Deadlock { blocked, .. }) = verdicts.iter().find_map(Verdict::failure) else {
        panic!("{verdicts:?}");
    };
    assert_eq!((blocked[0].thread, blocked[0].reason), (ThreadId(0), BlockReason::Mailbox));
}

#[test]
fn a_receive_may_time_out() {
    let mut program = Script::new().object(Resource::mailbox()).thread(&[With(Kind::Receive, 0, 5)]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[]), 0);
    assert_eq!((engine.summary().verdict, engine.now()), (&Verdict::Passed, 5));
    let mut config = Config::default();
    config.timeouts = Timeouts::Anytime;
    let verdicts = verdicts(config, &[&[With(Kind::Receive, 0, 5), RECEIVE], &[SEND]]);
    let stuck = verdicts.iter().filter(|verdict| verdict.failure().is_some()).count();
    assert_eq!((stuck, verdicts.len()), (1, 2), "the timed one has taken the news, or was too early");
}

/// Creates an engine with a first thread that runs, and its mailbox.
fn one_thread() -> (Engine, ThreadId, ObjectId) {
    let mut engine = Engine::new(Config::default());
    engine.begin(Needs::default());
    let mailbox = engine.add_object(Name(1), Resource::mailbox());
    let thread = engine.add_thread();
    assert_eq!(next(&mut engine), Next::Resume { thread, reply: Reply::Go });
    (engine, thread, mailbox)
}

fn next(engine: &mut Engine) -> Next {
    engine.next(&mut Follow::new(&[]))
}

fn receive(mailbox: ObjectId) -> Operation {
    Operation::new(Kind::Receive, LocationId(0)).on(mailbox, Access::Read)
}

#[test]
fn seen_messages_are_not_new() {
    for seen in [false, true] {
        let (mut engine, thread, mailbox) = one_thread();
        engine.post(mailbox);
        if seen {
            engine.note_seen(mailbox);
        }
        engine.announce(thread, receive(mailbox));
        let woken = Next::Resume { thread, reply: Reply::Acquired };
        assert_eq!(next(&mut engine), if seen { Next::Done } else { woken });
    }
}

/// Runs the first enabled thread; asserts that no thread is about to touch this object.
#[derive(Clone)]
struct Untouched(ObjectId);

impl Strategy for Untouched {
    fn begin(&mut self, _rng: Rng) -> Plan {
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        assert_eq!(point.pending_on(self.0).count(), 0, "somebody is about to touch the object");
        Choice::Run(point.enabled()[0])
    }

    fn pick(&mut self, _arity: u32) -> u32 {
        0
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[test]
fn a_thread_whose_wait_is_replaced_continues() {
    let (mut engine, main, mailbox) = one_thread();
    let child = engine.add_child(main);
    engine.announce(main, Operation::new(Kind::Local, LocationId(0)));
    assert_eq!(next(&mut engine), Next::Resume { thread: child, reply: Reply::Go });
    engine.announce(child, receive(mailbox));
    assert_eq!(next(&mut engine), Next::Resume { thread: main, reply: Reply::Go });
    engine.replace(child, Operation::new(Kind::Local, LocationId(7)));
    engine.finish(main);
    // Nothing is left of the old wait: no thread is about to touch the mailbox.
    assert_eq!(engine.next(&mut Untouched(mailbox)), Next::Resume { thread: child, reply: Reply::Go });
    assert_eq!(engine.events().last().map(|event| event.operation.location), Some(LocationId(7)));
    engine.finish(child);
    assert_eq!(next(&mut engine), Next::Done);
    let replaced = Replaced { step: 0, thread: child, operation: receive(mailbox) };
    assert_eq!(engine.summary().trace.replaced, [replaced]);
    assert_eq!(engine.summary().verdict, &Verdict::Passed);
    assert_ne!(engine.thread_name(child), engine.thread_name(main));
}

#[test]
fn a_spawned_thread_knows_its_parent_though_a_timer_came_before_it() {
    let (mut engine, main, _) = one_thread();
    let object = engine.add_object(Name(9), Resource::Memory);
    let write = Operation::new(Kind::Write, LocationId(0)).on(object, Access::Write);
    engine.announce(main, write);
    assert_eq!(next(&mut engine), Next::Resume { thread: main, reply: Reply::Go });
    let timer = engine.add_child(main);
    engine.announce(main, Operation::new(Kind::Spawn, LocationId(1)));
    let mut child = None;
    // The parent ends, the others each write once.
    let mut written = Vec::new();
    while let Next::Resume { thread, reply } = next(&mut engine) {
        if let Reply::Spawned(spawned) = reply {
            child = Some(spawned);
        }
        if thread == main || written.contains(&thread) {
            engine.finish(thread);
        } else {
            written.push(thread);
            engine.announce(thread, write);
        }
    }
    let child = child.expect("a thread was spawned");
    let summary = engine.summary();
    let who = |event: usize| summary.trace.events[event].thread;
    let mut found = Vec::new();
    conflicts(&summary, |earlier, later| found.push((who(earlier), who(later))));
    // The first write comes before both of them.
    let others = [(timer, child), (child, timer)];
    assert!(found.len() == 1 && others.contains(&found[0]), "{found:?}");
}

#[test]
fn a_concluded_run_has_passed_even_with_waiting_threads() {
    let (mut engine, main, mailbox) = one_thread();
    let child = engine.add_child(main);
    engine.announce(main, Operation::new(Kind::Local, LocationId(0)));
    assert_eq!(next(&mut engine), Next::Resume { thread: child, reply: Reply::Go });
    engine.announce(child, receive(mailbox));
    assert_eq!(next(&mut engine), Next::Resume { thread: main, reply: Reply::Go });
    engine.conclude();
    assert_eq!(next(&mut engine), Next::Done);
    assert_eq!(engine.summary().verdict, &Verdict::Passed);
}

#[test]
fn a_delivery_waits_until_something_is_in_flight_and_asks_how() {
    let (mut engine, main, connection) = one_thread();
    let delivery = engine.add_child(main);
    engine.set_background(delivery);
    let deliver =
        |ways| Operation::new(Kind::Deliver, LocationId(0)).on(connection, Access::Write).with_argument(ways);
    engine.announce(main, Operation::new(Kind::Local, LocationId(0)));
    assert_eq!(next(&mut engine), Next::Resume { thread: delivery, reply: Reply::Go });
    engine.announce(delivery, deliver(3));
    assert_eq!(next(&mut engine), Next::Resume { thread: main, reply: Reply::Go });
    // Something is sent while `main` runs; it waits for what is delivered.
    engine.give_token(connection);
    let token = engine.add_object(Name(2), Resource::token());
    engine.announce(main, Operation::new(Kind::Park, LocationId(0)).on(token, Access::Write));
    assert_eq!(next(&mut engine), Next::Resume { thread: delivery, reply: Reply::Number(0) });
    engine.announce(delivery, deliver(1));
    // Nothing is in flight any more, so nothing can wake `main`. The delivery is no part of the deadlock.
    assert_eq!(next(&mut engine), Next::Done);
    let Verdict::Failed { failure: Failure::Deadlock { blocked, .. } } = engine.summary().verdict else {
        panic!("{:?}", engine.summary().verdict);
    };
    assert_eq!(blocked.iter().map(|entry| entry.thread).collect::<Vec<_>>(), [main]);
    assert_eq!(engine.summary().trace.picks.len(), 1, "a delivery with one way asks nothing");
}
