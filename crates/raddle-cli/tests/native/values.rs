//! Steps are reported with the values that they read and wrote.

use super::{folder, raddle};
use raddle_model::TraceFile;
use std::path::{Path, PathBuf};

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native").join(name);
    path.to_str().expect("the path is text").to_owned()
}

/// Returns the output of `raddle` for these words, with the exit status of a failure.
#[track_caller]
fn printed(folder: &Path, words: &[&str]) -> String {
    let output = raddle(folder, words);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Returns the texts of the steps, without numbers, threads and locations.
fn actions(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|line| line.split_once(" at "))
        .filter_map(|(before, _)| {
            let begin = ["read ", "write ", "update "].iter().find_map(|verb| before.find(verb))?;
            Some(&before[begin..])
        })
        .collect()
}

fn only_file(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("the folder is there").flatten();
    let mut files =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    files.next().expect("a failing run is recorded")
}

const WRITTEN: &[&str] = &[
    "write balance = -110",
    "read balance = -110",
    "write balance = -100",
    "write large = 9223372036854775808",
    "write rate = 1.5",
    "write half = -2.0",
    "write letter = 'z'",
    "write small = -3",
    "write ready = true",
    "write state = OPEN",
    "write box.parts[1].high = 65535",
];

#[test]
fn values_are_formatted_by_type() {
    let folder = folder("values");
    let text = printed(&folder, &["run", "--full", "--runs", "1", &source("values.c"), "assert"]);
    let actions = actions(&text);
    let from = actions.iter().position(|action| *action == WRITTEN[0]).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(&actions[from..][..WRITTEN.len()], WRITTEN, "{text}");
    let at = |action: &str| {
        actions.iter().position(|d| *d == action).unwrap_or_else(|| panic!("{action}: {text}"))
    };
    // Two variables at once, and more than eight bytes, have no value.
    let rest = ["write place = null", "write both.a", "update count -7 -> 3", "update count = 3, unchanged"];
    assert!(rest.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{text}");
    for action in [
        "write target.value = 42",
        "write count = -1",
        "write last = 4",
        "read last = 4",
        "write last = 5",
        "read state = OPEN",
    ] {
        at(action);
    }
    assert!(
        actions.iter().any(|action| action.starts_with("write many.numbers[0]") && !action.contains('=')),
        "{text}"
    );
    // The second block is freed just after the write.
    for value in [" = 77", " = 78"] {
        assert!(
            actions.iter().any(|action| action.starts_with("write ") && action.ends_with(value)),
            "{text}"
        );
    }
    // The file has them, and so has a replay, whether the file does or not.
    let path = only_file(&folder);
    let mut file = TraceFile::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(!file.values.is_empty());
    let shown = printed(&folder, &["replay", "--full", path.to_str().unwrap()]);
    assert_eq!(self::actions(&shown), actions);
    file.values = raddle_model::Values::default();
    std::fs::write(folder.join("old.json"), file.to_json()).unwrap();
    assert_eq!(printed(&folder, &["replay", "--full", "old.json"]), shown);
    assert_eq!(printed(&folder, &["replay", "--full", "old.json", "--threads", "os"]), shown);
}

#[test]
fn a_run_that_crashes_has_its_values() {
    let folder = folder("values_crash");
    for (way, last) in [("segv", &["write last = 4", "write 0x10"][..]), ("abort", &["write last = 4"])] {
        let text = printed(
            &folder,
            &["run", "--full", "--runs", "1", "--points", "all", "--no-minimize", &source("values.c"), way],
        );
        let actions = actions(&text);
        assert!(actions.ends_with(last), "{way}: {text}");
        assert!(actions.contains(&"write rate = 1.5"), "{way}: {text}");
    }
}

/// A write that the system rejects has written nothing.
#[test]
fn what_was_not_written_has_no_value() {
    let folder = folder("values_refused");
    let text = printed(&folder, &["run", "--full", "--runs", "1", &source("values.c"), "refused"]);
    let last = actions(&text).last().map(|&action| action.to_owned()).expect("there are steps");
    assert!(last.starts_with("write ") && !last.contains('='), "{text}");
}

/// The runtime's pattern in freed blocks is not a value of the program.
#[test]
fn freed_memory_has_no_value() {
    let folder = folder("values_freed");
    let text = printed(&folder, &["run", "--full", &source("../../../../tests/c/fail/use_after_free.c")]);
    let actions = actions(&text);
    assert!(actions.contains(&"write current = null"), "{text}");
    assert!(
        actions.last().is_some_and(|action| action.starts_with("read ") && !action.contains('=')),
        "{text}"
    );
}

/// A data race ends the run at its second access, which is not executed: the value it would have read is
/// known, and the value it would have written is not.
#[test]
fn the_accesses_of_a_race_have_values() {
    let folder = folder("values_race");
    let text = printed(
        &folder,
        &["run", "--full", "-s", "pos", "--races", "fail", "--record", "run.json", &source("bank.c")],
    );
    let actions = actions(&text);
    assert_eq!(actions, ["read balance = 100", "write balance = 110", "read balance = 110"], "{text}");
}

/// The order of the two accesses is reported with their values, before and after minimization.
#[test]
fn an_explanation_has_values() {
    let folder = folder("values_explained");
    let found =
        printed(&folder, &["run", "-s", "pos", "--record", "run.json", "--no-minimize", &source("bank.c")]);
    assert!(found.contains("read balance = 100") && found.contains("write balance = 110"), "{found}");
    printed(&folder, &["minimize", "run.json", "--time", "10m"]);
    let small = printed(&folder, &["replay", "run.min.json"]);
    assert!(small.contains("read balance = 100") && small.contains("write balance = 110"), "{small}");
    let why = printed(&folder, &["explain", "run.min.json", "--time", "10m"]);
    assert!(why.contains(" read 100 from `balance` at bank.c:7 before "), "{why}");
    assert!(why.contains(" wrote 110 to it at bank.c:7;"), "{why}");
    let json = printed(&folder, &["explain", "run.min.json", "--time", "10m", "--json"]);
    assert!(json.contains(r#""values":["balance = 100"]"#), "{json}");
    let json = raddle(&folder, &["report", "run.min.json", "--json"]);
    let json = String::from_utf8(json.stdout).expect("output is UTF-8");
    assert!(json.contains(r#""values":[{"name":"balance","read":"100","written":null}]"#), "{json}");
}
