//! The results of tests as text, a line or two each, and a summary at the end.

use crate::claim_text::{exhaustion, unless_exhausted};
use crate::search_text::forks;
use crate::shape::{CargoTest, CargoTests, TestStatus};
use crate::text::{count, plural};
use raddle_model::MemoryModel;
use std::fmt::Write;

/// The beginning of a continuation line.
const INDENT: &str = "             ";

/// Returns the word for the status of a test, and its color codes.
fn word(status: TestStatus) -> (&'static str, &'static str) {
    match status {
        TestStatus::Passed => ("PASS", "32;1"),
        TestStatus::Failed => ("FAIL", "31;1"),
        TestStatus::NotConcurrent => ("SINGLE", "32"),
        TestStatus::Inconclusive => ("LONG", "33;1"),
        TestStatus::NotControllable => ("LOST", "33;1"),
        TestStatus::Ignored | TestStatus::Skipped => ("SKIP", "33"),
    }
}

/// Returns a word that ends in the twelfth column, in color if there are `colours`.
fn column(word: &str, codes: &str, colours: bool) -> String {
    if colours { format!("\x1b[{codes}m{word:>12}\x1b[0m") } else { format!("{word:>12}") }
}

/// Returns a line or two about one test.
pub fn test(test: &CargoTest, colours: bool) -> String {
    let (word, codes) = word(test.status);
    let mut out =
        format!("{} [{:>8.3}s] {} {}\n", column(word, codes, colours), test.seconds, test.binary, test.test);
    let mut more = |text: &str| {
        text.lines().for_each(|line| _ = writeln!(out, "{INDENT}{line}"));
    };
    match test.status {
        TestStatus::Passed => {
            more(&runs(test));
            unless_exhausted(&test.claims).iter().for_each(|line| more(line));
        }
        // The failure is printed with the steps that lead to it.
        TestStatus::Failed | TestStatus::Inconclusive => more(&runs(test)),
        TestStatus::NotConcurrent => more("one thread, so one schedule: run once"),
        _ => more(test.reason.as_deref().unwrap_or("it was not run")),
    }
    test.notes.iter().for_each(|note| more(&format!("note: {note}")));
    out
}

/// Returns the number of runs and partial orders.
fn runs(test: &CargoTest) -> String {
    let (runs, orders) = (plural(test.runs, "run"), plural(test.partial_orders, "partial order"));
    let mut out = format!("{runs}{}, {orders}", forks(&test.forks));
    if test.memory == MemoryModel::Weak {
        out.push_str(" under weak memory");
    }
    if let Some(left) = exhaustion(&test.claims) {
        let _ = write!(out, "; {left}");
    }
    if test.failures > 1 {
        let _ = write!(out, ", {} failed", count(test.failures));
    }
    let _ = write!(out, "; up to {} and {}", plural(test.threads, "thread"), plural(test.steps, "step"));
    if test.rests > 0 {
        let _ = write!(out, "; spinning threads were held back {} times", count(test.rests));
    }
    out
}

/// Returns true if a test has failed; if `strict`, an uncontrollable one counts as failed.
pub fn fails(all: &CargoTests, strict: bool) -> bool {
    all.failed > 0 || strict && all.not_controllable > 0
}

/// Returns the summary of all tests, with `strict` as in [`fails`].
pub fn summary(all: &CargoTests, strict: bool, colours: bool) -> String {
    let mut parts = vec![format!("{} passed", count(all.passed + all.not_concurrent))];
    for (number, what) in [
        (all.not_concurrent, "of them with one thread"),
        (all.failed, "failed"),
        (all.inconclusive, "inconclusive"),
        (all.not_controllable, "not controllable"),
        (all.ignored, "ignored"),
        (all.skipped, "skipped by raddle.toml"),
        (all.filtered, "not asked for"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    let (end, status) = match &all.stopped {
        _ if fails(all, strict) => ("Failed", TestStatus::Failed),
        Some(_) => ("Stopped", TestStatus::NotControllable),
        None => ("Passed", TestStatus::Passed),
    };
    let word = column(end, word(status).1, colours);
    let mut out =
        format!("{word} [{:>8.3}s] {}: {}\n", all.seconds, plural(all.tests, "test"), parts.join(", "));
    // If nothing has failed this is the error of the command, which is printed there.
    if let Some(why) = all.stopped.as_ref().filter(|_| fails(all, strict)) {
        let _ = writeln!(out, "{INDENT}not all is done: {why}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::{Claim, Claims, Exhaustion};

    #[test]
    fn a_passed_test_tells_what_that_is_worth() {
        let mut claims = Claims::default();
        claims.statements.push(Claim::Depth { depth: 2, missed: 0.001, runs: 60, threads: 3, steps: 40 });
        let passed = CargoTest {
            binary: "p".to_owned(),
            test: "a".to_owned(),
            runs: 1000,
            partial_orders: 7,
            threads: 3,
            steps: 40,
            claims,
            ..CargoTest::default()
        };
        let printed = test(&passed, false);
        assert!(printed.starts_with("        PASS [   0.000s] p a\n"), "{printed}");
        assert!(
            printed.contains("1,000 runs, 7 partial orders; up to 3 threads and 40 steps\n"),
            "{printed}"
        );
        assert!(
            printed.contains("a bug of depth 2 or less was missed with probability at most 0.001"),
            "{printed}"
        );
        let mut claims = Claims::default();
        claims.exhaustion = Some(Exhaustion::WithinBounds);
        let printed = test(&CargoTest { exhausted: true, claims, ..passed }, false);
        assert!(
            printed.contains("; no schedule is left within the bounds of the strategy;")
                && !printed.contains("depth"),
            "{printed}"
        );
    }

    #[test]
    fn the_last_line_says_what_the_status_says() {
        let all = CargoTests { tests: 2, passed: 1, not_controllable: 1, ..CargoTests::default() };
        let first = |all: &CargoTests, strict| {
            let printed = summary(all, strict, false);
            printed.split_whitespace().next().unwrap_or_default().to_owned()
        };
        assert_eq!((first(&all, false), first(&all, true)), ("Passed".to_owned(), "Failed".to_owned()));
        let stopped = CargoTests { stopped: Some("no disk".to_owned()), ..all.clone() };
        assert_eq!(first(&stopped, false), "Stopped");
        let failed = CargoTests { failed: 1, ..stopped };
        assert_eq!(first(&failed, false), "Failed");
        assert!(
            summary(&failed, false, false).contains("not all is done: no disk"),
            "{}",
            summary(&failed, false, false)
        );
    }
}
