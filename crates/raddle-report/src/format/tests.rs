use super::*;
use crate::events::Timeline;
use crate::failure_report::{ConflictPair, FailureReport, PairRole, Source};
use raddle_model::{
    Access, BlockReason, Blocked, Cell, Details, Environment, Failure, Format, FrontEnd, Kind, LocationId,
    ObjectId, Operation, Settings, ThreadId, TraceFile, TraceStep, Values, Verdict,
};
use serde_json::Value;

const NASTY: &str = "a<b>&\"c\"'</script><!--\u{1}";

/// Returns two threads that deadlock after some steps of their own, with a name that must be escaped.
fn file() -> TraceFile {
    let mut steps = Vec::new();
    let mut step = |thread: u32, kind, object: u32, access| {
        let operation = Operation::new(kind, LocationId(thread)).on(ObjectId(object), access);
        steps.push(TraceStep { thread, operation });
    };
    for _ in 0..9 {
        step(0, Kind::Read, 2, Access::Read);
    }
    step(0, Kind::Lock, 0, Access::Write);
    step(1, Kind::Lock, 1, Access::Write);
    step(1, Kind::Unlock, 1, Access::Write);
    step(1, Kind::Lock, 1, Access::Write);
    let blocked = |thread, object, holder| Blocked {
        thread: ThreadId(thread),
        reason: BlockReason::Mutex,
        object: Some(ObjectId(object)),
        location: LocationId(thread),
        held_by: vec![ThreadId(holder)],
    };
    let blocked = vec![blocked(0, 1, 1), blocked(1, 0, 0)];
    TraceFile {
        id: "0123abcd".into(),
        front_end: FrontEnd::Rust,
        program: "transfers".into(),
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
        seed: 7,
        run: 3,
        minimized: None,
        verdict: Verdict::Failed {
            failure: Failure::Deadlock { blocked, cycle: vec![ThreadId(0), ThreadId(1)] },
        },
        fingerprint: 0,
        threads: vec!["main".into(), "worker".into()],
        objects: vec!["m".into(), "n".into(), "count".into()],
        locations: vec!["src/a b.rs:12:5".into(), "src/a b.rs:30:9".into()],
        steps,
        picks: Vec::new(),
        values: Values::default(),
        details: Details::default(),
    }
}

fn report(name: &str) -> FailureReport {
    let mut file = file();
    file.objects[0] = name.to_owned();
    file.threads[1] = format!("worker{name}");
    let mut report = FailureReport::of(&file);
    report.passing = Some(Timeline::of(&TraceFile { verdict: Verdict::Passed, ..file }));
    report.pairs.push(ConflictPair { first: 9, second: 14, role: PairRole::Swap });
    report.why.push("swap them and the run passes.".to_owned());
    report.find_relevant();
    report
        .sources
        .push(Source { name: "src/a b.rs".into(), text: format!("fn main() {{ /* {name} */ }}\n") });
    report
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// Checks that every element of an XML text is closed in order and that the text is well-formed.
fn well_formed(text: &str) -> Vec<String> {
    let (mut open, mut seen, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some(at) = rest.find('<') {
        let between = &rest[..at];
        assert!(!between.contains('>'), "a `>` in text: {between}");
        let ok =
            |part: &str| ["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|name| part.starts_with(name));
        assert!(between.split('&').skip(1).all(ok), "an `&` that begins nothing: {between}");
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count() % 2 == 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else if !tag.starts_with('?') && !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or("").to_owned());
            seen.push(tag.to_owned());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    assert!(text.chars().all(|c| c >= ' ' || c == '\n'), "no control characters");
    seen
}

#[test]
fn a_page_holds_all_it_needs_and_nothing_ends_it_early() {
    let page = html(&report(NASTY));
    assert_eq!(page.matches("</script>").count(), 2, "the data and the script, and no name of the program");
    assert_eq!(page.matches("<!--").count(), 0);
    for outside in
        ["http:", "https:", "src=", "href=", "@import", "url(", "@DATA@", "@STYLE@", "@SCRIPT@", "@TITLE@"]
    {
        let here = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!here.contains(outside), "{outside}");
    }
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data = parsed(data.expect("the data is there"));
    assert_eq!(data["runs"][0]["objects"][0], NASTY);
    assert_eq!(data["runs"][0]["thread"].as_array().map(Vec::len), Some(15));
    assert_eq!(data["runs"][0]["executed"], 13);
    assert_eq!(data["runs"][0]["holds"], serde_json::json!([0, 0, 9, 15, 1, 1, 10, 11, 1, 1, 12, 15]));
    assert_eq!(data["pairs"], serde_json::json!([9, 14, 0]));
    assert_eq!(data["runs"][0]["places"][0][2], 0, "the place is in the first source");
    assert_eq!(data["labels"].as_array().map(Vec::len), Some(2));
}

#[test]
fn junit_is_one_failed_case() {
    let text = junit(&report(NASTY));
    let tags = well_formed(&text);
    let names: Vec<&str> = tags.iter().filter_map(|tag| tag.split(' ').next()).collect();
    assert_eq!(names, ["testsuites", "testsuite", "testcase", "failure"]);
    for suite in &tags[..2] {
        let wanted = ["name=\"", " tests=\"1\"", " failures=\"1\"", " errors=\"0\"", " time=\""];
        assert!(wanted.iter().all(|part| suite.contains(part)), "{suite}");
    }
    for (tag, part) in [
        (2, "name=\"transfers\" classname="),
        (2, "file=\"src/a b.rs\" line=\"12\""),
        (3, "message=\"deadlock: 2 threads wait"),
        (3, "type=\"deadlock\""),
    ] {
        assert!(tags[tag].contains(part), "{}", tags[tag]);
    }
    let passed = FailureReport::of(&TraceFile { verdict: Verdict::Passed, ..file() });
    assert!(well_formed(&junit(&passed)).iter().all(|tag| !tag.starts_with("failure ")));
}

#[test]
fn sarif_has_what_the_standard_asks_for() {
    let log = parsed(&sarif(&report(NASTY)));
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "Raddle");
    let result = &run["results"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], result["ruleId"]);
    assert!(result["message"]["text"].as_str().is_some_and(|text| text.contains("deadlock: 2 threads")));
    let flows = result["codeFlows"][0]["threadFlows"].as_array().expect("there are thread flows");
    assert_eq!(flows.len(), 2);
    let mut order = Vec::new();
    for step in flows.iter().flat_map(|flow| flow["locations"].as_array().expect("a flow has locations")) {
        let place = &step["location"]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "src/a%20b.rs");
        let base =
            place["artifactLocation"]["uriBaseId"].as_str().expect("a path without a root begins somewhere");
        assert!(run["originalUriBaseIds"][base].is_object(), "{base}");
        assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line >= 1));
        assert!(step["location"]["message"]["text"].is_string());
        order.push(step["executionOrder"].as_u64().expect("every step has its turn"));
    }
    order.sort_unstable();
    assert_eq!(order, (1..=15).collect::<Vec<u64>>());
    assert_eq!(flows[0]["locations"][9]["state"][NASTY]["text"], "held");
    let levels = |flow: usize| -> Vec<u64> {
        let steps = flows[flow]["locations"].as_array().expect("a flow has locations");
        steps.iter().map(|step| step["nestingLevel"].as_u64().expect("every step has a level")).collect()
    };
    assert_eq!((levels(0), levels(1)), (vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], vec![1, 0, 1, 1]));
    // A program may fail before its first step.
    let failure = Failure::StepLimit { limit: 0, spinning: Vec::new() };
    let empty = TraceFile { steps: Vec::new(), verdict: Verdict::Failed { failure }, ..file() };
    let result = &parsed(&sarif(&FailureReport::of(&empty)))["runs"][0]["results"][0];
    assert!(result["codeFlows"].is_null() && result["message"]["text"].is_string(), "{result}");
    assert!(text(&FailureReport::of(&empty), Terminal::default()).contains("step limit"));
}

/// The standard allows no two equal related locations, and the fingerprint must be the same for another run
/// of the bug.
#[test]
fn sarif_can_be_compared() {
    let mut report = report("m");
    // The same step in two pairs, and two steps at one location.
    report.pairs.push(ConflictPair { first: 9, second: 10, role: PairRole::Enough });
    report.pairs.push(ConflictPair { first: 3, second: 4, role: PairRole::Enough });
    let log = parsed(&sarif(&report));
    let result = &log["runs"][0]["results"][0];
    let related = result["relatedLocations"].as_array().expect("a list");
    let ids: Vec<u64> = related.iter().filter_map(|location| location["id"].as_u64()).collect();
    assert_eq!(ids, [4, 5, 10, 11, 14, 15]);
    assert!(
        result["partialFingerprints"].as_object().is_some_and(|prints| prints.values().all(Value::is_string))
    );
    let place = |report: &FailureReport| {
        let log = parsed(&sarif(report));
        log["runs"][0]["results"][0]["partialFingerprints"]["raddlePlace/v2"].as_str().map(str::to_owned)
    };
    let again = FailureReport::of(&TraceFile { id: "another".into(), run: 99, ..file() });
    assert_eq!(place(&report), place(&again));
    assert!(place(&report).is_some_and(|print| print.starts_with("deadlock at ")));
    // The thread that takes the last lock does not matter.
    let mut other = file();
    other.steps.swap(9, 10);
    other.steps.truncate(11);
    let before = FailureReport::of(&TraceFile { steps: file().steps[..11].to_vec(), ..file() });
    assert_eq!(place(&FailureReport::of(&other)), place(&before));
    let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
    assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string(), "{rule}");
    // A path from the root needs no base.
    let rooted = TraceFile { locations: vec!["/x/a.rs:1:1".into(), "/x/a.rs:2:1".into()], ..file() };
    let log = parsed(&sarif(&FailureReport::of(&rooted)));
    let artifact = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(*artifact, serde_json::json!({ "uri": "file:///x/a.rs" }));
}

#[test]
fn perfetto_has_a_track_for_each_thread_and_both_ends_of_each_flow() {
    let trace = parsed(&perfetto(&report(NASTY)));
    let events = trace["traceEvents"].as_array().expect("a list of events");
    for event in events {
        assert!(event["ph"].is_string() && event["name"].is_string(), "{event}");
        assert!(["ts", "pid", "tid"].iter().all(|field| event[field].is_u64()), "{event}");
    }
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    assert_eq!(of("X").len(), 15 + 13, "the run that fails, with what it waits for, and the other one");
    assert!(of("X").iter().all(|event| event["dur"].as_u64().is_some_and(|time| time > 0)));
    let names = of("M");
    let tracks: Vec<&Value> = names
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| &event["args"]["name"])
        .collect();
    let worker = format!("worker{NASTY}");
    assert_eq!(tracks, ["main", &worker, "main", &worker]);
    let named: Vec<_> = names.iter().map(|event| (&event["pid"], &event["tid"])).collect();
    assert!(
        of("X").iter().all(|event| named.contains(&(&event["pid"], &event["tid"]))),
        "every step is on a track"
    );
    let ids = |phase: &str| of(phase).iter().map(|event| event["id"].as_u64()).collect::<Vec<_>>();
    assert_eq!(ids("s"), ids("f"));
    assert_eq!(ids("s").len(), 1, "only the pair: each thread has locks of its own");
}

#[test]
fn json_tells_every_step() {
    let report = parsed(&json(&report("m")));
    assert_eq!(report["verdict"], "deadlock");
    let events = report["run"]["events"].as_array().expect("a list of events");
    assert_eq!(events.len(), 15);
    assert_eq!(events[9]["statement"], "lock m");
    assert_eq!(events[9]["held"], serde_json::json!(["m"]));
    assert_eq!(events[9]["place"]["line"], 12);
    assert_eq!((&events[10]["switch"], &events[9]["switch"]), (&Value::Bool(true), &Value::Bool(false)));
    assert_eq!(events[14]["executed"], false);
    assert_eq!(report["run"]["waits"][0]["object"], "n");
    assert_eq!(report["pairs"][0], serde_json::json!({ "first": 9, "second": 14, "role": "swap" }));
}

#[test]
fn a_terminal_shows_the_steps_that_matter() {
    let expected = "\
deadlock: 2 threads wait and none can go on

  main --n--> workerm --m--> main

  main waits at src/a b.rs:12:5 for mutex n, which workerm took at src/a
    b.rs:30:9
  workerm waits at src/a b.rs:30:9 for mutex m, which main took at src/a
    b.rs:12:5

     main                            workerm
 10* lock m         src/a b.rs:12:5
 13                                  lock n         src/a b.rs:30:9
     waits: lock n  src/a b.rs:12:5
   *                                 waits: lock m  src/a b.rs:30:9

11 steps that do not matter are hidden (--full).

swap them and the run passes.
";
    assert_eq!(text(&report("m"), Terminal { width: 80, ..Terminal::default() }), expected);
}

#[test]
fn a_narrow_terminal_loses_columns_but_no_locations() {
    let narrow = text(&report("m"), Terminal::of_width(33));
    for part in [
        "\n 10* main     lock m         src/a b.rs:12:5\n",
        "\n     main     waits: lock n  src/a b.rs:12:5\n",
        "\n  main waits at src/a b.rs:12:5\n    for mutex n, which workerm\n",
    ] {
        assert!(narrow.contains(part), "{part}: {narrow}");
    }
    let full = text(&report("m"), Terminal { full: true, ..Terminal::of_width(33) });
    assert!(
        full.contains("\nstep  thread   statement\n   1  main     read count at src/a b.rs:12:5\n"),
        "{full}"
    );
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let plain = text(&report(NASTY), Terminal::default());
    assert!(!plain.contains('\x1b') && !plain.contains('\u{1}'), "{plain:?}");
    let coloured = text(&report("m"), Terminal { colours: true, ..Terminal::default() });
    assert!(coloured.contains("\x1b[36mlock m         src/a b.rs:12:5\x1b[0m"), "{coloured}");
    let without =
        ["\x1b[36m", "\x1b[33m", "\x1b[0m"].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(without, text(&report("m"), Terminal::default()), "colours take no room");
}

#[test]
fn of_many_switches_the_middle_is_hidden() {
    let mut file = file();
    file.verdict = Verdict::Passed;
    let step = |step: u32| {
        let thread = step % 2;
        let operation = Operation::new(Kind::Read, LocationId(thread)).on(ObjectId(2), Access::Read);
        TraceStep { thread, operation }
    };
    file.steps = (0..1_000).map(step).collect();
    let found = text(&FailureReport::of(&file), Terminal { most: 4, ..Terminal::default() });
    let rows: Vec<&str> = found.lines().skip(3).take_while(|line| !line.is_empty()).collect();
    let ends: Vec<&str> = rows.iter().map(|row| row.split_whitespace().next().unwrap_or("")).collect();
    assert_eq!(ends, ["1", "2", "999", "1000"], "{found}");
    assert!(found.ends_with("\n996 steps are hidden (--full).\n"), "{found}");
}

/// All formats get values from the one timeline of events.
#[test]
fn values_are_told_in_all_formats() {
    let mut file = crate::events::tests::run(
        &["A"],
        &[(0, Kind::Write, &[0]), (0, Kind::ReadModifyWrite, &[1]), (0, Kind::ReadModifyWrite, &[1])],
    );
    let cell = |object, name: &str, format| Cell {
        object: ObjectId(object),
        name: name.to_owned(),
        width: 4,
        format,
        names: Vec::new(),
    };
    file.values.cells = vec![cell(0, "m.part", Format::Signed), cell(1, "", Format::Pointer)];
    let value = |step, cell, read, written| raddle_model::Value { step, cell, read, written };
    file.values.list = vec![
        value(0, 0, None, Some(u64::from(u32::MAX))),
        value(1, 1, Some(0), Some(0x10)),
        value(2, 1, Some(0x10), None),
    ];
    let failure =
        Failure::Assertion { thread: ThreadId(0), location: LocationId(0), message: "it is wrong".into() };
    file.verdict = Verdict::Failed { failure };
    let report = FailureReport::of(&file);
    let reported = ["write m.part = -1", "update n null -> 0x10", "update n = 0x10, unchanged"];
    let full = Terminal { full: true, ..Terminal::default() };
    for shown in [text(&report, full), junit(&report).replace("&gt;", ">")] {
        assert!(reported.iter().all(|reported| shown.contains(reported)), "{shown}");
    }
    let events = &parsed(&json(&report))["run"]["events"];
    let values = serde_json::json!([{ "name": "n", "read": "null", "written": "0x10" }]);
    assert_eq!((&events[1]["values"], &events[1]["statement"]), (&values, &reported[1].into()));
    let sarif = parsed(&sarif(&report));
    let steps = &sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"];
    assert_eq!(steps[0]["state"]["m.part"]["text"], "-1", "{steps}");
    assert_eq!(steps[1]["location"]["message"]["text"], format!("A: {}", reported[1]));
    let perfetto = parsed(&perfetto(&report));
    let slices = perfetto["traceEvents"].as_array().expect("a list");
    let slices: Vec<&Value> = slices.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(
        (&slices[1]["name"], &slices[1]["args"]["values"]),
        (&reported[1].into(), &"n null -> 0x10".into())
    );
    file.values.from = 2;
    let reported = text(&FailureReport::of(&file), Terminal::default());
    assert!(reported.contains("What steps before step 3 read and wrote was not kept"), "{reported}");
    let page = html(&report);
    assert!(page.contains(r#"[2,[["n","= 0x10, unchanged"]]]"#), "{page}");
}
