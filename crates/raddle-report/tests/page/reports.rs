//! The contents of the pages.

use raddle_model::{
    Access, BlockReason, Blocked, Cell, Details, Environment, Failure, Format, FrontEnd, Kind, LocationId,
    ObjectId, Operation, Settings, ThreadId, TraceFile, TraceStep, Value, Values, Verdict,
};
use raddle_report::events::Timeline;
use raddle_report::{ConflictPair, FailureReport, PairRole, Source};

fn step(thread: u32, kind: Kind, object: u32, location: u32) -> TraceStep {
    let operation = Operation::new(kind, LocationId(location)).on(ObjectId(object), Access::Write);
    TraceStep { thread, operation }
}

fn file(threads: Vec<String>, objects: Vec<String>, lines: u32, steps: Vec<TraceStep>) -> TraceFile {
    TraceFile {
        id: String::new(),
        front_end: FrontEnd::Native,
        program: "/usr/bin/a<b>".into(),
        arguments: Vec::new(),
        build: None,
        environment: Environment::default(),
        signature: None,
        parameters: Vec::new(),
        settings: Settings {
            step_limit: 1 << 20,
            timeouts_anytime: false,
            patience: 64,
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
        threads,
        objects,
        locations: (1..=lines).map(|line| format!("work at work.c:{line}")).collect(),
        steps,
        picks: Vec::new(),
        values: Values::default(),
        details: Details::default(),
    }
}

fn source(lines: u32) -> Source {
    let lines = (1..=lines).map(|line| format!("line {line}; // </script><script>throw 1</script>\n"));
    Source { name: "work.c".into(), text: lines.collect() }
}

/// Returns two threads, four steps, and a passing run.
pub(crate) fn deadlock() -> FailureReport {
    let (threads, objects) = (vec!["A".to_owned(), "B".to_owned()], vec!["m<1>".to_owned(), "n".to_owned()]);
    let steps = vec![
        step(0, Kind::Lock, 0, 0),
        step(0, Kind::Unlock, 0, 0),
        step(0, Kind::Lock, 0, 1),
        step(1, Kind::Lock, 1, 8),
    ];
    let blocked = |thread, object, location| Blocked {
        thread: ThreadId(thread),
        reason: BlockReason::Mutex,
        object: Some(ObjectId(object)),
        location: LocationId(location),
        held_by: vec![ThreadId(1 - thread)],
    };
    let failure = Failure::Deadlock {
        blocked: vec![blocked(0, 1, 2), blocked(1, 0, 9)],
        cycle: vec![ThreadId(0), ThreadId(1)],
    };
    let failing = file(threads, objects, 12, steps);
    let mut passing = failing.clone();
    let failing = TraceFile { verdict: Verdict::Failed { failure }, ..failing };
    // Its third step is different.
    passing.steps[2].operation.location = LocationId(5);
    let mut report = FailureReport::of(&failing);
    report.passing = Some(Timeline::of(&passing));
    report.pairs = vec![ConflictPair { first: 3, second: 4, role: PairRole::Swap }];
    report.why = vec!["swap them and the run passes".to_owned()];
    report.sources = vec![source(12)];
    report
}

/// Returns two threads that add to a number, of which one addition is lost: Maple's second idiom.
pub(crate) fn lost_update() -> FailureReport {
    let step = |thread, kind, location| {
        let access = if kind == Kind::Read { Access::Read } else { Access::Write };
        let operation = Operation::new(kind, LocationId(location)).on(ObjectId(0), access);
        TraceStep { thread, operation }
    };
    let steps = vec![
        step(0, Kind::Read, 0),
        step(1, Kind::Read, 0),
        step(1, Kind::Write, 1),
        step(0, Kind::Write, 1),
    ];
    let mut failing = file(vec!["A".to_owned(), "B".to_owned()], vec!["x".to_owned()], 2, steps);
    failing.values = Values {
        from: 0,
        cells: vec![Cell {
            object: ObjectId(0),
            name: "x.<i>low</i>".to_owned(),
            width: 4,
            format: Format::Signed,
            names: Vec::new(),
        }],
        list: vec![
            value(0, Some(0), None),
            value(1, Some(0), None),
            value(2, None, Some(1)),
            value(3, None, Some(1)),
        ],
    };
    let mut passing = TraceFile { values: Values::default(), ..failing.clone() };
    passing.steps.swap(0, 2);
    passing.steps.swap(0, 1);
    let mut report = FailureReport::of(&failing);
    report.passing = Some(Timeline::of(&passing));
    // In the order in which a search may find them.
    for (first, second) in [(2, 3), (0, 2)] {
        report.pairs.push(ConflictPair { first, second, role: PairRole::Enough });
    }
    report.pairs.push(ConflictPair { first: 0, second: 1, role: PairRole::Swap });
    report.set_idiom(2, "A=>B=>C", &[(2, 3), (0, 2)], &failing.steps);
    report.sources = vec![source(2)];
    report
}

fn value(step: u32, read: Option<u64>, written: Option<u64>) -> Value {
    Value { step, cell: 0, read, written }
}

/// Returns many threads that take a lock in turn.
pub(crate) fn long(threads: u32, steps: u32) -> FailureReport {
    let kinds = [Kind::Lock, Kind::ReadModifyWrite, Kind::ReadModifyWrite, Kind::Unlock];
    let of = |number: u32| {
        let (turn, part) = (number / 4, number % 4);
        let object = if part == 0 || part == 3 { 0 } else { 1 + turn % 50 };
        step(turn % threads, kinds[part as usize], object, part)
    };
    let names = (0..threads).map(|thread| format!("worker {thread}")).collect();
    let objects = (0..51).map(|object| format!("object {object}")).collect();
    let mut report = FailureReport::of(&file(names, objects, 4, (0..steps).map(of).collect()));
    report.sources = vec![source(4)];
    report
}
