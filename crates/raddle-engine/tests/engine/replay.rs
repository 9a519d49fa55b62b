//! A recorded run repeats exactly, and a changed program is detected at the right step.

use raddle_engine::{Config, Engine, Replay, Reply, Resource, Rng, Timeouts, run};
use raddle_model::{Event, Kind, Name, Pick, ThreadId, Trace, Verdict};
use raddle_testkit::Act::{Bare, On, R, W, Wait};
use raddle_testkit::{Act, Follow, Script, Walk, affordable, is_thorough, mixed, once_under};

type Record = (Trace, Verdict, u64, u64, Vec<Name>, Vec<(ThreadId, Reply)>);

fn record(engine: &Engine, program: &Script) -> Record {
    let run = engine.summary();
    let names = (0..run.thread_count() as u32).map(|thread| run.thread_name(ThreadId(thread))).collect();
    (run.trace.clone(), run.verdict.clone(), run.fingerprint, run.rests, names, program.replies.clone())
}

#[test]
fn a_random_run_replays_a_hundred_times() {
    let (mut picks, mut failures) = (0, 0);
    for seed in 0..affordable(40) {
        let mut program = mixed(&mut Rng::for_run(seed, 0));
        for timeouts in [Timeouts::WhenIdle, Timeouts::Anytime] {
            let mut config = Config::default();
            config.timeouts = timeouts;
            let engine = once_under(config, &mut program, &mut Walk::default(), seed);
            let recorded = record(&engine, &program);
            picks += recorded.0.picks.len();
            failures += usize::from(recorded.1 != Verdict::Passed);
            let mut replay = Replay::new(&recorded.0);
            // One engine and one strategy for all: a run must leave nothing behind for the next.
            let mut engine = Engine::new(config);
            for _ in 0..affordable(100) {
                raddle_engine::Strategy::begin(&mut replay, Rng::for_run(99, 0));
                run(&mut engine, &mut program, &mut replay);
                assert_eq!(replay.divergence(), None);
                assert_eq!(record(&engine, &program), recorded);
            }
        }
    }
    assert!(!is_thorough() || picks > 20 && failures > 5, "{picks} picks, {failures} failures");
}

fn recorded(mut program: Script, mut strategy: Follow) -> Trace {
    once_under(Config::default(), &mut program, &mut strategy, 0).summary().trace.clone()
}

/// Returns the divergence of the replay of `trace` on `program`, and the verdict of the replay.
fn divergence(trace: &Trace, mut program: Script) -> (Option<(usize, String)>, Verdict) {
    let mut replay = Replay::new(trace);
    let engine = once_under(Config::default(), &mut program, &mut replay, 0);
    let found = replay.divergence().map(|divergence| (divergence.step, divergence.what));
    (found, engine.summary().verdict.clone())
}

fn assert_leaves(trace: &Trace, program: Script, step: usize, words: &str) {
    let (found, verdict) = divergence(trace, program);
    let (at, what) = found.unwrap_or_else(|| panic!("not noticed: {words}"));
    assert_eq!(at, step, "{what}");
    assert!(what.contains(words), "{what}");
    let ended = words.contains("ended");
    assert_eq!(verdict == Verdict::CutOff, !ended, "a run that has left the recorded one is cut off");
}

fn base() -> Script {
    Script::straight(2, &["W0 R1", "R0 W1 W1"])
}

#[test]
fn a_changed_operation_is_detected() {
    let trace = recorded(base(), Follow::new(&[0, 1, 0, 1, 1]));
    assert_eq!(divergence(&trace, base()).0, None);
    assert_leaves(&trace, Script::straight(2, &["W0 R1", "R0 R1 W1"]), 3, "`read` instead of `write`");
    assert_leaves(&trace, Script::straight(2, &["W0 R0", "R0 W1 W1"]), 2, "`read` on another object");
    let step = Script::straight(2, &["W0"]).thread(&[Act::Step, R(0), W(1), W(1)]);
    assert_leaves(&trace, step, 1, "instead of `read`");
}

#[test]
fn a_shorter_and_a_longer_program_are_detected() {
    let trace = recorded(base(), Follow::new(&[0, 1, 0, 1, 1]));
    assert_leaves(&trace, Script::straight(2, &["W0 R1", "R0 W1 W1 W1"]), 5, "the program continues");
    let short = Script::straight(2, &["W0 R1", "R0 W1"]);
    assert_leaves(&trace, short, 4, "the program ended, but the recorded run has 5 steps");
    assert_leaves(&trace, Script::straight(2, &["W0", "R0 W1 W1"]), 2, "thread 0 cannot run");
    assert_leaves(&trace, Script::straight(2, &["W0 R1"]), 1, "thread 1 cannot run");
}

#[test]
fn a_thread_that_is_not_enabled_is_detected() {
    let lock = |mutex| On(Kind::Lock, mutex);
    let program =
        |second| Script::new().mutex().mutex().thread(&[lock(0), Act::Step]).thread(&[lock(second)]);
    let trace = recorded(program(1), Follow::new(&[0, 1]));
    assert_leaves(&trace, program(0), 1, "thread 1 cannot run");
}

#[test]
fn a_choice_with_another_number_of_answers_is_detected() {
    let choose = |arity| Script::new().thread(&[Act::Step, Bare(Kind::Choose, arity), Act::Step]);
    let trace = recorded(choose(3), Follow::default().picking(&[2]));
    assert_eq!(trace.picks, [Pick { step: 1, arity: 3, value: 2 }]);
    assert_leaves(&trace, choose(4), 1, "`choose` on another object or with another argument");
    // The operations are equal and only the number of waiters differs.
    let mut three = recorded(waiters(), Follow::new(&[0, 0, 1, 1, 2, 2, 3]).picking(&[2]));
    assert_eq!(divergence(&three, waiters()).0, None);
    three.picks[0].arity = 4;
    assert_leaves(&three, waiters(), 6, "choice among 3");
    three.picks.clear();
    assert_leaves(&three, waiters(), 6, "choice among 3");
}

/// Creates three waiters, and a thread that signals and takes a step.
fn waiters() -> Script {
    let lock = On(Kind::Lock, 0);
    Script::new()
        .mutex()
        .object(Resource::condition())
        .thread(&[lock, Wait(1, 0)])
        .thread(&[lock, Wait(1, 0)])
        .thread(&[lock, Wait(1, 0)])
        .thread(&[On(Kind::Signal, 1), Act::Step])
}

#[test]
fn a_missing_choice_is_detected() {
    let choose = |arity: u64| {
        let acts = [Bare(Kind::Choose, arity), Bare(Kind::Choose, 2), Act::Step];
        Script::new().thread(&acts)
    };
    let trace = recorded(choose(2), Follow::default().picking(&[1, 0]));
    assert_eq!(trace.picks.len(), 2);
    // The events of a run with one pick, and the picks of one with two.
    let mut mixed_up = recorded(choose(1), Follow::default().picking(&[1]));
    mixed_up.picks = trace.picks.clone();
    assert_leaves(&mixed_up, choose(1), 0, "not requested");
    // The same, with the extra pick in the last step.
    let last = |arity| Script::new().thread(&[Act::Step, Bare(Kind::Choose, arity)]);
    let mut left_over = recorded(last(1), Follow::default());
    left_over.picks = vec![Pick { step: 1, arity: 2, value: 1 }];
    let (found, _) = divergence(&left_over, last(1));
    assert_eq!(found.map(|(step, _)| step), Some(1));
    // A pick with the right number of answers that belongs to another step.
    let mut moved = recorded(choose(2), Follow::default().picking(&[1, 0]));
    moved.picks.remove(0);
    assert_leaves(&moved, choose(2), 0, "choice among 2");
}

#[test]
fn the_first_difference_is_the_one_reported() {
    let program = |second| Script::new().thread(&[Bare(Kind::Choose, 2), second, Act::Step]);
    let mut trace = recorded(program(Act::Step), Follow::default());
    trace.picks.clear();
    assert_leaves(&trace, program(Bare(Kind::Yield, 0)), 0, "choice among 2");
}

#[test]
fn a_failed_run_replays_its_failure() {
    let event = |thread: u32, trace: &Trace| trace.events.iter().any(|e: &Event| e.thread.0 == thread);
    let lock = |mutex| On(Kind::Lock, mutex);
    let mut program = Script::new().mutex().mutex().thread(&[lock(0), lock(1)]).thread(&[lock(1), lock(0)]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(&[0, 1]), 0);
    let (trace, verdict) = (engine.summary().trace.clone(), engine.summary().verdict.clone());
    assert!(verdict.failure().is_some() && event(0, &trace) && event(1, &trace));
    assert_eq!(divergence(&trace, program), (None, verdict));
}
