//! Spawning, joining and ending.

use raddle_engine::{Config, Reply, Resource};
use raddle_model::{BlockReason, Failure, Kind, Name, ThreadId, Verdict};
use raddle_testkit::Act::{Bare, Join, Spawn, W};
use raddle_testkit::{Act, Follow, Script, every_schedule, is_thorough, once_under};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_join_waits_for_the_last_step() {
    let mut program = Script::new().object(Resource::Memory).thread(&[Spawn(1), Join(1), W(0)]).spawned(&[
        W(0),
        Act::Step,
        W(0),
    ]);
    let runs = every_schedule(Config::default(), &mut program, |program, engine| {
        let run = engine.summary();
        let order: Vec<u32> = run.trace.events.iter().map(|event| event.thread.0).collect();
        assert_eq!(order, [0, 1, 1, 1, 0, 0]);
        assert_eq!(
            program.replies_of(0),
            [Reply::Spawned(ThreadId(1)), Reply::Acquired, Reply::Go],
            "a join answers as if it had acquired the thread"
        );
        assert_eq!(run.trace.parents, [None, Some(ThreadId(0))]);
    });
    assert_eq!(runs, 1);
}

#[test]
fn a_join_of_an_ended_thread_does_not_wait() {
    let mut program = Script::new().thread(&[Spawn(1), Act::Step, Join(1), Join(1)]).spawned(&[]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    assert_eq!(program.replies_of(0).len(), 4);
}

#[test]
fn names_are_equal_in_all_schedules_though_ids_differ() {
    // The locations of the children identify them.
    let mut program = Script::new()
        .thread(&[Spawn(2), Spawn(3)])
        .thread(&[Spawn(4)])
        .spawned(&[Act::Step])
        .spawned(&[Act::Step, Act::Step])
        .spawned(&[Act::Step, Act::Step, Act::Step]);
    let mut names: BTreeMap<usize, BTreeSet<Name>> = BTreeMap::new();
    let mut ids: BTreeMap<usize, BTreeSet<ThreadId>> = BTreeMap::new();
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        let spawned = (2..run.thread_count() as u32).map(ThreadId);
        for thread in [ThreadId(0), ThreadId(1)].into_iter().chain(spawned) {
            let steps = run.trace.events.iter().filter(|event| event.thread == thread).count();
            let who = if thread.0 < 2 { 10 + thread.index() } else { steps };
            names.entry(who).or_default().insert(run.thread_name(thread));
            ids.entry(who).or_default().insert(thread);
        }
    });
    assert_eq!(names.len(), 5);
    assert!(names.values().all(|set| set.len() == 1), "{names:?}");
    let different: BTreeSet<&Name> = names.values().flatten().collect();
    assert_eq!(different.len(), 5, "and no two threads share one");
    assert!(!is_thorough() || ids[&1].len() > 1 && ids[&3].len() > 1, "{ids:?}");
}

#[test]
fn an_exit_ends_the_run_with_other_threads_alive() {
    let mut program = Script::new()
        .object(Resource::Memory)
        .thread(&[W(0), Bare(Kind::Exit, 0), W(0)])
        .thread(&[W(0), W(0), W(0)]);
    let mut lengths = BTreeSet::new();
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed);
        let last = run.trace.events.last().expect("the run has events");
        assert_eq!((last.thread, last.operation.kind), (ThreadId(0), Kind::Exit));
        let others = run.trace.events.len() - 2;
        let next = run.trace.pending[1].map(|operation| operation.location.index());
        assert_eq!(next, (others < 3).then_some(others), "what it was about to do is known");
        lengths.insert(others);
    });
    assert_eq!(lengths, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn an_exit_passes_even_while_others_wait_forever() {
    let mut program = Script::new()
        .object(Resource::semaphore(0))
        .thread(&[Act::Step, Bare(Kind::Exit, 0)])
        .thread(&[Act::On(Kind::SemaphoreWait, 0)]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
}

#[test]
fn a_thread_that_joins_itself_waits_forever() {
    let mut program = Script::new().thread(&[Join(0)]);
    let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
    let Some(Failure::Deadlock { blocked, cycle }) = engine.summary().verdict.failure() else {
        panic!("{:?}", engine.summary().verdict)
    };
    assert_eq!((blocked[0].reason, cycle.as_slice()), (BlockReason::Join, &[ThreadId(0)][..]));
}

#[test]
fn a_program_without_threads_passes() {
    let engine = once_under(Config::default(), &mut Script::new(), &mut Follow::default(), 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
    let engine = once_under(Config::default(), &mut Script::new().thread(&[]), &mut Follow::default(), 0);
    assert_eq!(*engine.summary().verdict, Verdict::Passed);
}
