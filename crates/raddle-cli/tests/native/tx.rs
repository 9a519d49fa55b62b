//! `raddle tx`: operations as transactions.

use super::{folder, raddle};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the path of a program of these tests.
fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/tx").join(format!("{name}.c"));
    path.display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that ends with this status, and returns its standard output and errors.
#[track_caller]
fn ends(folder: &Path, words: &[&str], status: i32) -> (String, String) {
    let Output { status: found, stdout, stderr } = raddle(folder, words);
    assert_eq!(found.code(), Some(status), "{words:?}:\n{}{}", text(&stdout), text(&stderr));
    (text(&stdout), text(&stderr))
}

/// Writes the plan with one transaction for each operation, with `mark` at the accesses of the function and kind given.
fn plan(folder: &Path, name: &str, operations: &str, mark: &str, at: (&str, &str)) -> PathBuf {
    ends(folder, &["tx", "sites", "--operations", operations, "-o", "plan.txt", &source(name)], 0);
    let plan = std::fs::read_to_string(folder.join("plan.txt")).unwrap();
    let is_it = |line: &str| line.contains(&format!("  {}  {}  ", at.0, at.1));
    assert!(plan.lines().any(is_it), "{at:?}:\n{plan}");
    let marked = plan.lines().map(|line| {
        if is_it(line) { line.replacen("-     ", &format!("{mark:<6}"), 1) } else { line.to_owned() }
    });
    let path = folder.join("marked.txt");
    std::fs::write(&path, marked.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    path
}

#[test]
fn the_stack_of_figure_5_1_has_ten_interleavings_of_operations() {
    let folder = folder("tx-figure");
    let aba = source("aba");
    let words = ["tx", "count", "--json", "--operations", "push,pop", "--sizes", "1,2,inf", "--svg", "a.svg"];
    let (printed, _) = ends(&folder, &[&words[..], &[&aba]].concat(), 0);
    let report: Value = serde_json::from_str(&printed).unwrap();
    let row = |index: usize| &report["sizes"][index];
    // The element that comes back is found if every access is by itself.
    assert!(row(0)["exact"] == true && row(0)["failures"]["use-after-free"].as_u64() > Some(0), "{report}");
    assert!(row(0)["schedules"].as_f64() > row(1)["schedules"].as_f64(), "{report}");
    // Two operations of one thread and three of the other one: 5! / (2! * 3!).
    assert_eq!((&row(2)["exact"], &row(2)["schedules"]), (&true.into(), &10.0.into()), "{report}");
    assert_eq!(row(2)["failures"], serde_json::json!({}), "{report}");
    assert!(report["interleavings"].as_f64() > row(0)["schedules"].as_f64(), "{report}");
    let picture = std::fs::read_to_string(folder.join("a.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.matches("<circle").count() == 3, "{picture}");
}

#[test]
fn a_plan_is_verified_or_refuted() {
    let folder = folder("tx-verify");
    plan(&folder, "aba", "push,pop", "before", ("pop", "read, write"));
    let (printed, _) = ends(&folder, &["tx", "verify", "plan.txt"], 0);
    assert!(printed.contains("all 10 interleavings"), "{printed}");
    // The exchange of a pop in a transaction of its own.
    let (printed, _) = ends(&folder, &["tx", "verify", "marked.txt", "--record", "failure.json"], 1);
    assert!(printed.contains("freed"), "{printed}");
    // It is a run of the program without transactions, too.
    ends(&folder, &["replay", "failure.json"], 1);
}

#[test]
fn an_operation_that_waits_is_not_lock_free() {
    let folder = folder("tx-waits");
    plan(&folder, "waits", "take,give", "before", ("take", "read"));
    let (printed, _) = ends(&folder, &["tx", "verify", "plan.txt"], 1);
    assert!(printed.contains("not lock-free"), "{printed}");
}

/// Runs a program without control.
fn start(folder: &Path, program: &str, arguments: &[&str]) -> bool {
    Command::new(folder.join(program)).args(arguments).output().expect("it starts").status.success()
}

#[test]
fn enforced_transactions_are_atomic_and_a_boundary_in_one_is_noticed() {
    let folder = folder("tx-enforced");
    plan(&folder, "counter", "increment", "before", ("increment", "write"));
    ends(&folder, &["tx", "verify", "plan.txt"], 0);
    ends(&folder, &["tx", "verify", "marked.txt"], 1);
    ends(&folder, &["tx", "build", "-o", "atomic", "plan.txt"], 0);
    ends(&folder, &["tx", "build", "-o", "divided", "marked.txt"], 0);
    assert!(start(&folder, "atomic", &["100000", "20"]));
    // The first lost increment ends it.
    assert!(!start(&folder, "divided", &["100000", "10000"]));
}

#[test]
fn a_program_is_compiled_with_the_transactions_of_a_plan() {
    let folder = folder("tx-cc");
    let counter = source("counter");
    let compile = ["-O1", "-pthread", &counter, "-o", "counter"];
    ends(&folder, &[&["cc", "--operations"], &compile[..]].concat(), 0);
    ends(&folder, &["tx", "sites", "--operations", "increment", "-o", "plan.txt", "./counter"], 0);
    ends(&folder, &[&["cc", "--transactions", "plan.txt"], &compile[..]].concat(), 0);
    assert!(start(&folder, "counter", &["100000", "20"]));
    // Another program has other addresses.
    let other = ["cc", "--transactions", "plan.txt", "-O0", "-pthread", &counter, "-o", "other"];
    let (_, errors) = ends(&folder, &other, 2);
    assert!(errors.contains("another build") && errors.contains("help: "), "{errors}");
}

#[test]
fn a_plan_in_the_budget_is_found() {
    let folder = folder("tx-plan");
    let counter = source("counter");
    for search in ["greedy", "genetic"] {
        let words = ["tx", "plan", "--operations", "increment", "--budget", "20", "--search", search];
        let limits = [
            "--population",
            "4",
            "--generations",
            "2",
            "--rounds",
            "1",
            "--timed",
            "1000 1 unchecked",
            "-o",
            "p.txt",
        ];
        let (printed, _) = ends(&folder, &[&words[..], &limits, &[&counter]].concat(), 0);
        assert!(printed.contains("The fastest with at most 20 interleavings"), "{printed}");
    }
    let words = [
        "tx",
        "plan",
        "--operations",
        "increment",
        "--budget",
        "1",
        "--rounds",
        "1",
        "--timed",
        "1 1 unchecked",
        &counter,
    ];
    let (_, errors) = ends(&folder, &words, 2);
    assert!(errors.contains("more than 1 interleavings"), "{errors}");
}

#[test]
fn what_cannot_be_divided_is_refused_with_a_remedy() {
    let folder = folder("tx-refused");
    let counter = source("counter");
    ends(&folder, &["cc", "-O1", "-pthread", &counter, "-o", "plain"], 0);
    for (words, message) in [
        (["--operations", "increment", "./plain"], "raddle cc --operations"),
        (["--operations", "decrement", &counter], "has no function `decrement`"),
        (["--operations", "main", &counter], "of them to shared memory"),
    ] {
        let output = raddle(&folder, &[&["tx", "sites"], &words[..]].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(message), "{words:?}: {said}");
    }
    std::fs::write(folder.join("no.txt"), "something\n").unwrap();
    let (_, errors) = ends(&folder, &["tx", "verify", "no.txt"], 2);
    assert!(errors.contains("is not a plan"), "{errors}");
}
