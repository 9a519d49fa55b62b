//! Recorded failures as a regression suite, and the reports for continuous integration.

use crate::common::{CommandOutput, figure, raddle, root, scratch};
use serde_json::Value;
use std::process::Command;

/// A lost update, unless it is fixed; and another failure, if that is wanted.
const COUNTER: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    int seen = counter;
    counter = seen + 1;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
#ifdef ABORTS
    abort();
#endif
    assert(counter == 2);
}
";

/// A folder with a program and the file of its failure.
struct Suite {
    folder: String,
}

impl Suite {
    fn new(name: &str) -> Suite {
        let suite = Suite { folder: scratch(&format!("suite_{name}")) };
        _ = std::fs::remove_dir_all(&suite.folder);
        std::fs::create_dir_all(suite.path("failures")).expect("a folder can be made");
        std::fs::write(suite.path("counter.c"), COUNTER).expect("a source can be written");
        suite.compile(&[]);
        let found = raddle(&["run", "--record", &suite.path("failures"), &suite.path("counter")]);
        assert_eq!(found.status, 1, "{}", found.err);
        suite
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    fn compile(&self, flags: &[&str]) {
        // The old program may just have run, and is replaced, not overwritten.
        _ = std::fs::remove_file(self.path("counter"));
        let words = ["cc", "-g", "-pthread", &self.path("counter.c"), "-o", &self.path("counter")];
        let ran = raddle(&[&words[..], flags].concat());
        assert_eq!(ran.status, 0, "{}", ran.err);
    }

    fn replay(&self, more: &[&str]) -> CommandOutput {
        raddle(&[&["replay", &self.path("failures")], more].concat())
    }
}

#[test]
fn a_failure_is_failing_changed_or_fixed() {
    let suite = Suite::new("states");
    let (junit, sarif) = (suite.path("replay.xml"), suite.path("replay.sarif"));
    let read = |path: &str| std::fs::read_to_string(path).expect("the report is written");
    let results = || {
        let log: Value = serde_json::from_str(&read(&sarif)).expect("it is JSON");
        log["runs"][0]["results"].clone()
    };
    let reports = ["--junit", &junit, "--sarif", &sarif];
    let failing = suite.replay(&reports);
    assert_eq!(failing.status, 1, "{}{}", failing.out, failing.err);
    assert!(
        failing.out.contains("     FAILING ") && failing.out.contains("1 failure: 1 failing"),
        "{}",
        failing.out
    );
    assert!(read(&junit).contains("failures=\"1\""), "{}", read(&junit));
    let found = results();
    assert_eq!(found[0]["ruleId"], "raddle/assertion", "{found}");
    let uri = &found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    let whole = suite.path("counter.c");
    let from_root = whole.strip_prefix(root().to_str().expect("a plain name")).expect("it is below");
    assert_eq!(*uri, from_root.trim_start_matches('/'), "services look from the root");

    suite.compile(&["-DABORTS"]);
    let changed = suite.replay(&reports);
    assert_eq!(changed.status, 1, "{}{}", changed.out, changed.err);
    assert!(changed.out.contains("     CHANGED "), "{}", changed.out);

    suite.compile(&["-DFIXED"]);
    let fixed = suite.replay(&reports);
    assert_eq!(fixed.status, 0, "{}{}", fixed.out, fixed.err);
    assert!(fixed.out.contains("       FIXED ") && fixed.out.contains("1 failure: 1 fixed"), "{}", fixed.out);
    assert!(read(&junit).contains("failures=\"0\""), "{}", read(&junit));
    assert_eq!(results(), Value::Array(Vec::new()));
    let line = suite.replay(&["--json"]).json();
    assert_eq!(line["status"], "fixed", "{line}");

    std::fs::remove_file(suite.path("counter")).expect("the program is there");
    let gone = suite.replay(&reports);
    assert_eq!(gone.status, 2, "{}{}", gone.out, gone.err);
    assert!(gone.out.contains("       ERROR ") && gone.out.contains("1 not replayed"), "{}", gone.out);
    assert!(read(&junit).contains("errors=\"1\""), "{}", read(&junit));
}

#[test]
fn several_files_are_a_suite() {
    let one = scratch("suite_one.json");
    assert_eq!(raddle(&["lab", "run", &figure("abba"), "--until-bug", "--record", &one]).status, 1);
    let ran = raddle(&["replay", &one, &one]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.out.contains("2 failures: 2 failing"), "{}", ran.out);
    let empty = scratch("suite_empty");
    std::fs::create_dir_all(&empty).expect("a folder can be made");
    raddle(&["replay", &empty]).is_user_error(&["no failure file"]);
    raddle(&["replay", "--gdb", &one, &one]).is_user_error(&["--gdb takes one"]);
}

#[test]
fn every_search_writes_reports() {
    let (junit, sarif) = (scratch("suite_search.xml"), scratch("suite_search.sarif"));
    let read = |path: &str| std::fs::read_to_string(path).expect("the report is written");
    let bug = scratch("suite_search.json");
    let (abba, fig) = (figure("abba"), figure("spinlock"));
    for (words, failures) in [
        (&["run", "--record", &bug, "tests/c/fail/abba_deadlock.c"][..], 1),
        (&["run", "--runs", "10", "tests/c/pass/mutexes.c"], 0),
        (&["lab", "run", "--until-bug", &abba], 1),
        (&["lab", "run", "--runs", "10", &fig], 0),
    ] {
        let reports = ["--junit", &junit, "--sarif", &sarif, "--github"];
        // Before the program, whose arguments come after it.
        let (program, options) = words.split_last().expect("there is a program");
        let all = [options, &reports, &[program]].concat();
        let ran = raddle(&all);
        assert_eq!(ran.status, failures, "{all:?}: {}{}", ran.out, ran.err);
        assert!(read(&junit).contains(&format!("failures=\"{failures}\"")), "{all:?}: {}", read(&junit));
        let log: Value = serde_json::from_str(&read(&sarif)).expect("it is JSON");
        assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(failures as usize), "{all:?}");
        assert_eq!(ran.err.matches("::error ").count(), failures as usize, "{all:?}: {}", ran.err);
    }
}

#[test]
fn github_shows_the_failure_beside_the_source() {
    let bug = scratch("suite_github.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(["run", "--record", &bug, "tests/c/fail/lost_update.c"]).current_dir(root());
    let ran = CommandOutput::new(command.env("GITHUB_ACTIONS", "true").output().expect("raddle starts"));
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(
        ran.err.contains("::error file=tests/c/fail/lost_update.c,line=")
            && ran.err.contains("title=raddle%3A assertion::"),
        "{}",
        ran.err
    );
}
