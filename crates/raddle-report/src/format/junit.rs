//! JUnit's XML, as continuous integration reads it: a recorded failure is one test case that failed; tests of a crate are a case
//! each.

use super::escaped;
use super::text::text;
use crate::run_text::Terminal;
use crate::shape::{CargoTest, TestStatus};
use crate::story::Story;
use std::fmt::Write;

/// A test suite with one case. A recorded run has no time, but some readers want one.
pub fn junit(story: &Story) -> String {
    let failures = u32::from(story.failing.failure.is_some());
    let (suite, name) = (escaped(&format!("raddle.{}", story.front_end)), escaped(&story.program));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"raddle\" tests=\"1\" failures=\"{failures}\" errors=\"0\" time=\"0\">\n  \
         <testsuite name=\"{suite}\" tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"0\">\n    \
         <testcase classname=\"{suite}\" name=\"{name}\" time=\"0\"{}>\n",
        place(story)
    );
    let told = escaped(&text(story, Terminal { width: 120, ..Terminal::default() }));
    if story.failing.failure.is_some() {
        let (kind, headline) = (escaped(story.kind()), escaped(story.headline()));
        out.push_str(&format!("      <failure type=\"{kind}\" message=\"{headline}\">{told}</failure>\n"));
    } else {
        out.push_str(&format!("      <system-out>{told}</system-out>\n"));
    }
    out.push_str("    </testcase>\n  </testsuite>\n</testsuites>\n");
    out
}

/// Where the run ended, for those who show it.
fn place(story: &Story) -> String {
    let event = story.last().and_then(|step| story.failing.events.get(step as usize));
    let place = event.and_then(|event| story.failing.place(event));
    match place.map(|place| (&place.file, place.line)) {
        Some((Some(file), Some(line))) => format!(" file=\"{}\" line=\"{line}\"", escaped(file)),
        _ => String::new(),
    }
}

/// A test suite for each program with tests. Those that cannot be controlled are errors if that is `strict`, and skipped
/// otherwise.
pub fn junit_tests(tests: &[CargoTest], strict: bool) -> String {
    let count = |tests: &[&CargoTest], outcome: Outcome| {
        tests.iter().filter(|test| outcome_of(test, strict) == outcome).count()
    };
    let counts = |tests: &[&CargoTest]| {
        let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{seconds:.3}\"",
            tests.len(),
            count(tests, Outcome::Failure),
            count(tests, Outcome::Error),
            count(tests, Outcome::Skipped)
        )
    };
    let all: Vec<&CargoTest> = tests.iter().collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"raddle\" {}>\n",
        counts(&all)
    );
    for suite in all.chunk_by(|one, other| one.binary == other.binary) {
        let name = escaped(&suite[0].binary);
        let _ = writeln!(out, "  <testsuite name=\"{name}\" {}>", counts(suite));
        suite.iter().for_each(|test| case(&mut out, test, strict));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// What JUnit knows of ends of tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn outcome_of(test: &CargoTest, strict: bool) -> Outcome {
    match test.status {
        TestStatus::Passed | TestStatus::NotConcurrent => Outcome::Passed,
        TestStatus::Failed => Outcome::Failure,
        TestStatus::NotControllable if strict => Outcome::Error,
        TestStatus::NotControllable | TestStatus::Ignored | TestStatus::Skipped => Outcome::Skipped,
    }
}

fn case(out: &mut String, test: &CargoTest, strict: bool) {
    let (suite, name) = (escaped(&test.binary), escaped(&test.test));
    let _ = write!(out, "    <testcase classname=\"{suite}\" name=\"{name}\" time=\"{:.3}\"", test.seconds);
    let reason = escaped(test.reason.as_deref().unwrap_or_default());
    let inside = match outcome_of(test, strict) {
        Outcome::Passed => {
            out.push_str("/>\n");
            return;
        }
        Outcome::Error => format!("<error type=\"not-controllable\" message=\"{reason}\"/>"),
        Outcome::Skipped => format!("<skipped message=\"{reason}\"/>"),
        Outcome::Failure => {
            let message = test.message.as_deref().unwrap_or_default();
            let headline = escaped(message.lines().next().unwrap_or_default());
            let kind = escaped(test.kind.as_deref().unwrap_or("failed"));
            let replay =
                test.replay.as_ref().map_or(String::new(), |replay| format!("\nReplay it: {replay}\n"));
            let told = escaped(&format!("{message}\n{replay}"));
            let output = test.output.as_ref().map_or(String::new(), |output| {
                format!("\n      <system-out>{}</system-out>", escaped(output))
            });
            format!("<failure type=\"{kind}\" message=\"{headline}\">{told}</failure>{output}")
        }
    };
    let _ = writeln!(out, ">\n      {inside}\n    </testcase>");
}
