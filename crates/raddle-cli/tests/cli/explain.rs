//! Explanations of failures whose reasons are known.

use crate::common::{figure, raddle, scratch};
use serde_json::Value;

/// The explanation of the first failing run of a program, and what a person is told.
fn explained(name: &str, program: &str) -> (Value, String) {
    let trace = scratch(&format!("explain_{name}.json"));
    let found = raddle(&["lab", "run", program, "--until-bug", "--record", &trace]);
    assert_eq!(found.status, 1, "{name}: {}", found.err);
    let (json, text) = (raddle(&["explain", &trace, "--json"]), raddle(&["explain", &trace]));
    assert_eq!((json.status, text.status), (1, 1), "{name}: {}{}", json.err, text.err);
    (json.json(), text.out)
}

/// A program that is written here.
fn program(name: &str, text: &str) -> String {
    let path = scratch(&format!("{name}.rdl"));
    std::fs::write(&path, text).expect("the target folder can be written to");
    path
}

#[test]
fn the_depth_of_known_bugs() {
    for (name, depth, idiom) in [
        ("pct_fig1a", 1, Some(1)),
        ("pct_fig1b", 2, Some(2)),
        ("pct_fig1c", 2, Some(5)),
        ("abba", 2, Some(5)),
        ("lost_update", 2, Some(2)),
        ("shuttle_depth3", 3, None),
        ("philosophers", 3, None),
    ] {
        let (found, told) = explained(name, &figure(name));
        assert_eq!(found["depth"], depth, "{name}: {told}");
        assert_eq!(found["idiom"], Value::from(idiom), "{name}: {told}");
        assert_eq!(found["constraints"].as_array().map(Vec::len), Some(depth), "{name}: {told}");
        assert!(told.contains(&format!("Depth {depth} (an estimate")), "{name}: {told}");
    }
}

#[test]
fn the_pair_that_makes_the_difference() {
    let step = |step: &Value| {
        format!("{} {} {}", step["thread"], step["operation"], step["location"]).replace('"', "")
    };
    for (name, first, second) in [
        ("pct_fig1a", "T2 read line 16", "T1 write line 10"),
        ("pct_fig1b", "T1 write line 10", "T2 read line 16"),
        ("abba", "forth lock line 16", "back lock line 26"),
    ] {
        let (found, told) = explained(&format!("pair_{name}"), &figure(name));
        let pairs = found["swapped"].as_array().expect("a list");
        assert_eq!(pairs.len(), 1, "{name}: {told}");
        let [one, other] = ["first", "second"].map(|which| step(&pairs[0][which]));
        assert!(one.starts_with(first) && other.starts_with(second), "{name}: {one}, {other}");
        assert!(told.contains(";\nswap them and the run passes.\n"), "{name}: {told}");
    }
}

#[test]
fn one_pair_may_not_be_enough() {
    let text = "shared x = 0\nshared y = 0\nthread A {\n    local r\n    local s\n    r = x\n    s = y\n    \
                assert r * s != 0\n}\nthread B { x = 1 }\nthread C { y = 1 }\n";
    let path = program("two_reasons", text);
    let trace = scratch("explain_two.json");
    // Both values are old in the run without a switch, and each of them is enough.
    let words = ["lab", "run", &path, "-s", "dfs", "--until-bug", "--record", &trace];
    assert_eq!(raddle(&words).status, 1);
    let found = raddle(&["explain", &trace, "--json"]).json();
    let told = raddle(&["explain", &trace]).out;
    assert!(found["swapped"].as_array().is_some_and(Vec::is_empty), "{told}");
    assert!(told.contains("No single pair of operations makes the difference"), "{told}");
    assert_eq!(found["depth"], 1, "{told}");
}

#[test]
fn what_always_fails_needs_no_order() {
    let path = program("always", "shared x = 1\nthread A { x = 2 }\nthread B { assert x == 0 }\n");
    let (found, told) = explained("always", &path);
    assert_eq!((&found["always"], &found["depth"]), (&true.into(), &Value::Null), "{told}");
    assert!(told.contains("No order of operations is needed"), "{told}");
}
