//! JUnit XML for continuous integration: a recorded failure is one failed test case; tests of a crate are a
//! case each.

use super::text::text;
use crate::failure_report::FailureReport;
use crate::run_text::Terminal;
use crate::shape::{CargoTest, TestStatus};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// Returns a test suite with one case. A recorded run has no time, but some readers require one.
pub fn junit(report: &FailureReport) -> String {
    let name = format!("raddle.{}", report.front_end);
    let description = text(report, Terminal { width: 120, ..Terminal::default() });
    let mut case = if report.failing.failure.is_some() {
        let mut failure = TestCaseStatus::non_success(NonSuccessKind::Failure);
        failure.set_type(report.kind()).set_message(report.headline()).set_description(description);
        TestCase::new(report.program.as_str(), failure)
    } else {
        let mut passed = TestCase::new(report.program.as_str(), TestCaseStatus::success());
        passed.set_system_out(description);
        passed
    };
    case.set_classname(name.as_str()).set_time(Duration::ZERO);
    if let Some((file, line)) = report.place() {
        case.extra.extend([("file".into(), file.into()), ("line".into(), line.to_string().into())]);
    }
    let mut suite = TestSuite::new(name);
    suite.add_test_case(case);
    written(vec![suite])
}

/// Returns a test suite for each program with tests. Uncontrollable tests are errors if `strict`, and skipped
/// otherwise.
pub fn junit_tests(tests: &[CargoTest], strict: bool) -> String {
    let suite = |tests: &[CargoTest]| {
        let mut suite = TestSuite::new(tests[0].binary.as_str());
        suite.add_test_cases(tests.iter().map(|test| case(test, strict)));
        suite
    };
    written(tests.chunk_by(|one, other| one.binary == other.binary).map(suite).collect())
}

/// Returns a report of suites, whose times are those of their cases.
fn written(mut suites: Vec<TestSuite>) -> String {
    let mut all = Duration::ZERO;
    for suite in &mut suites {
        let time = suite.test_cases.iter().filter_map(|case| case.time).sum();
        suite.set_time(time);
        all += time;
    }
    let mut report = Report::new("raddle");
    report.set_time(all).add_test_suites(suites);
    report.to_string().expect("a text in memory can be written")
}

fn case(test: &CargoTest, strict: bool) -> TestCase {
    let reason = test.reason.as_deref().unwrap_or_default();
    let status = match test.status {
        TestStatus::Passed | TestStatus::NotConcurrent => TestCaseStatus::success(),
        TestStatus::NotControllable if strict => {
            let mut error = TestCaseStatus::non_success(NonSuccessKind::Error);
            error.set_type("not-controllable").set_message(reason);
            error
        }
        TestStatus::Inconclusive
        | TestStatus::NotControllable
        | TestStatus::Ignored
        | TestStatus::Skipped => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(reason);
            skipped
        }
        TestStatus::Failed => {
            let message = test.message.as_deref().unwrap_or_default();
            let replay =
                test.replay.as_ref().map_or(String::new(), |replay| format!("\nReplay it: {replay}\n"));
            let mut failure = TestCaseStatus::non_success(NonSuccessKind::Failure);
            failure.set_type(test.kind.as_deref().unwrap_or("failed"));
            failure.set_message(message.lines().next().unwrap_or_default());
            failure.set_description(format!("{message}\n{replay}"));
            failure
        }
    };
    let mut case = TestCase::new(test.test.as_str(), status);
    case.set_classname(test.binary.as_str());
    case.set_time(Duration::try_from_secs_f64(test.seconds).unwrap_or_default());
    if let Some(output) = test.output.as_deref().filter(|_| test.status == TestStatus::Failed) {
        case.set_system_out(output);
    }
    case
}
