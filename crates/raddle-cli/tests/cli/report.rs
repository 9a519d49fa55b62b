//! Reports of recorded failures.

use crate::common::{figure, raddle, raddle_with_input, scratch};
use serde_json::Value;

/// Records the first failing run of a figure, and returns the name of its file.
fn recorded(name: &str, test: &str) -> String {
    let file = scratch(&format!("report_{test}_{name}.json"));
    let found = raddle(&["lab", "run", &figure(name), "--until-bug", "--record", &file]);
    assert_eq!(found.status, 1, "{}", found.err);
    file
}

/// Returns the contents of the file that a report is written to.
fn written(file: &str, end: &str, more: &[&str]) -> String {
    let out = format!("{file}.{end}");
    let made = raddle(&[&["report", file, "-o", &out], more].concat());
    assert_eq!((made.status, &made.out[..]), (0, ""), "{end}: {}", made.err);
    std::fs::read_to_string(&out).expect("the report is written")
}

/// Returns the data of a page.
fn data(page: &str) -> Value {
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    serde_json::from_str(data.expect("a page has data")).expect("it is JSON")
}

#[test]
fn standard_input_is_as_good_as_a_file() {
    let file = recorded("lost_wakeup", "text");
    let found = raddle(&["report", &file]);
    let recorded = std::fs::read_to_string(&file).expect("the failure is recorded");
    let piped = raddle_with_input(&["report", "-"], &recorded);
    assert_eq!((piped.out, piped.status), (found.out, 0), "{}", piped.err);
}

#[test]
fn the_format_is_inferred_from_the_file_extension() {
    let file = recorded("abba", "formats");
    assert!(written(&file, "html", &[]).starts_with("<!doctype html>"));
    assert!(written(&file, "xml", &[]).contains("type=\"deadlock\""));
    let json = |end: &str| -> Value { serde_json::from_str(&written(&file, end, &[])).expect("it is JSON") };
    assert_eq!(json("sarif")["runs"][0]["results"][0]["ruleId"], "raddle/deadlock");
    assert!(json("trace.json")["traceEvents"].is_array());
    let events = json("events.json");
    assert_eq!(events["run"]["events"][3]["statement"], "lock m1");
    assert_eq!(events["run"]["events"][3]["held"][0], "m1");
    assert_eq!(raddle(&["report", &file, "--json"]).json(), events);
    assert_eq!(written(&file, "txt", &[]), raddle(&["report", &file]).out);
    assert_eq!(written(&file, "log", &["--format", "text"]), raddle(&["report", &file]).out);
}

#[test]
fn a_page_has_the_program_and_the_closest_run_that_passes() {
    let file = recorded("abba", "page");
    let page = data(&written(&file, "html", &["--explain"]));
    let program = page["sources"][0][1].as_str().expect("the program's text");
    assert!(program.contains("lock m1\n    lock m2"), "{program}");
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(page["runs"][1]["failure"], Value::Null);
    assert!(page["reason"].as_str().is_some_and(|reason| reason.contains("swap them and the run passes")));
    let alone = data(&written(&file, "html", &[]));
    assert_eq!(alone["runs"].as_array().map(Vec::len), Some(1));
    assert!(
        alone["reason"].as_str().is_some_and(|reason| reason.contains("comes first, the run passes")),
        "{alone}"
    );
}

#[test]
fn the_source_of_a_c_program_is_found_by_its_debugging_information() {
    let file = scratch("report_native.json");
    let found = raddle(&["run", "--record", &file, "tests/c/fail/abba_deadlock.c"]);
    assert_eq!(found.status, 1, "{}", found.err);
    let page = data(&written(&file, "html", &["--explain"]));
    let names: Vec<&str> = page["sources"]
        .as_array()
        .expect("there are sources")
        .iter()
        .filter_map(|source| source[0].as_str())
        .collect();
    assert_eq!(names, ["abba_deadlock.c", "threads.h"]);
    assert!(page["sources"][0][1].as_str().is_some_and(|text| text.contains("static void *forth")));
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_cannot_be_run_is_reported_from_the_file_alone() {
    let file = recorded("abba", "alone");
    let text = std::fs::read_to_string(&file).expect("the failure is recorded");
    let foreign = text.replace("\"front_end\": \"lab\"", "\"front_end\": \"rust\"");
    assert_ne!(foreign, text);
    let found = raddle_with_input(&["report", "-", "--explain", "--trust"], &foreign);
    assert_eq!(found.status, 0, "{}", found.err);
    assert!(found.out.contains("deadlock: 3 threads wait"), "{}", found.out);
    assert!(
        found.out.contains("Not explained: standard input: the file does not name the test binary"),
        "{}",
        found.out
    );
}

#[test]
fn user_errors_are_reported() {
    let file = recorded("abba", "mistakes");
    raddle(&["report", &file, "-o", "x.pdf"]).is_user_error(&[
        "x.pdf",
        "cannot infer the format",
        "--format",
    ]);
    raddle(&["report", &file, "-o", &file]).is_user_error(&["would replace the failure file"]);
    raddle(&["report", "no/such.json"]).is_user_error(&["cannot read no/such.json"]);
    raddle(&["report", &file, "-o", "no/such/folder.html"]).is_user_error(&["cannot write the report"]);
    assert!(raddle(&["replay", &file]).status == 1, "the file is still there");
}
