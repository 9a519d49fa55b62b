//! What `cargo raddle` prints.

use raddle_model::Claims;
use serde::Serialize;

/// What `cargo raddle test --json` prints for each test, a line each.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CargoTest {
    /// The program that it is in: `package`, `package::file` or `package::bin/name`.
    pub binary: String,
    /// Its name.
    pub test: String,
    /// How it ended.
    pub status: TestStatus,
    /// How long it took, in real time.
    pub seconds: f64,
    /// Complete runs.
    pub runs: u64,
    /// Failing runs.
    pub failures: u64,
    /// How many partial orders were seen.
    pub partial_orders: u64,
    /// The most threads of any run, without that of the harness.
    pub threads: u64,
    /// The most steps of any run.
    pub steps: u64,
    /// How often a spinning thread was held back.
    pub rests: u64,
    /// Whether no strategy has a schedule left.
    pub exhausted: bool,
    /// The strategy, as it was named.
    pub strategy: String,
    /// The seed.
    pub seed: u64,
    /// What PCT's guarantee says of bugs that were not found, for the runs of PCT that were made; empty without them.
    pub bounds: Vec<MissedBug>,
    /// What the runs show of bugs that were not found, the strongest statement first.
    pub claims: Claims,
    /// The kind of failure.
    pub kind: Option<String>,
    /// What was wrong, in sentences.
    pub message: Option<String>,
    /// The number of the first failing run, from 0.
    pub first_failure: Option<u64>,
    /// The file with it.
    pub failure_file: Option<String>,
    /// The command that repeats it.
    pub replay: Option<String>,
    /// What the test printed in it.
    pub output: Option<String>,
    /// Why it cannot be controlled, or was not run.
    pub reason: Option<String>,
    /// What else has to be known to judge the result.
    pub notes: Vec<String>,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestStatus {
    /// No schedule broke it.
    #[default]
    Passed,
    /// A schedule broke it.
    Failed,
    /// It passed, and has a single thread.
    NotConcurrent,
    /// Every run reached the step limit without a verdict.
    Inconclusive,
    /// It does what cannot be controlled.
    NotControllable,
    /// It is marked `#[ignore]`, and was not run.
    Ignored,
    /// The settings leave it out.
    Skipped,
}

/// What runs of PCT say of bugs that were not found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MissedBug {
    /// Of this depth, or a smaller one.
    pub depth: u64,
    /// How many runs of PCT the statement is about.
    pub runs: u64,
    /// Always true: no statement is made about runs that were not made.
    pub made: bool,
    /// At most the chance that all of them miss such a bug.
    pub missed: f64,
}

/// What `cargo raddle test --json` prints at the end.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CargoTests {
    /// Tests that were run.
    pub tests: u64,
    /// Those that no schedule broke.
    pub passed: u64,
    /// Those that a schedule broke.
    pub failed: u64,
    /// Those with a single thread, which passed.
    pub not_concurrent: u64,
    /// Those of which every run reached the step limit without a verdict.
    pub inconclusive: u64,
    /// Those that do what cannot be controlled.
    pub not_controllable: u64,
    /// Those that are marked `#[ignore]`.
    pub ignored: u64,
    /// Those that the settings leave out.
    pub skipped: u64,
    /// Those that nobody asked for.
    pub filtered: u64,
    /// How long all took, in real time.
    pub seconds: f64,
    /// Why it ended before all were run, if it did.
    pub stopped: Option<String>,
}

/// What `cargo raddle doctor --json` prints.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Doctor {
    /// Whether nothing is missing.
    pub ok: bool,
    /// What was looked at, in this order.
    pub findings: Vec<Finding>,
    /// Whether `--hooks sanitizer` works; nothing if nobody needs to know.
    pub fallback: Option<bool>,
}

/// One thing that is needed.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Finding {
    /// What it is.
    pub what: String,
    /// Whether it is there.
    pub ok: bool,
    /// What was found, or what is wrong.
    pub detail: String,
}
