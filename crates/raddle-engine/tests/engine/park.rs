//! Tokens of threads.

use raddle_engine::{Config, Engine, Needs, Next, Reply, Resource, Timeouts};
use raddle_model::{Access, BlockReason, Failure, Kind, LocationId, Name, Operation, ThreadId, Verdict};
use raddle_testkit::Act::{On, With};
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};

const PARK: Act = On(Kind::Park, 0);
const UNPARK: Act = On(Kind::Unpark, 0);

fn verdicts(acts: &[&[Act]]) -> Vec<Verdict> {
    let mut program = Script::new().object(Resource::token());
    for thread in acts {
        program = program.thread(thread);
    }
    let mut verdicts = Vec::new();
    every_schedule(Config::default(), &mut program, |_, engine| {
        verdicts.push(engine.summary().verdict.clone());
    });
    verdicts
}

#[test]
fn a_token_is_kept_until_it_is_taken() {
    let verdicts = verdicts(&[&[PARK], &[UNPARK]]);
    assert_eq!(verdicts, [Verdict::Passed], "a park waits, so there is one schedule");
}

#[test]
fn there_is_at_most_one_token() {
    let verdicts = verdicts(&[&[PARK, PARK], &[UNPARK, UNPARK]]);
    let lost = verdicts.iter().filter(|verdict| **verdict != Verdict::Passed).count();
    assert_eq!((lost, verdicts.len()), (1, 2), "both parks need one of their own");
    let Some(Failure::Deadlock { blocked, cycle }) = verdicts.iter().find_map(Verdict::failure) else {
        panic!("{verdicts:?}");
    };
    assert_eq!((blocked[0].thread, blocked[0].reason), (ThreadId(0), BlockReason::Park));
    assert!(cycle.is_empty(), "no particular thread could help");
}

#[test]
fn a_park_may_time_out_and_leaves_the_token_alone() {
    let timed = With(Kind::Park, 0, 5);
    let mut program = Script::new().object(Resource::token()).thread(&[timed]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[]), 0);
    assert_eq!((engine.summary().verdict, engine.now()), (&Verdict::Passed, 5));

    let mut config = Config::default();
    config.timeouts = Timeouts::Anytime;
    let mut program = Script::new().object(Resource::token()).thread(&[timed, PARK]).thread(&[UNPARK]);
    let mut ends = [0, 0];
    every_schedule(config, &mut program, |_, engine| {
        ends[usize::from(*engine.summary().verdict == Verdict::Passed)] += 1;
    });
    assert_eq!(ends, [1, 1], "the token comes before the timed park, which takes it, or after it");
}

/// Runs a program whose main thread ends while another one, in the background or not, parks for
/// `nanoseconds`.
fn main_ends(background: bool, nanoseconds: u64) -> (Verdict, u64) {
    let mut engine = Engine::new(Config::default());
    engine.begin(Needs::default());
    let (main, other) = (engine.add_thread(), engine.add_thread());
    let token = engine.add_object(Name::PROGRAM.child(9), Resource::token());
    if background {
        engine.set_background(other);
    }
    assert_eq!((engine.is_background(main), engine.is_background(other)), (false, background));
    let park = Operation::new(Kind::Park, LocationId(0)).on(token, Access::Write).with_argument(nanoseconds);
    let mut parked = false;
    while let Next::Resume { thread, .. } = engine.next(&mut Follow::new(&[])) {
        if thread == main || parked {
            engine.finish(thread);
        } else {
            engine.announce(thread, park);
            parked = true;
        }
    }
    (engine.summary().verdict.clone(), engine.now())
}

#[test]
fn a_run_does_not_wait_for_the_background() {
    let forever = Operation::UNTIMED;
    assert_eq!(main_ends(true, forever), (Verdict::Passed, 0));
    assert_eq!(main_ends(true, 5), (Verdict::Passed, 0), "no time passes for it");
    assert_eq!(main_ends(false, 5), (Verdict::Passed, 5));
    assert!(matches!(main_ends(false, forever), (Verdict::Failed { failure: Failure::Deadlock { .. } }, 0)));
}

/// Runs one thread that parks for `nanoseconds`, with a front end that gives the token when no thread can
/// run, or does not.
fn idle(outside: bool, given: bool, nanoseconds: u64) -> (Vec<Next>, Verdict) {
    let mut engine = Engine::new(Config::default());
    engine.begin(Needs::default());
    engine.add_thread();
    let token = engine.add_object(Name::PROGRAM.child(9), Resource::token());
    let park = Operation::new(Kind::Park, LocationId(0)).on(token, Access::Write).with_argument(nanoseconds);
    engine.expect_outside(outside);
    let (mut seen, mut parked) = (Vec::new(), false);
    loop {
        let next = engine.next(&mut Follow::new(&[]));
        seen.push(next);
        match next {
            Next::Resume { thread, .. } if parked => engine.finish(thread),
            Next::Resume { thread, .. } => {
                engine.announce(thread, park);
                parked = true;
            }
            Next::Idle { .. } if given => engine.give_token(token),
            Next::Idle { .. } => {}
            Next::Done => return (seen, engine.summary().verdict.clone()),
        }
    }
}

#[test]
fn outside_events_are_polled_before_time_passes() {
    let thread = ThreadId(0);
    let begin = Next::Resume { thread, reply: Reply::Go };
    let idle_until = |until| Next::Idle { spinning: false, until };
    let end = |reply| Next::Resume { thread, reply };
    let came = idle(true, true, 7);
    assert_eq!(came, (vec![begin, idle_until(Some(7)), end(Reply::Acquired), Next::Done], Verdict::Passed));
    let late = idle(true, false, 7);
    assert_eq!(late, (vec![begin, idle_until(Some(7)), end(Reply::TimedOut), Next::Done], Verdict::Passed));
    let (seen, verdict) = idle(true, false, Operation::UNTIMED);
    assert_eq!(seen, [begin, idle_until(None), Next::Done], "it is said once");
    assert_eq!(verdict.failure().map(Failure::kind), Some("deadlock"));
    let (seen, _) = idle(false, true, Operation::UNTIMED);
    assert_eq!(seen, [begin, Next::Done], "nothing is expected");
}
