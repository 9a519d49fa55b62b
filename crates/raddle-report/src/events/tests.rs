use super::*;
use raddle_model::{
    Blocked, Details, Environment, FrontEnd, LocationId, ObjectId, Settings, ThreadId, TraceStep, Values,
    Verdict,
};

/// Returns a run of `(thread, kind, objects)`; every step has the location with its thread's number.
pub(crate) fn run(threads: &[&str], steps: &[(u32, Kind, &[u32])]) -> TraceFile {
    let step = |&(thread, kind, objects): &(u32, Kind, &[u32])| {
        let mut operation = Operation::new(kind, LocationId(thread));
        for &object in objects {
            operation = operation.on(ObjectId(object), Access::Write);
        }
        TraceStep { thread, operation }
    };
    TraceFile {
        id: "0123abcd".into(),
        front_end: FrontEnd::Rust,
        program: "a_test".into(),
        arguments: Vec::new(),
        build: None,
        environment: Environment::default(),
        signature: None,
        parameters: Vec::new(),
        settings: Settings {
            step_limit: 99,
            timeouts_anytime: false,
            patience: 2,
            races: false,
            exit_last: false,
            step_limit_fails: false,
            memory: raddle_model::MemoryModel::Sc,
            network: raddle_model::Network::default(),
        },
        strategy: "pos".into(),
        seed: 1,
        run: 0,
        minimized: None,
        verdict: Verdict::Passed,
        fingerprint: 0,
        threads: threads.iter().map(|&name| name.to_owned()).collect(),
        objects: ["m", "n", "c", "s"].map(str::to_owned).to_vec(),
        locations: (0..threads.len()).map(|thread| format!("src/t.rs:{}:5", thread + 1)).collect(),
        steps: steps.iter().map(step).collect(),
        picks: Vec::new(),
        values: Values::default(),
        details: Details::default(),
    }
}

fn edges(timeline: &Timeline) -> Vec<(u32, u32, &'static str)> {
    timeline.edges.iter().map(|edge| (edge.from, edge.to, edge.kind.name())).collect()
}

fn spans(spans: &[Span]) -> Vec<(u32, u32, u32, Option<u32>)> {
    spans.iter().map(|span| (span.thread, span.from, span.to, span.object)).collect()
}

#[test]
fn locks_are_held_and_waited_for_and_handed_over() {
    let file = run(
        &["A", "B"],
        &[
            (0, Kind::Lock, &[0]),
            (0, Kind::Lock, &[0]), // Once more: the first unlock releases nothing.
            (1, Kind::Read, &[3]),
            (1, Kind::TryLock, &[0]), // A failed attempt.
            (0, Kind::Unlock, &[0]),
            (0, Kind::Unlock, &[0]),
            (1, Kind::Lock, &[0]),
        ],
    );
    let timeline = Timeline::of(&file);
    assert_eq!(spans(&timeline.holds), [(0, 0, 5, Some(0)), (1, 6, 7, Some(0))]);
    assert_eq!(spans(&timeline.waits), [(1, 3, 5, Some(0))]);
    assert_eq!(edges(&timeline), [(5, 6, "unlock")]);
    let held: Vec<usize> = timeline.held().iter().map(Vec::len).collect();
    assert_eq!(held, [1, 1, 0, 0, 1, 0, 1]);
    let switches: Vec<bool> = timeline.events.iter().map(|event| event.is_switch).collect();
    assert_eq!(switches, [false, false, true, false, true, false, true]);
}

#[test]
fn a_signal_wakes_the_waiter_it_names() {
    let mut file = run(
        &["A", "B", "C"],
        &[
            (0, Kind::Lock, &[0]),
            (0, Kind::ConditionWait, &[2, 0]),
            (1, Kind::Lock, &[0]),
            (1, Kind::ConditionWait, &[2, 0]),
            (2, Kind::Lock, &[0]),
            (2, Kind::Signal, &[2]),
            (2, Kind::Unlock, &[0]),
            (1, Kind::ConditionReacquire, &[0]),
        ],
    );
    file.picks = vec![(5, 2, 1)];
    let timeline = Timeline::of(&file);
    assert!(edges(&timeline).contains(&(5, 7, "signal")), "{:?}", edges(&timeline));
    assert!(edges(&timeline).contains(&(1, 2, "unlock")), "a wait gives the mutex back");
    assert!(edges(&timeline).contains(&(6, 7, "unlock")));
    // A waits to the end; B until the signal, and then for the mutex.
    let expected =
        [(1, 0, 1, Some(0)), (2, 0, 3, Some(0)), (0, 1, 8, Some(2)), (1, 3, 5, Some(2)), (1, 5, 6, Some(0))];
    assert_eq!(spans(&timeline.waits), expected);
    assert_eq!(timeline.statement(&timeline.events[5]), "notify one c -> waiter 2 of 2");
}

#[test]
fn threads_begin_after_their_spawn_and_end_before_their_join() {
    let file = run(
        &["main", "B", "C"],
        &[
            (0, Kind::Spawn, &[]),
            (0, Kind::Spawn, &[]),
            (2, Kind::Read, &[1]),
            (1, Kind::Read, &[1]),
            (1, Kind::SemaphorePost, &[3]),
            (0, Kind::SemaphoreWait, &[3]),
            (0, Kind::Join, &[0]),
            (0, Kind::Join, &[1]),
        ],
    );
    let named = TraceFile { objects: vec!["thread C".into(), "B".into(), "c".into(), "s".into()], ..file };
    let timeline = Timeline::of(&named);
    assert_eq!(
        edges(&timeline),
        [(1, 2, "spawn"), (0, 3, "spawn"), (4, 5, "post"), (2, 6, "join"), (4, 7, "join")]
    );
    assert_eq!(timeline.statement(&timeline.events[6]), "join C");
    // Without a name it is the only one that has ended and was not joined.
    let nameless = TraceFile { objects: vec!["C".into(), "#1, a thread".into()], ..named };
    assert_eq!(edges(&Timeline::of(&nameless)).last(), Some(&(4, 7, "join")));
}

#[test]
fn what_a_deadlock_waits_for_is_shown_after_the_run() {
    let mut file = run(&["A", "B"], &[(0, Kind::Lock, &[0]), (1, Kind::Lock, &[1])]);
    let blocked = |thread, object, holder| Blocked {
        thread: ThreadId(thread),
        reason: BlockReason::Mutex,
        object: Some(ObjectId(object)),
        location: LocationId(object),
        held_by: vec![ThreadId(holder)],
    };
    let failure = Failure::Deadlock {
        blocked: vec![blocked(0, 1, 1), blocked(1, 0, 0)],
        cycle: vec![ThreadId(0), ThreadId(1)],
    };
    file.verdict = Verdict::Failed { failure };
    let timeline = Timeline::of(&file);
    assert_eq!((timeline.executed, timeline.events.len()), (2, 4));
    assert_eq!(timeline.statement(&timeline.events[2]), "lock n");
    file.objects[1] = "#1 made at src/t.rs:9:1".to_owned();
    let made = Timeline::of(&file);
    assert_eq!(made.statement(&made.events[2]), "lock #1");
    assert!(!timeline.events[2].executed);
    assert_eq!(spans(&timeline.waits), [(0, 1, 4, Some(1)), (1, 1, 4, Some(0))]);
}

#[test]
fn messages_of_erlang_processes_arrive_where_their_owner_looks() {
    let mut file = run(
        &["test", "timer 1", "<0.102.0>"],
        &[
            (0, Kind::Spawn, &[1]),
            (2, Kind::Send, &[0]),
            (1, Kind::Send, &[0]),
            (0, Kind::Receive, &[0]), // Both are there.
            (2, Kind::Send, &[0]),
            (0, Kind::Write, &[3]), // The third was taken before, without a step.
            (0, Kind::Send, &[0]),  // To itself.
            (0, Kind::Write, &[3, 1]),
        ],
    );
    file.front_end = FrontEnd::Beam;
    file.parameters = [0, 1, 1].map(|steps| ("made".to_owned(), steps)).into();
    let timeline = Timeline::of(&file);
    assert_eq!(edges(&timeline), [(0, 1, "spawn"), (1, 3, "send"), (2, 3, "send"), (4, 5, "send")]);
    // A process that was created by another step than a spawn, and a step that the run does not have.
    file.parameters[2].1 = 2;
    assert_eq!(edges(&Timeline::of(&file))[0], (1, 3, "send"));
    file.parameters = vec![("made".to_owned(), 1 << 40); 3];
    assert_eq!(edges(&Timeline::of(&file))[0], (1, 3, "send"));
    assert_eq!(timeline.statement(&timeline.events[0]), "spawn");
    assert_eq!(timeline.statement(&timeline.events[7]), "write s");
}
