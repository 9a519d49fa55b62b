//! `raddle bench`.

use crate::common::{CommandOutput, raddle, scratch};
use serde_json::Value;

fn figures(more: &[&str]) -> CommandOutput {
    let mut words = vec!["bench", "--suite", "figures", "--case", "pos_fig2", "--case", "reorder_3"];
    words.extend(["-s", "pos", "-s", "oos", "-s", "pos+random-walk", "--runs", "3000", "--json"]);
    words.extend(more);
    raddle(&words)
}

/// Returns the results without times.
fn timeless(ran: &CommandOutput) -> Value {
    let mut results = ran.json();
    for cell in results["cells"].as_array_mut().expect("there are cells") {
        cell["seconds"].take();
        cell["seconds_to_bug"].take();
    }
    results
}

#[test]
fn shares_are_those_of_the_strategies() {
    let ran = figures(&[]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = ran.json();
    let cell = &results["cells"][0];
    assert_eq!((&cell["case"], &cell["strategy"]), (&"pos_fig2".into(), &"pos".into()));
    let interval = &cell["interval"];
    let (low, high) = (interval[0].as_f64().expect("a number"), interval[1].as_f64().expect("a number"));
    assert!(low < 1.0 / 48.0 && 1.0 / 48.0 < high, "the exact probability is 1/48: {low} to {high}");
    assert_eq!(cell["partial_orders"], 12);
    assert_eq!(cell["growth"].as_array().map(Vec::len), Some(12), "after 1, 2, 4, ... 2048 runs");
    assert_eq!(results["cells"].as_array().map(Vec::len), Some(6));
}

#[test]
fn cells_do_not_depend_on_the_number_of_jobs() {
    let one = timeless(&figures(&["--jobs", "1"]));
    assert_eq!(timeless(&figures(&["--jobs", "3"])), one);
    assert_ne!(timeless(&figures(&["--seed", "2"]))["cells"], one["cells"]);
}

#[test]
fn trials_end_at_the_bug() {
    let results = figures(&["--trials", "5"]).json();
    for cell in results["cells"].as_array().expect("there are cells") {
        let first: Vec<u64> =
            cell["first"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        assert_eq!(first.len(), 5, "every trial finds these bugs in 3000 runs: {cell}");
        assert_eq!(cell["runs"], first.iter().sum::<u64>(), "no run is made after the bug");
        assert_eq!(cell["hits"], 5);
    }
}

#[test]
fn an_interrupted_bench_continues() {
    let folder = scratch("bench");
    // From an earlier call of this test, if any.
    let _ = std::fs::remove_dir_all(&folder);
    let whole = figures(&["-o", &folder]);
    let path = format!("{folder}/cells.jsonl");
    let cells = std::fs::read_to_string(&path).expect("cells are kept");
    assert_eq!(cells.lines().count(), 6);
    for name in ["results.json", "results.md", "page.html", "hit-ratios.svg", "coverage.svg"] {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("it is written");
        assert!(text.contains("pos"), "{name}: {text}");
    }
    // The state after an interruption in the middle of the fourth cell, with a mark on the first.
    let mark = r#""threads":77"#;
    let marked = cells.replacen(r#""threads":2"#, mark, 1);
    assert!(marked.contains(mark));
    let kept = marked.lines().take(3).collect::<Vec<_>>().join("\n");
    std::fs::write(&path, format!("{kept}\n{{\"runs\":3000,\"tri")).expect("it can be written");
    let again = figures(&["-o", &folder]);
    assert_eq!(again.status, 0, "{}", again.err);
    let marks = |ran: &CommandOutput| ran.out.matches(mark).count();
    assert_eq!((marks(&whole), marks(&again)), (0, 1), "the first cell was not measured again");
    let lines = std::fs::read_to_string(&path).expect("cells are kept").lines().count();
    assert_eq!(lines, 6, "the other three were");
    // A different question is not answered by the old cells.
    assert_eq!(marks(&figures(&["-o", &folder, "--seed", "9"])), 0);
}

#[test]
fn user_errors_are_reported() {
    let suite = |name: &str| raddle(&["bench", "--suite", name, "--runs", "1"]);
    suite("no-such-suite").is_user_error(&["no-such-suite", "corpus, figures or a folder"]);
    let folder = scratch("bench-mistakes");
    // From an earlier call of this test, if any.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be made");
    let manifest = |text: &str| {
        std::fs::write(format!("{folder}/a.toml"), text).expect("it can be written");
        suite(&folder)
    };
    suite(&folder).is_user_error(&["no manifest (NAME.toml)"]);
    manifest("about = 3").is_user_error(&["a.toml", "line 1"]);
    let good = "about = \"a\"\nsource = \"a.rdl\"\nverdict = [\"deadlock\"]\n[[case]]\nname = \"a\"\n";
    manifest(good).is_user_error(&["a.toml", "its source", "a.rdl is not there"]);
    std::fs::write(format!("{folder}/a.rdl"), "shared x = 0\nthread A {\n  x = 1\n}\n")
        .expect("it can be written");
    assert_eq!(manifest(good).status, 0);
    manifest(&format!("{good}sice = 3\n")).is_user_error(&["a.toml", "sice"]);
    manifest(&format!("{good}define = [\"n\"]\n")).is_user_error(&["a under", "such as n=5"]);
    manifest(&format!("{good}[[case]]\nname = \"a\"\n")).is_user_error(&["a case `a` already"]);
    raddle(&["bench", "--suite", "figures", "--case", "abbba"]).is_user_error(&["abbba", "abba, "]);
    raddle(&["bench", "--suite", "figures", "-s", "psos"]).is_user_error(&["unknown strategy `psos`"]);
}
