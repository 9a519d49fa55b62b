use super::*;
use crate::events::tests;
use crate::failure_report::FailureReport;
use crate::format::text;
use raddle_model::{
    Access, BlockReason, Blocked, Cell, Failure, Format, FrontEnd, Kind, LocationId, MemoryOrder, Minimized,
    ObjectId, Operation, Panicked, RacingAccess, Reason, ThreadId, TraceStep, Value, Verdict,
};

fn shown(file: &TraceFile) -> String {
    run(file, RunContext::default(), Terminal::default())
}

fn failed(file: TraceFile, failure: Failure) -> TraceFile {
    TraceFile { verdict: Verdict::Failed { failure }, ..file }
}

fn assertion(message: &str) -> Failure {
    Failure::Assertion { thread: ThreadId(0), location: LocationId(0), message: message.into() }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Returns two threads, each of which holds what the other one waits for.
fn deadlock(front_end: FrontEnd) -> TraceFile {
    let file = tests::run(&["A", "B"], &[(0, Kind::Lock, &[0]), (1, Kind::Lock, &[1])]);
    let blocked = |thread, object, holder| Blocked {
        thread: ThreadId(thread),
        reason: BlockReason::Mutex,
        object: Some(ObjectId(object)),
        location: LocationId(2 + thread),
        held_by: vec![ThreadId(holder)],
    };
    let blocked = vec![blocked(0, 1, 1), blocked(1, 0, 0)];
    let cycle = vec![ThreadId(0), ThreadId(1)];
    let file = failed(file, Failure::Deadlock { blocked, cycle });
    TraceFile { front_end, ..file }
}

/// Returns a run of each front end.
fn runs() -> Vec<(TraceFile, Vec<String>)> {
    let lab = TraceFile {
        locations: names(&["line 3: lock m", "line 7: lock n", "line 4: lock n", "line 8: lock m"]),
        ..deadlock(FrontEnd::Lab)
    };
    let native = TraceFile {
        locations: names(&[
            "take at lock.h:3, inlined into forth at a.c:12",
            "back at a.c:22",
            "forth at a.c:13",
            "back at a.c:23",
        ]),
        ..deadlock(FrontEnd::Native)
    };
    let rust = TraceFile {
        locations: names(&["src/lib.rs:3:9", "src/lib.rs:7:9", "src/lib.rs:4:9", "src/lib.rs:8:9"]),
        objects: names(&["#0 made at src/lib.rs:1:9", "#1 made at src/lib.rs:2:9"]),
        ..deadlock(FrontEnd::Rust)
    };
    let beam = tests::run(
        &["test", "<0.9.0>"],
        &[(0, Kind::Spawn, &[1]), (1, Kind::Write, &[0, 1]), (1, Kind::Send, &[2]), (0, Kind::Receive, &[2])],
    );
    let beam = TraceFile {
        front_end: FrontEnd::Beam,
        locations: names(&["receive {ok, X} at race.erl:14", "ets.erl:30"]),
        objects: names(&["count", "life of test", "mailbox of test"]),
        ..failed(beam, assertion("error: badmatch"))
    };
    let callers = names(&["", "race.erl:9"]);
    vec![(lab, Vec::new()), (native, Vec::new()), (rust, Vec::new()), (beam, callers)]
}

#[test]
fn a_statement_is_shown_behind_its_line() {
    let expected = "\
deadlock: 2 threads wait and none can go on

  A --n--> B --m--> A

  A waits at line 4 for mutex n, which B took at line 7
  B waits at line 8 for mutex m, which A took at line 3

     A                      B
  1  lock m         line 3
  2                         lock n         line 7
     waits: lock n  line 4
                            waits: lock m  line 8
";
    assert_eq!(shown(&runs()[0].0), expected);
}

#[test]
fn other_steps_are_shown_with_objects_and_lines() {
    let expected = "\
deadlock: 2 threads wait and none can go on

  A --n--> B --m--> A

  A waits at a.c:13 for mutex n, which B took at a.c:22
  B waits at a.c:23 for mutex m, which A took at lock.h:3

     A                        B
  1  lock m         lock.h:3
  2                           lock n         a.c:22
     waits: lock n  a.c:13
                              waits: lock m  a.c:23
";
    let native = &runs()[1].0;
    assert_eq!(shown(native), expected);
    let full = run(native, RunContext::default(), Terminal { full: true, ..Terminal::of_width(120) });
    assert!(full.contains("   1  lock m at lock.h:3 < a.c:12 [m]\n"), "{full}");
    let rust = shown(&runs()[2].0);
    let parts = [
        "  1  lock #0         src/lib.rs:3:9\n",
        ", which A took at src/lib.rs:3:9\n",
        "`#0`: allocated at src/lib.rs:1:9\n",
    ];
    assert!(parts.iter().all(|part| rust.contains(part)), "{rust}");
}

#[test]
fn steps_of_a_library_are_shown_with_their_caller() {
    let (file, callers) = &runs()[3];
    let mut file = file.clone();
    file.details.set_callers(callers);
    let expected = "\
assertion: error: badmatch at race.erl:14, process test

  1  test     spawn                    race.erl:14
  2  <0.9.0>  write count              race.erl:9
  3  <0.9.0>  send mailbox of test     ets.erl:30
  4  test     receive mailbox of test  race.erl:14

It printed:
  one
  two
";
    let context = RunContext { output: "one\ntwo\n" };
    assert_eq!(run(&file, context, Terminal::of_width(60)), expected);
    let all = run(&file, context, Terminal { all_frames: true, ..Terminal::of_width(60) });
    assert_eq!(all, expected.replace("race.erl:9", "race.erl:9 (ets.erl:30)"));
}

/// Returns the lines of a table of steps.
fn rows(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.starts_with("step")).take_while(|line| !line.is_empty()).collect()
}

#[test]
fn a_report_is_the_same_from_a_run_and_from_a_file() {
    for (mut file, callers) in runs() {
        file.details.set_callers(&callers);
        for width in [30, 70, 200] {
            let terminal = Terminal { width, ..Terminal::default() };
            let report = FailureReport::of(&file);
            assert_eq!(text(&report, terminal), run(&file, RunContext::default(), terminal));
            assert_eq!(report.failing.message, verdict(&file));
        }
    }
}

#[test]
fn the_reason_comes_first_and_hides_what_does_not_matter() {
    let steps: &[(u32, Kind, &[u32])] = &[
        (0, Kind::Spawn, &[]),
        (1, Kind::Read, &[0]),
        (2, Kind::Read, &[0]),
        (2, Kind::Write, &[0]),
        (1, Kind::Read, &[1]),
        (1, Kind::Write, &[0]),
        (0, Kind::Read, &[0]),
    ];
    let mut file = failed(tests::run(&["A", "B", "C"], steps), assertion("assertion `m == 2` failed"));
    file.details.starts = names(&["", "add", "add"]);
    file.details.reason = Some(Reason {
        why: names(&["B read 0 before C wrote 1.", "If C's write comes first, the run passes."]),
        kind: Some("atomicity violation".into()),
        depth: Some(2),
        swapped: vec![(1, 3)],
        sufficient: vec![(1, 3), (3, 5), (90, 91)],
    });
    let expected = "\
assertion `m == 2` failed at src/t.rs:1:5, thread A

Why: B read 0 before C wrote 1.
     If C's write comes first, the run passes.    atomicity violation, depth 2

     B add                  C add
  2* read m   src/t.rs:2:5
  3                         read m   src/t.rs:3:5
  4*                        write m  src/t.rs:3:5
  6+ write m  src/t.rs:2:5

3 steps that do not matter are hidden (--full).
";
    assert_eq!(shown(&file), expected);
}

#[test]
fn library_frames_and_addresses_are_shown_only_on_demand() {
    let mut file = tests::run(&["A"], &[(0, Kind::Write, &[0]), (0, Kind::Read, &[0])]);
    file.objects[0] = "0x7fffb0000be0".into();
    file.locations[0] = "store at <std>/atomic.rs:3, called by add at lib.rs:7".into();
    file.locations.push("poll at <tokio-1.0>/x.rs:3".into());
    file.steps[1].operation.location = LocationId(file.locations.len() as u32 - 1);
    let file = failed(file, assertion("no"));
    let reported = |full, all_frames| {
        run(&file, RunContext::default(), Terminal { full, all_frames, ..Terminal::default() })
    };
    assert!(
        reported(false, false).contains("  1  write memory #0  lib.rs:7\n\n1 step is hidden"),
        "{}",
        reported(false, false)
    );
    assert!(reported(false, true).contains("  <std>/atomic.rs:3 < lib.rs:7\n"), "{}", reported(false, true));
    let full = reported(true, false);
    assert!(full.contains("   1  write 0x7fffb0000be0 at lib.rs:7 in store\n"), "{full}");
    assert!(full.contains("   2  read 0x7fffb0000be0 at <tokio-1.0>/x.rs:3\n"), "{full}");
}

#[test]
fn a_guard_ends_at_the_location_where_it_began() {
    let mut file = tests::run(&["A"], &[(0, Kind::Lock, &[0]), (0, Kind::Unlock, &[0])]);
    let reported = steps(&file, Terminal::default());
    assert!(reported.ends_with("   2  unlock m, locked at src/t.rs:1:5\n"), "{reported}");
    file.locations.push("src/t.rs:9:5".into());
    file.steps[1].operation.location = LocationId(1);
    let reported = steps(&file, Terminal::default());
    assert!(reported.ends_with("   2  unlock m at src/t.rs:9:5\n"), "{reported}");
}

#[test]
fn values_are_shown_in_place_of_objects() {
    let mut file = tests::run(&["A"], &[(0, Kind::Read, &[0]), (0, Kind::Write, &[0])]);
    let object = ObjectId(0);
    let cell = Cell { object, name: "x".into(), width: 4, format: Format::Signed, names: Vec::new() };
    file.values.cells = vec![cell];
    file.values.list = vec![
        Value { step: 0, cell: 0, read: Some(1), written: None },
        Value { step: 1, cell: 0, read: None, written: Some(2) },
    ];
    let reported = steps(&file, Terminal::default());
    assert_eq!(
        rows(&reported)[1..],
        ["   1  read x = 1 at src/t.rs:1:5", "   2  write x = 2 at src/t.rs:1:5"]
    );
}

#[test]
fn the_steps_of_a_harness_are_left_out() {
    let mut file = tests::run(
        &["harness", "test"],
        &[(0, Kind::Spawn, &[]), (1, Kind::Read, &[0]), (0, Kind::Join, &[1]), (1, Kind::Read, &[0])],
    );
    file.environment.test = Some("a_test".into());
    let reported = steps(&file, Terminal::default());
    assert_eq!(
        reported, "step  test\n   2  read m at src/t.rs:2:5\n   4  read m at src/t.rs:2:5\n",
        "nothing is said to be left out"
    );
}

#[test]
fn of_a_long_run_the_steps_around_switches_are_shown() {
    let mut file = tests::run(&["A", "B"], &[]);
    let step = |step: u32| {
        let thread = u32::from(step >= 70);
        let operation = Operation::new(Kind::Read, LocationId(thread)).on(ObjectId(0), Access::Read);
        TraceStep { thread, operation }
    };
    file.steps = (0..120).map(step).collect();
    let numbers = |file: &TraceFile, terminal| -> Vec<String> {
        let reported = steps(file, terminal);
        rows(&reported)[1..]
            .iter()
            .map(|row| row.trim().split("  ").next().unwrap_or("").to_owned())
            .collect()
    };
    let many = Terminal { most: 120, ..Terminal::default() };
    assert_eq!(numbers(&file, many).len(), 120, "all steps if they are few enough");
    let full = Terminal { full: true, ..Terminal::default() };
    assert_eq!(numbers(&file, full).len(), 120, "all steps if they are wanted");
    let terminal = Terminal { most: 10, around: 1, ..Terminal::default() };
    assert_eq!(numbers(&file, terminal), ["1", "... 68 steps", "70", "71", "... 47 steps", "119", "120"]);
    let terminal = Terminal { most: 2, around: 1, ..Terminal::default() };
    assert_eq!(numbers(&file, terminal), ["1", "... 118 steps", "120"]);
}

#[test]
fn a_run_that_became_smaller_says_so() {
    let mut file = tests::run(&["A", "B"], &[(0, Kind::Read, &[0]), (1, Kind::Read, &[0])]);
    assert_eq!(reduction(&file), None);
    file.minimized = Some(Minimized { switches_before: 1_234, steps_before: 9, executions: 1 });
    let smaller = "Made smaller by 1 run: switches between threads 1,234 -> 1, steps 9 -> 2.";
    assert_eq!(reduction(&file).as_deref(), Some(smaller));
    file.minimized = Some(Minimized { switches_before: 1, steps_before: 2, executions: 30 });
    file.front_end = FrontEnd::Beam;
    let same = "It has 1 switch between processes; 30 runs found no smaller one.";
    assert_eq!(reduction(&file).as_deref(), Some(same));
}

#[test]
fn an_operation_is_told_without_a_run() {
    let (file, _) = &runs()[2];
    let operation = Operation::new(Kind::Lock, LocationId(1)).on(ObjectId(1), Access::Write);
    assert_eq!(statement(file, &operation), "lock #1 at src/lib.rs:7:9");
}

#[test]
fn the_last_change_of_a_futex_is_told() {
    let file = tests::run(&["A", "B"], &[(1, Kind::ReadModifyWrite, &[0]), (0, Kind::Read, &[0])]);
    let blocked = Blocked {
        thread: ThreadId(0),
        reason: BlockReason::Park,
        object: None,
        location: LocationId(0),
        held_by: Vec::new(),
    };
    let mut file = failed(file, Failure::Deadlock { blocked: vec![blocked], cycle: Vec::new() });
    file.steps[0].operation = file.steps[0].operation.ordered(MemoryOrder::Acquire);
    let changed = "  what A waits on was last changed by B; src/t.rs:2:5";
    assert_eq!(verdict(&file).last().map(String::as_str), Some(changed));
    // A thread that parks itself has not read a word for that.
    file.steps[1].operation.location = LocationId(1);
    assert!(verdict(&file).iter().all(|line| !line.contains("last changed")), "{:?}", verdict(&file));
}

#[test]
fn further_lines_of_a_message_stand_below_the_first() {
    let file = tests::run(&["A"], &[]);
    let message = "assertion `left == right` failed\n  left: 1\n right: 2";
    let expected = |first: &str| {
        [
            &format!("{first}: assertion `left == right` failed; thread A, src/t.rs:1:5")[..],
            "    left: 1",
            "   right: 2",
        ]
        .map(str::to_owned)
    };
    assert_eq!(verdict(&failed(file.clone(), assertion(message))), expected("assertion"));
    let last = Panicked { thread: "A".into(), place: "src/t.rs:1:5".into(), message: message.into() };
    assert_eq!(verdict(&failed(file, Failure::Panic { last, before: Vec::new() })), expected("panic"));
}

#[test]
fn a_data_race_shows_both_accesses_and_what_is_missing() {
    let mut file = tests::run(&["A", "B"], &[]);
    let mut step = |thread, object, access, order| {
        let kind = if access == Access::Read { Kind::Read } else { Kind::Write };
        let operation = Operation::new(kind, LocationId(thread)).on(ObjectId(object), access);
        file.steps.push(TraceStep { thread, operation: operation.ordered(order) });
    };
    step(0, 0, Access::Write, MemoryOrder::Plain);
    step(0, 1, Access::Write, MemoryOrder::Release);
    step(1, 1, Access::Read, MemoryOrder::Relaxed);
    step(1, 0, Access::Read, MemoryOrder::Plain);
    let racing = |thread, step, access| RacingAccess {
        thread: ThreadId(thread),
        step,
        location: LocationId(thread),
        access,
        order: MemoryOrder::Plain,
    };
    let (first, second) = (racing(0, 0, Access::Write), racing(1, 3, Access::Read));
    let mut file = failed(file, Failure::DataRace { object: ObjectId(0), first, second });
    let mut expected = names(&[
        "data race on m: neither of two accesses happens before the other",
        "  step 1: A writes it; src/t.rs:1:5",
        "  step 4: B reads it; src/t.rs:2:5",
        "  step 3 (relaxed; src/t.rs:2:5) reads what step 2 (release; src/t.rs:1:5) wrote, but that orders nothing \
         without a release there and an acquire here",
    ]);
    assert_eq!(verdict(&file), expected);
    file.steps[1].thread = 1;
    expected[3] =
        "  nothing that A did since and B did before orders them: no lock, join, channel, release and \
                   acquire, or the like"
            .to_owned();
    assert_eq!(verdict(&file), expected);
    let read = TraceFile::from_json(&file.to_json()).unwrap();
    file.id.clone_from(&read.id);
    assert_eq!(read, file, "a race is part of the file");
}

#[test]
fn numbers_without_names_do_not_matter() {
    let mut file = tests::run(&["A"], &[(0, Kind::Read, &[9])]);
    file.steps.push(TraceStep { thread: 7, operation: Operation::new(Kind::Yield, LocationId(7)) });
    let (thread, object, location) = (ThreadId(9), ObjectId(9), LocationId(9));
    let file = failed(file, Failure::Misuse { thread, object, location, message: "destroyed".into() });
    let expected = "\
misuse of object 9: destroyed; thread thread 9, location 9

     A                            thread 7
  1  read object 9  src/t.rs:1:5
  2                               yield
";
    assert_eq!(shown(&file), expected);
}
