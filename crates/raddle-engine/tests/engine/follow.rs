//! Schedules, and runs of programs that have changed, are followed as far as possible.

use raddle_engine::{Config, Follow, Resemble};
use raddle_model::{Completion, Constraint, Kind, Schedule, Segment, ThreadId, Trace, Verdict};
use raddle_testkit::Act::{Bare, On};
use raddle_testkit::{Act, Script, affordable, is_thorough, once_under};

/// Returns the threads of a run that follows these segments.
fn follow(mut program: Script, segments: &[(u32, u32)]) -> Vec<u32> {
    let segments = segments.iter().map(|&(thread, until)| Segment { thread: ThreadId(thread), until });
    let schedule = Schedule { segments: segments.collect(), ..Schedule::default() };
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(schedule), 0);
    threads(engine.summary().trace)
}

fn threads(trace: &Trace) -> Vec<u32> {
    trace.events.iter().map(|event| event.thread.0).collect()
}

fn program() -> Script {
    Script::straight(2, &["W0 R1 W0", "R0 W1 W1"])
}

#[test]
fn segments_count_from_the_beginning() {
    assert_eq!(follow(program(), &[(1, 1), (0, 2), (1, 2)]), [1, 0, 0, 1, 1, 0]);
    // Without a segment, the next one of that thread executes its steps.
    assert_eq!(follow(program(), &[(0, 2), (1, 2)]), [0, 0, 1, 1, 1, 0]);
    assert_eq!(follow(program(), &[(1, Segment::ALL)]), [1, 1, 1, 0, 0, 0]);
}

#[test]
fn impossible_segments_are_skipped() {
    // A thread that does not exist, one that has already got that far, one that waits.
    assert_eq!(follow(program(), &[(7, 3), (1, 1), (1, 1), (0, 1)]), [1, 0, 0, 0, 1, 1]);
    let lock = On(Kind::Lock, 0);
    let unlock = On(Kind::Unlock, 0);
    let locks = Script::new().mutex().thread(&[lock, Act::Step, unlock]).thread(&[lock, unlock]);
    assert_eq!(follow(locks, &[(0, 1), (1, 1), (0, 2)]), [0, 0, 0, 1, 1]);
}

#[test]
fn answers_belong_to_threads() {
    let choose = [Bare(Kind::Choose, 3), Bare(Kind::Choose, 3)];
    let mut program = Script::new().thread(&choose).thread(&choose);
    let schedule = Schedule {
        segments: vec![Segment { thread: ThreadId(1), until: 2 }],
        answers: vec![vec![(3, 1)], vec![(3, 2), (9, 8)]],
        ..Schedule::default()
    };
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(schedule), 0);
    let values: Vec<u32> = engine.summary().trace.picks.iter().map(|pick| pick.value).collect();
    // A recorded answer that is out of range becomes the greatest answer; without a recorded answer it is 0.
    assert_eq!(values, [2, 2, 1, 0]);
}

/// Returns the run of `now` that resembles one of `then` under `schedule`, by threads and kinds.
fn resemble(mut then: Script, segments: &[(u32, u32)], mut now: Script) -> Vec<(u32, Kind)> {
    let segments = segments.iter().map(|&(thread, until)| Segment { thread: ThreadId(thread), until });
    let schedule = Schedule { segments: segments.collect(), ..Schedule::default() };
    let engine = once_under(Config::default(), &mut then, &mut Follow::new(schedule), 0);
    let trace = engine.summary().trace.clone();
    let mut resemble = Resemble::new(trace.events, trace.picks);
    let engine = once_under(Config::default(), &mut now, &mut resemble, 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    engine.summary().trace.events.iter().map(|event| (event.thread.0, event.operation.kind)).collect()
}

#[test]
fn an_unchanged_program_repeats() {
    let run = resemble(program(), &[(1, 1), (0, 2), (1, 2), (0, 3)], program());
    assert_eq!(run.iter().map(|step| step.0).collect::<Vec<_>>(), [1, 0, 0, 1, 0, 1]);
}

#[test]
fn new_steps_are_taken_at_once() {
    use Kind::{Read, Write, Yield};
    let now = Script::straight(2, &[]).thread(&[Act::W(0), Bare(Yield, 0), Act::R(1), Act::W(0)]);
    let now = now.thread(&[Act::R(0), Act::W(1), Act::W(1)]);
    let run = resemble(program(), &[(1, 1), (0, 1), (1, 2), (0, 2), (1, 3)], now);
    let expected = [(1, Read), (0, Write), (1, Write), (0, Yield), (0, Read), (1, Write), (0, Write)];
    assert_eq!(run, expected);
}

#[test]
fn missing_steps_are_skipped() {
    use Kind::{Read, Write};
    // The read of the first thread is gone: its last write stays where it was, after all writes of the other.
    let now = Script::straight(2, &["W0 W0", "R0 W1 W1"]);
    let run = resemble(program(), &[(0, 1), (1, 1), (0, 2), (1, 3), (0, 3)], now);
    assert_eq!(run, [(0, Write), (1, Read), (1, Write), (1, Write), (0, Write)]);
}

#[test]
fn constraints_hold_in_random_schedules() {
    let segment = |thread, until| Segment { thread: ThreadId(thread), until };
    // The second step of thread 0 comes after the third of thread 1.
    let constraint = Constraint { before: segment(1, 3), after: segment(0, 2) };
    let mut early = 0;
    for seed in 0..affordable(50) {
        let completion = Completion::Random(seed);
        let schedule = Schedule { constraints: vec![constraint], completion, ..Schedule::default() };
        let run = |schedule: &Schedule| {
            let mut follow = Follow::new(schedule.clone());
            let engine = once_under(Config::default(), &mut program(), &mut follow, 0);
            threads(engine.summary().trace)
        };
        let kept = run(&schedule);
        let at = |thread, number: usize| {
            kept.iter().enumerate().filter(|(_, step)| **step == thread).nth(number).map(|(at, _)| at)
        };
        assert!(at(1, 2) < at(0, 1), "{kept:?}");
        assert_eq!(run(&schedule), kept, "the seed tells all");
        let free = run(&Schedule { constraints: Vec::new(), ..schedule });
        early += usize::from(free != kept);
    }
    assert!(!is_thorough() || early > 10, "the constraint makes a difference");
}

#[test]
fn a_constraint_that_cannot_be_kept_blocks_no_thread_forever() {
    let segment = |thread, until| Segment { thread: ThreadId(thread), until };
    let constraint = Constraint { before: segment(1, 9), after: segment(0, 1) };
    let completion = Completion::Random(1);
    let schedule = Schedule { constraints: vec![constraint], completion, ..Schedule::default() };
    let engine = once_under(Config::default(), &mut program(), &mut Follow::new(schedule), 0);
    assert_eq!(threads(engine.summary().trace), [1, 1, 1, 0, 0, 0]);
}
