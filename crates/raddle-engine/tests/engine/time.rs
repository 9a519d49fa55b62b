//! The virtual clock: sleeps, timed waits, and when they may end.

use raddle_engine::{Config, Reply, Resource, Timeouts};
use raddle_model::{Failure, Kind, Operation, ThreadId, Verdict};
use raddle_testkit::Act::{Bare, JoinFor, On, Spawn, WaitFor, With};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};
use std::collections::BTreeSet;

const LOCK: Act = On(Kind::Lock, 0);
const UNLOCK: Act = On(Kind::Unlock, 0);
const SIGNAL: Act = On(Kind::Signal, 1);

fn sleep(span: u64) -> Act {
    Bare(Kind::Sleep, span)
}

fn anytime() -> Config {
    let mut config = Config::default();
    config.timeouts = Timeouts::Anytime;
    config
}

/// Returns every sequence of threads that `program` can execute, with the time at the end.
fn orders(config: Config, mut program: Script) -> BTreeSet<(Vec<u32>, u64)> {
    let mut seen = BTreeSet::new();
    every_schedule(config, &mut program, |_, engine| {
        assert_eq!(*engine.summary().verdict, Verdict::Passed);
        let order = engine.summary().trace.events.iter().map(|event| event.thread.0).collect();
        seen.insert((order, engine.now()));
    });
    seen
}

/// Returns every reply that operation `index` of `thread` can get, with true if the run passed.
fn answers(config: Config, mut program: Script, thread: u32, index: usize) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    every_schedule(config, &mut program, |program, engine| {
        let passed = *engine.summary().verdict == Verdict::Passed;
        let reply = program.replies_of(thread).get(index).copied();
        seen.insert(format!("{reply:?} {passed}"));
    });
    seen
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    let program =
        Script::new().thread(&[sleep(30)]).thread(&[sleep(10), sleep(25)]).thread(&[sleep(20), Act::Step]);
    assert_eq!(orders(Config::default(), program), BTreeSet::from([(vec![1, 2, 2, 0, 1], 35)]));
}

#[test]
fn a_sleep_ends_even_if_the_clock_cannot_advance() {
    let program = Script::new().thread(&[sleep(u64::MAX - 10), sleep(100), sleep(1)]);
    assert_eq!(orders(Config::default(), program), BTreeSet::from([(vec![0; 3], u64::MAX - 1)]));
}

#[test]
fn a_run_ends_at_the_limit_of_its_time() {
    // Whatever can be done before the limit is done, whenever timeouts may fire.
    let program = || Script::new().thread(&[sleep(10), sleep(25)]).thread(&[Act::Step]);
    let failure = |limit| Failure::TimeLimit { limit };
    for timeouts in [Timeouts::WhenIdle, Timeouts::Anytime] {
        let mut config = Config::default();
        config.timeouts = timeouts;
        let mut ends = |limit| {
            config.time_limit = limit;
            let mut seen = BTreeSet::new();
            every_schedule(config, &mut program(), |_, engine| {
                let failed = engine.summary().verdict.failure().cloned();
                assert!(failed.is_none() || failed == Some(failure(limit)), "{failed:?}");
                seen.insert((failed.is_some(), engine.now()));
            });
            seen
        };
        assert_eq!(ends(35), BTreeSet::from([(false, 35)]));
        let later = if timeouts == Timeouts::WhenIdle { 10 } else { 35 };
        assert_eq!(ends(34), BTreeSet::from([(true, later)]));
        let first = if timeouts == Timeouts::WhenIdle { 0 } else { 10 };
        assert_eq!(ends(9), BTreeSet::from([(true, first)]));
    }
}

#[test]
fn sleepers_with_one_deadline_wake_in_any_order() {
    let program = Script::new().thread(&[sleep(10)]).thread(&[sleep(4), sleep(6)]);
    assert_eq!(
        orders(Config::default(), program),
        BTreeSet::from([(vec![1, 0, 1], 10), (vec![1, 1, 0], 10)])
    );
}

#[test]
fn time_stands_still_while_any_thread_can_run() {
    let steps = [Act::Step; 5];
    let program = Script::new().thread(&[sleep(1), Act::Step]).thread(&steps);
    assert_eq!(orders(Config::default(), program), BTreeSet::from([(vec![1, 1, 1, 1, 1, 0, 0], 1)]));
    let program = Script::new().thread(&steps);
    assert_eq!(orders(Config::default(), program), BTreeSet::from([(vec![0; 5], 0)]));
}

#[test]
fn a_sleep_may_end_at_any_step_if_requested() {
    let program = Script::new().thread(&[sleep(5), Act::Step]).thread(&[Act::Step, sleep(9)]);
    let seen = orders(anytime(), program);
    assert_eq!(seen.len(), 6, "every interleaving of two and two");
    assert!(seen.iter().all(|&(_, now)| now == 9 || now == 14), "{seen:?}");
}

#[test]
fn a_timed_lock_times_out_only_if_the_owner_cannot_continue() {
    let timed = With(Kind::Lock, 0, 10);
    let quick = || Script::new().mutex().thread(&[LOCK, Act::Step, UNLOCK]).thread(&[timed]);
    let slow =
        |span| Script::new().mutex().thread(&[LOCK, sleep(span), UNLOCK]).thread(&[Act::Step, timed, UNLOCK]);
    let keeps = |verdict: &str| set(&[&format!("Some(Acquired) {verdict}")]);
    // The timed thread keeps the mutex: if it comes first, the other one waits forever.
    assert_eq!(
        answers(Config::default(), quick(), 1, 0),
        set(&["Some(Acquired) true", "Some(Acquired) false"])
    );
    let never = Script::new().mutex().thread(&[LOCK]).thread(&[Act::Step, timed]);
    assert_eq!(
        answers(Config::default(), never, 1, 1),
        set(&["Some(TimedOut) true", "Some(Acquired) false"])
    );
    let untimed = With(Kind::Lock, 0, Operation::UNTIMED);
    let never = Script::new().mutex().thread(&[LOCK]).thread(&[Act::Step, untimed]);
    assert_eq!(answers(Config::default(), never, 1, 1), set(&["None false", "Some(Acquired) false"]));
    // The owner sleeps for less, for more, and for as long.
    let mut program = slow(5);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0, 1]), 0);
    assert_eq!((program.replies_of(1)[1], engine.now()), (Reply::Acquired, 5));
    let mut program = Script::new().mutex().thread(&[LOCK, sleep(15), UNLOCK]).thread(&[timed]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0]), 0);
    assert_eq!((program.replies_of(1)[0], engine.now()), (Reply::TimedOut, 15));
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    let both = Script::new().mutex().thread(&[LOCK, sleep(10), UNLOCK]).thread(&[timed]);
    let seen = answers(Config::default(), both, 1, 0);
    assert!(seen.is_superset(&set(&["Some(TimedOut) true", "Some(Acquired) true"])), "{seen:?}");
    assert!(answers(anytime(), quick(), 1, 0).is_superset(&set(&["Some(TimedOut) true"])));
    assert!(answers(anytime(), quick(), 1, 0).is_superset(&keeps("true")));
}

#[test]
fn timed_read_write_locks_time_out() {
    for (held, wanted, free) in [
        (Kind::ReadLock, Kind::WriteLock, false),
        (Kind::WriteLock, Kind::ReadLock, false),
        (Kind::WriteLock, Kind::WriteLock, false),
        (Kind::ReadLock, Kind::ReadLock, true),
    ] {
        let mut program = Script::new()
            .object(Resource::read_write_lock())
            .thread(&[On(held, 0)])
            .thread(&[With(wanted, 0, 7)]);
        let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0]), 0);
        let expected = if free { (Reply::Acquired, 0) } else { (Reply::TimedOut, 7) };
        assert_eq!((program.replies_of(1)[0], engine.now()), expected);
    }
}

#[test]
fn a_timed_semaphore_wait_takes_a_unit_or_none() {
    let program = |post: &[Act]| {
        Script::new().object(Resource::semaphore(0)).thread(&[With(Kind::SemaphoreWait, 0, 10)]).thread(post)
    };
    let post = On(Kind::SemaphorePost, 0);
    assert_eq!(answers(Config::default(), program(&[post]), 0, 0), set(&["Some(Acquired) true"]));
    assert_eq!(answers(Config::default(), program(&[]), 0, 0), set(&["Some(TimedOut) true"]));
    assert_eq!(answers(Config::default(), program(&[sleep(20), post]), 0, 0), set(&["Some(TimedOut) true"]));
    let both = set(&["Some(Acquired) true", "Some(TimedOut) true"]);
    assert_eq!(answers(Config::default(), program(&[sleep(10), post]), 0, 0), both);
    assert_eq!(answers(anytime(), program(&[post]), 0, 0), both);
    // A wait that timed out has taken nothing.
    let mut late = program(&[sleep(20), post, On(Kind::SemaphoreTryWait, 0)]);
    once_under(Config::default(), &mut late, &mut Follow::default(), 0);
    assert_eq!(late.replies_of(1)[2], Reply::Acquired);
}

#[test]
fn a_timed_join_times_out() {
    let program = |child: &[Act]| Script::new().thread(&[Spawn(1), JoinFor(1, 10)]).spawned(child);
    assert_eq!(answers(Config::default(), program(&[Act::Step]), 0, 1), set(&["Some(Acquired) true"]));
    assert_eq!(answers(Config::default(), program(&[sleep(11)]), 0, 1), set(&["Some(TimedOut) true"]));
    assert_eq!(
        answers(anytime(), program(&[Act::Step]), 0, 1),
        set(&["Some(Acquired) true", "Some(TimedOut) true"])
    );
}

fn timed_waiter(span: u64) -> Script {
    Script::new().mutex().object(Resource::condition()).thread(&[LOCK, WaitFor(1, 0, span), UNLOCK])
}

#[test]
fn a_timed_wait_ends_by_signal_if_one_can_come() {
    let program = timed_waiter(10).thread(&[LOCK, SIGNAL, UNLOCK]);
    // Signalled, or timed out because the signal came before the wait.
    assert_eq!(
        answers(Config::default(), program.clone(), 0, 1),
        set(&["Some(Go) true", "Some(TimedOut) true"])
    );
    let mut program = program;
    every_schedule(Config::default(), &mut program, |program, engine| {
        let events = &engine.summary().trace.events;
        let at = |kind| events.iter().position(|event| event.operation.kind == kind);
        let in_time = at(Kind::ConditionWait) < at(Kind::Signal);
        assert_eq!(program.replies_of(0)[1] == Reply::Go, in_time, "{events:?}");
        assert_eq!(engine.now(), if in_time { 0 } else { 10 });
    });
}

#[test]
fn a_timed_wait_may_end_at_any_step_if_requested() {
    let mut program = timed_waiter(10).thread(&[SIGNAL]);
    let mut seen = BTreeSet::new();
    every_schedule(anytime(), &mut program, |program, engine| {
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed);
        let at = |kind| run.trace.events.iter().position(|event| event.operation.kind == kind);
        let between =
            at(Kind::ConditionWait) < at(Kind::Signal) && at(Kind::Signal) < at(Kind::ConditionReacquire);
        let expected = if between { Reply::Go } else { Reply::TimedOut };
        assert_eq!(program.replies_of(0)[1], expected);
        seen.insert(between);
    });
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_timed_wait_takes_the_mutex_back() {
    for order in [&[0, 0, 1][..], &[0, 0]] {
        let mut program = timed_waiter(10).thread(&[LOCK, sleep(50), UNLOCK]);
        let engine = once_under(Config::default(), &mut program, &mut Follow::new(order), 0);
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed);
        assert_eq!(program.replies_of(0)[1], Reply::TimedOut);
        let mut owner: Option<ThreadId> = None;
        for event in &run.trace.events {
            match event.operation.kind {
                Kind::Lock | Kind::ConditionReacquire => assert_eq!(owner.replace(event.thread), None),
                Kind::Unlock | Kind::ConditionWait => assert_eq!(owner.take(), Some(event.thread)),
                _ => {}
            }
        }
        assert_eq!(engine.now(), 50);
    }
}

#[test]
fn a_signal_is_not_lost_to_a_waiter_that_timed_out() {
    // Thread 1 waits without limit. The signal comes when thread 0 has timed out, before it has the mutex back.
    let mut program = timed_waiter(10).thread(&[LOCK, Act::Wait(1, 0), UNLOCK]).thread(&[sleep(10), SIGNAL]);
    every_schedule(Config::default(), &mut program, |program, engine| {
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed, "{:?}", run.trace.events);
        assert_eq!(program.replies_of(0)[1], Reply::TimedOut);
        assert_eq!(program.replies_of(1)[1], Reply::Go);
        assert!(run.trace.picks.is_empty(), "there is one waiter to choose from");
    });
    // With timeouts at any step, a waiter that has left is not woken either.
    let mut program = timed_waiter(10).thread(&[LOCK, Act::Wait(1, 0), UNLOCK]).thread(&[SIGNAL]);
    let mut strategy = Follow::new(&[0, 0, 1, 1, 0, 2]);
    let engine = once_under(anytime(), &mut program, &mut strategy, 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    assert!(engine.summary().trace.picks.is_empty());
}

#[test]
fn a_waiter_signalled_in_time_does_not_time_out_while_it_waits_for_the_mutex() {
    let mut program = timed_waiter(10).thread(&[LOCK, SIGNAL, sleep(50), UNLOCK]);
    once_under(Config::default(), &mut program, &mut Follow::new(&[0, 0, 1, 1]), 0);
    assert_eq!(program.replies_of(0)[1], Reply::Go);
}

#[test]
fn the_deadline_of_an_earlier_operation_is_cleared() {
    // The lock is acquired at once; the wait for the semaphore has no limit, so nothing may end it.
    let mut program = Script::new()
        .mutex()
        .object(Resource::semaphore(0))
        .thread(&[With(Kind::Lock, 0, 10), On(Kind::SemaphoreWait, 1)])
        .thread(&[sleep(100)]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    assert_eq!(engine.summary().verdict.failure().map(|failure| failure.kind()), Some("deadlock"));
    assert_eq!(engine.now(), 100);
}

fn exit_last() -> Config {
    let mut config = Config::default();
    config.exit_last = true;
    config
}

const EXIT: Act = Bare(Kind::Exit, Operation::UNTIMED);

#[test]
fn the_program_exit_can_wait_for_all_but_sleepers() {
    let program = Script::new().thread(&[EXIT]).thread(&[Act::Step; 2]).thread(&[sleep(5), Act::Step]);
    let anytime = BTreeSet::from([(vec![0], 0), (vec![1, 0], 0), (vec![1, 1, 0], 0)]);
    assert_eq!(orders(Config::default(), program.clone()), anytime);
    assert_eq!(orders(exit_last(), program), BTreeSet::from([(vec![1, 1, 0], 0)]));
}

#[test]
fn the_program_exit_does_not_wait_for_blocked_or_spinning_threads() {
    // One takes the lock and spins with it; the other waits for the lock.
    let spins: Vec<Act> = [LOCK].into_iter().chain([Bare(Kind::Yield, 0); 3_000]).collect();
    let mut program = Script::new().mutex().thread(&[EXIT]).thread(&spins).thread(&[LOCK]).looping(1);
    let engine = once_under(exit_last(), &mut program, &mut Follow::new(&[1]), 0);
    let summary = engine.summary();
    assert_eq!(*summary.verdict, Verdict::Passed);
    assert!((60..2_000).contains(&summary.trace.events.len()), "{} steps", summary.trace.events.len());
}

#[test]
#[cfg_attr(miri, ignore = "the end waits for ten thousand steps")]
fn the_program_exit_does_not_wait_forever() {
    let mut program = Script::new().object(Resource::Memory).thread(&[EXIT]).thread(&vec![Act::W(0); 30_000]);
    let engine = once_under(exit_last(), &mut program, &mut Follow::new(&[]), 0);
    let events = &engine.summary().trace.events;
    assert_eq!((events.len(), events.last().map(|event| event.thread.0)), (10_001, Some(0)));
}
