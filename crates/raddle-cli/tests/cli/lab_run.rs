//! `raddle lab run`: shapes, exit statuses, and the same numbers on any number of cores.

use crate::common::{figure, raddle, raddle_unread, raddle_with_input};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn json_has_the_promised_fields() {
    let ran = raddle(&["lab", "run", &figure("pos_fig2"), "--runs", "20000", "--exact", "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let json = ran.json();
    assert_eq!(json["strategy"], "pos");
    assert_eq!(json["runs"], 20_000);
    assert_eq!(json["partial_orders"], 12);
    assert_eq!(json["exact"], "1/48");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (hits, ratio) = (number(&json["hits"]), number(&json["hit_ratio"]));
    assert_eq!(ratio, hits / 20_000.0);
    let interval: Vec<f64> = json["interval"].as_array().expect("a pair").iter().map(number).collect();
    assert!(matches!(interval[..], [low, high] if low < ratio && ratio < high), "{interval:?}");
    assert_eq!(json["failures"]["assertion"], json["hits"]);
    assert_eq!(json["first_failure"]["kind"], "assertion");
    for extra in ["seed", "cut_off", "exhausted", "space", "rests", "exact_refused"] {
        assert!(json.get(extra).is_some(), "{extra}: {json}");
    }
}

#[test]
fn the_published_probabilities_of_the_running_example() {
    for (spec, exact, reachable) in [
        ("random-walk", "1/128", 12),
        ("pct:depth=3,steps=10", "1/200", 11),
        ("basic-pos", "1/120", 12),
        ("pos", "1/48", 12),
    ] {
        let words =
            ["lab", "run", &figure("pos_fig2"), "--strategy", spec, "--runs", "10", "--exact", "--json"];
        let json = raddle(&words).json();
        assert_eq!(json["exact"], exact, "{spec}");
        assert_eq!(json["exact_reachable"], reachable, "{spec}");
    }
}

#[test]
fn exact_says_why_not() {
    let json =
        raddle(&["lab", "run", &figure("pos_fig2"), "-s", "surw", "--runs", "10", "--exact", "--json"])
            .json();
    assert_eq!(json["exact"], serde_json::Value::Null);
    assert!(json["exact_refused"].as_str().expect("a reason").contains("surw is not supported"), "{json}");
}

#[test]
fn exact_has_a_limit() {
    let with = |limit: &str| {
        let words =
            ["lab", "run", &figure("pos_fig2"), "--runs", "10", "--exact", "--exact-limit", limit, "--json"];
        raddle(&words).json()
    };
    assert!(with("20")["exact_refused"].as_str().expect("a reason").contains("the limit is 20"));
    assert_eq!(with("1e3")["exact"], "1/48");
}

#[test]
fn several_strategies_are_a_line_each() {
    let words = ["lab", "run", &figure("store_buffering"), "-s", "pos", "-s", "dfs", "-s", "dpor", "--json"];
    let ran = raddle(&words);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[1]["runs"], &lines[1]["exhausted"]), (&6.into(), &true.into()), "{}", lines[1]);
    assert_eq!((&lines[2]["runs"], &lines[2]["exhausted"]), (&3.into(), &true.into()), "{}", lines[2]);
    assert_eq!(lines[0]["exhausted"], serde_json::Value::Null);
}

#[test]
fn the_number_of_cores_changes_nothing() {
    for file in ["pos_fig2", "abba", "spinlock", "branches"] {
        let words =
            ["lab", "run", &figure(file), "-s", "pos", "-s", "upo", "-s", "pct", "--runs", "30000", "--json"];
        let with = |jobs: &str| raddle(&[&words[..], &["--jobs", jobs]].concat()).out;
        assert_eq!(with("1"), with("2"), "{file}");
    }
}

#[test]
fn the_seed_decides() {
    let with = |seed: &str| {
        raddle(&["lab", "run", &figure("lost_update"), "--runs", "500", "--seed", seed, "--json"]).json()
    };
    assert_eq!(with("7"), with("7"));
    let hits: BTreeSet<String> = ["1", "2", "3", "4"].map(|seed| with(seed)["hits"].to_string()).into();
    assert!(hits.len() > 1, "four seeds gave the same {hits:?}");
}

#[test]
fn exit_statuses_distinguish_bugs_from_user_errors() {
    assert_eq!(raddle(&["lab", "run", &figure("store_buffering"), "--runs", "100"]).status, 0);
    assert_eq!(raddle(&["lab", "run", &figure("abba"), "--runs", "100"]).status, 1);
    assert_eq!(raddle(&["lab", "run"]).status, 2);
    assert_eq!(raddle(&["--help"]).status, 0);
}

#[test]
fn until_bug_stops_at_the_run_that_is_named() {
    let all = raddle(&["lab", "run", &figure("pos_fig2"), "--json"]).json();
    let first = all["first_failure"]["run"].as_u64().expect("it fails");
    let stopped = raddle(&["lab", "run", &figure("pos_fig2"), "--until-bug", "--json"]).json();
    assert_eq!((&stopped["runs"], &stopped["hits"]), (&(first + 1).into(), &1.into()));
    assert_eq!(stopped["first_failure"], all["first_failure"]);
}

#[test]
fn a_program_may_come_from_standard_input() {
    let program = "shared x = 0\nthread A { x = 1 }\nthread B { assert x == 0 }\n";
    let ran = raddle_with_input(&["lab", "run", "-", "--runs", "100", "--full"], program);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.out.contains("line 3: assert x == 0"), "{}", ran.out);
}

#[test]
fn a_barrier_for_more_threads_than_there_can_be_never_opens() {
    let program = "barrier b = 5000000000\nthread A { barrier b }\n";
    let ran = raddle_with_input(&["lab", "run", "-", "--runs", "1", "--json"], program);
    assert_eq!(ran.json()["first_failure"]["kind"], "deadlock", "{}", ran.err);
}

/// The threads are named and displayed in linear time.
#[test]
fn a_run_with_very_many_threads_is_shown() {
    let words = [
        "--set",
        "n=1000000000",
        "--runs",
        "1",
        "--step-limit",
        "300000",
        "-s",
        "random-walk",
        "--fail-on-step-limit",
    ];
    let ran = raddle(&[&["lab", "run", &figure("reorder")][..], &words].concat());
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.out.contains("did not end within 300000 steps"), "{}", ran.out);
}

#[test]
fn too_many_threads_end_the_run() {
    let program = "shared x = 0\nmain { repeat 2000000 { spawn T } }\nthread T { x++ }\n";
    let words = ["lab", "run", "-", "--runs", "1", "--step-limit", "5e6", "--json"];
    let json = raddle_with_input(&words, program).json();
    let message = json["first_failure"]["message"].as_str().expect("it fails");
    assert!(message.contains("more than 1000000 threads in `spawn T`"), "{message}");
}

/// Runs also execute on threads with small stacks.
#[test]
fn a_long_ring_of_waiting_threads_is_found() {
    let program = "param n = 40000\nmutex m[n]\nbarrier b = n\nmain { repeat n as i { spawn T(i) } }\n\
                   thread T(i) { lock m[i]; barrier b; lock m[(i + 1) % n] }\n";
    let ran = raddle_with_input(&["lab", "run", "-", "--runs", "1", "--json"], program);
    let json = ran.json();
    assert_eq!(json["first_failure"]["kind"], "deadlock", "{}", ran.err);
    assert!(json["first_failure"]["message"].as_str().is_some_and(|text| text.contains("T40000 -> T1")));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let ran = raddle_unread(&["lab", "run", "-", "--runs", "10"], "shared x = 0\nthread A { x = 1 }\n");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
}

#[test]
fn spinning_is_reported() {
    let ran = raddle(&["lab", "run", &figure("spinlock"), "-s", "pct:depth=2", "--runs", "200"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("spinning threads were held back"), "{}", ran.out);
}

#[test]
fn a_step_limit_is_inconclusive_unless_asked_for() {
    // Without spin detection, a spinning thread starves the one that holds the lock and could continue.
    let words = ["lab", "run", &figure("spinlock"), "-s", "pct", "--patience", "0", "--step-limit", "500"];
    let words = [&words[..], &["--runs", "50"]].concat();
    let json = raddle(&[&words[..], &["--json"]].concat()).json();
    assert!(json["inconclusive"].as_u64() > Some(0) && json["hits"] == 0, "{json}");
    let ran = raddle(&words);
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(
        ran.out.contains("reached the step limit of 500") && ran.out.contains("--step-limit"),
        "{}",
        ran.out
    );
    let json = raddle(&[&words[..], &["--json", "--fail-on-step-limit"]].concat()).json();
    assert_eq!(json["first_failure"]["kind"], "step-limit", "{json}");
}

/// Two threads read `x` and write it, and the first one reads it at the end: the iRoots were computed by
/// hand.
#[test]
fn coverage_counts_what_runs_had() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/front_ends/lost_update.rdl");
    let file = file.to_str().expect("the path is text");
    for strategy in ["maple", "pos"] {
        let words = ["lab", "run", file, "-s", strategy, "--coverage", "--runs", "60"];
        let json = raddle(&[&words[..], &["--json"]].concat()).json();
        let coverage = &json["coverage"];
        let count = |exposed: u64| serde_json::json!({"exposed": exposed, "predicted": exposed, "confirmed": exposed});
        assert_eq!(coverage["idioms"][0], count(8), "{coverage}");
        assert_eq!(coverage["idioms"][1], count(2), "{coverage}");
        assert_eq!(coverage["idioms"][4], count(0), "{coverage}");
        let curve = coverage["saturation"].as_array().expect("a curve");
        assert_eq!(curve.last().expect("it grows")[1], 10);
        let lost = &coverage["roots"][8]["accesses"];
        let places: Vec<&str> =
            lost.as_array().expect("accesses").iter().filter_map(|access| access["at"].as_str()).collect();
        assert_eq!(places, ["line 12: t = x", "line 18: x = t + 1", "line 13: x = t + 1"]);
        let printed = raddle(&words).out;
        assert!(printed.contains("all         10         10        10 (100 %)"), "{printed}");
    }
    let json = raddle(&["lab", "run", file, "--runs", "10", "--json"]).json();
    assert!(json.get("coverage").is_none(), "not requested");
}
