//! Explanations of failures whose reasons are known.

use crate::common::{figure, raddle, root, scratch};
use serde_json::Value;

/// Returns the explanation of the first failing run of a program, as JSON and as text.
fn explained(name: &str, program: &str) -> (Value, String) {
    let trace = scratch(&format!("explain_{name}.json"));
    let found = raddle(&["lab", "run", program, "--until-bug", "--record", &trace]);
    assert_eq!(found.status, 1, "{name}: {}", found.err);
    let (json, text) = (
        raddle(&["explain", &trace, "--time", "10m", "--json"]),
        raddle(&["explain", &trace, "--time", "10m"]),
    );
    assert_eq!((json.status, text.status), (1, 1), "{name}: {}{}", json.err, text.err);
    (json.json(), text.out)
}

/// Writes a program.
fn program(name: &str, text: &str) -> String {
    let path = scratch(&format!("{name}.rdl"));
    std::fs::write(&path, text).expect("the target folder can be written to");
    path
}

/// Every figure with a bug: its number of orderings, the idiom, and the two lines whose swap makes the run
/// pass. The depth is that of the figure's comment except for two: the papers give PCT's depth, which is
/// smaller if priorities alone keep an order (`pos_fig2`), and `philosophers` needs one ordering for each
/// fork. All runs of the figures show that each pair is a correct answer, and that no single ordering
/// suffices where several are reported: `src/explain/oracle.rs` executes them, for all figures with few
/// enough.
#[test]
fn every_figure_is_explained() {
    for (name, depth, idiom, lines) in [
        ("abba", 2, Some(5), [25, 17]),
        ("lost_update", 2, Some(2), [16, 17]),
        ("lost_wakeup", 2, Some(4), [9, 18]),
        ("pct_fig1a", 1, Some(1), [16, 10]),
        ("pct_fig1b", 2, Some(2), [10, 16]),
        ("pct_fig1c", 2, Some(5), [15, 9]),
        ("pct_fig2", 2, None, [14, 10]),
        ("pct_fig3", 1, Some(1), [16, 11]),
        ("pct_fig4", 2, Some(4), [13, 8]),
        ("pct_fig5", 1, Some(1), [17, 9]),
        ("philosophers", 3, None, [10, 11]),
        ("pos_fig1a", 1, Some(1), [15, 10]),
        ("pos_fig1b", 1, Some(1), [25, 16]),
        ("pos_fig2", 4, None, [23, 13]),
        ("shuttle_depth3", 3, None, [25, 19]),
        ("stride_fig1", 2, Some(5), [14, 8]),
        ("stride_fig2", 2, Some(2), [26, 21]),
        ("thesis_fig1_2", 2, Some(2), [15, 11]),
        ("thesis_fig2_3", 2, Some(2), [15, 10]),
    ] {
        let (found, printed) = explained(name, &figure(name));
        assert_eq!(found["depth"], depth, "{name}: {printed}");
        assert_eq!(found["idiom"], Value::from(idiom), "{name}: {printed}");
        assert_eq!(found["constraints"].as_array().map(Vec::len), Some(depth), "{name}: {printed}");
        assert!(printed.contains(&format!("Estimated bug depth: {depth}.")), "{name}: {printed}");
        let pairs = found["swapped"].as_array().expect("a list");
        assert_eq!(pairs.len(), 1, "{name}: {printed}");
        let source = std::fs::read_to_string(root().join(figure(name))).expect("the figure is there");
        for (which, line) in ["first", "second"].into_iter().zip(lines) {
            let place = pairs[0][which]["location"].as_str().expect("a text");
            assert!(place.starts_with(&format!("line {line}: ")), "{name}: {printed}");
            // The line as it is in the program, with its comment.
            let text = source.lines().nth(line - 1).expect("the line is there").trim();
            assert!(printed.contains(&format!("  line {line}  {text}\n")) || line < 10, "{name}: {printed}");
        }
        assert!(printed.contains(";\nswap them and the run passes.\n"), "{name}: {printed}");
    }
}

#[test]
fn an_ordering_is_explained_in_a_sentence() {
    let (_, printed) = explained("sentence", &figure("stride_fig2"));
    let expected = "\n\nthread B read 0 from `balance` at line 26 before A wrote 10 to it at line 21;\nswap them and the run passes.\n  \
                    line 26  temp = balance\n  line 21  balance = temp\n\nEstimated bug depth: 2.";
    assert!(printed.contains(expected), "{printed}");
}

/// Bugs with more than four orderings are not searched for, but no reported ordering can be omitted.
#[test]
fn many_orders_may_be_needed() {
    let text = "param n = 5\nshared a = 0, b = 0\nmain {\n    repeat n { spawn setter }\n    spawn checker\n}\nthread setter {\n    \
                a = 1\n    b = 1\n}\nthread checker {\n    local u, v\n    u = a\n    v = b\n    assert u == v\n}\n";
    let (found, printed) = explained("many_orders", &program("many_orders", text));
    // Each setter writes b late, and one of them a early.
    assert_eq!(found["constraints"].as_array().map(Vec::len), Some(6), "{printed}");
    assert_eq!(found["depth"], Value::Null, "{printed}");
    assert!(printed.contains("Estimated bug depth: at most 6."), "{printed}");
    // Each data access is under a lock, and the swap of the locks is the whole difference.
    let (found, printed) = explained("locked", &figure("twostage"));
    assert_eq!(found["swapped"].as_array().map(Vec::len), Some(1), "{printed}");
    assert!(printed.contains("thread reader locked `m2` at line 31 before writer"), "{printed}");
}

#[test]
fn one_pair_may_not_be_enough() {
    let text = "shared x = 0\nshared y = 0\nthread A {\n    local r\n    local s\n    r = x\n    s = y\n    \
                assert r * s != 0\n}\nthread B { x = 1 }\nthread C { y = 1 }\n";
    let path = program("two_reasons", text);
    let trace = scratch("explain_two.json");
    // Both values are old in the run without a switch, and each of them suffices.
    let words = ["lab", "run", &path, "-s", "dfs", "--until-bug", "--record", &trace];
    assert_eq!(raddle(&words).status, 1);
    let found = raddle(&["explain", &trace, "--time", "10m", "--json"]).json();
    let printed = raddle(&["explain", &trace, "--time", "10m"]).out;
    assert_eq!(found["swapped"].as_array().map(Vec::len), Some(2), "{printed}");
    assert!(printed.contains("No single pair of operations makes the difference"), "{printed}");
    assert!(
        printed.contains("  thread A read 0 from `x` at line 6 before B wrote it at line 10\n"),
        "{printed}"
    );
    assert!(
        printed.contains("  thread A read 0 from `y` at line 7 before C wrote it at line 11\n"),
        "{printed}"
    );
    assert_eq!(found["depth"], 1, "{printed}");
}

/// If three values are old, two swaps do not suffice either.
#[test]
fn there_may_be_no_close_run_that_passes() {
    let text = "shared x = 0, y = 0, z = 0\nthread A {\n    local r, s, t\n    r = x\n    s = y\n    t = z\n    \
                assert r * s * t != 0\n}\nthread B { x = 1 }\nthread C { y = 1 }\nthread D { z = 1 }\n";
    let path = program("three_reasons", text);
    let trace = scratch("explain_three.json");
    let words = ["lab", "run", &path, "-s", "dfs", "--until-bug", "--record", &trace];
    assert_eq!(raddle(&words).status, 1);
    let printed = raddle(&["explain", &trace, "--time", "10m"]).out;
    assert!(printed.contains("no run with one pair swapped passes, nor with two"), "{printed}");
}

#[test]
fn what_always_fails_needs_no_order() {
    let path = program("always", "shared x = 1\nthread A { x = 2 }\nthread B { assert x == 0 }\n");
    let (found, printed) = explained("always", &path);
    assert_eq!((&found["always"], &found["depth"]), (&true.into(), &Value::Null), "{printed}");
    assert!(printed.contains("No order of operations is needed"), "{printed}");
}
