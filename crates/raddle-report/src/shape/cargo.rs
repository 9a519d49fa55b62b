//! The output of `cargo raddle`.

use raddle_model::{Claims, MemoryModel};
use serde::{Deserialize, Serialize};

/// The output of `cargo raddle test --json` for each test, a line each.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CargoTest {
    /// The program that contains it: `package`, `package::file` or `package::bin/name`.
    pub binary: String,
    /// Its name.
    pub test: String,
    /// Its status.
    pub status: TestStatus,
    /// The duration in real time, in seconds.
    pub seconds: f64,
    /// Complete runs.
    pub runs: u64,
    /// The numbers of forked runs and of others. They depend on the number of jobs and on the machine.
    #[serde(flatten)]
    pub forks: super::Forks,
    /// Failing runs.
    pub failures: u64,
    /// The number of distinct partial orders.
    pub partial_orders: u64,
    /// The largest number of threads of any run, without that of the harness.
    pub threads: u64,
    /// The largest number of steps of any run.
    pub steps: u64,
    /// The number of times a spinning thread was descheduled.
    pub rests: u64,
    /// True if no strategy has a schedule left.
    pub exhausted: bool,
    /// The memory model of the runs; omitted for `sc`.
    #[serde(skip_serializing_if = "super::is_sc")]
    pub memory: MemoryModel,
    /// The strategy, as specified.
    pub strategy: String,
    /// The seed.
    pub seed: u64,
    /// The bounds of PCT's guarantee for bugs that were not found, for the runs of PCT; empty without them.
    pub bounds: Vec<MissedBug>,
    /// The evidence about bugs that were not found, the strongest claim first.
    pub claims: Claims,
    /// The kind of failure.
    pub kind: Option<String>,
    /// The failure, in sentences.
    pub message: Option<String>,
    /// The number of the first failing run, from 0.
    pub first_failure: Option<u64>,
    /// The file with it.
    pub failure_file: Option<String>,
    /// The command that replays it.
    pub replay: Option<String>,
    /// The output of the test in it.
    pub output: Option<String>,
    /// The reason why it cannot be controlled, or was not run.
    pub reason: Option<String>,
    /// Notes for judging the result.
    pub notes: Vec<String>,
}

/// The status of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestStatus {
    /// No run failed.
    #[default]
    Passed,
    /// A run failed.
    Failed,
    /// It passed, and has a single thread.
    NotConcurrent,
    /// Every run reached the step limit without a verdict.
    Inconclusive,
    /// It uses something that cannot be controlled.
    NotControllable,
    /// It is marked `#[ignore]`, and was not run.
    Ignored,
    /// The settings exclude it.
    Skipped,
}

/// The bound from runs of PCT for bugs that were not found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MissedBug {
    /// Of this depth, or a smaller one.
    pub depth: u64,
    /// The number of runs of PCT that the bound covers.
    pub runs: u64,
    /// Always true: there is no bound for runs that were not executed.
    pub made: bool,
    /// An upper bound on the probability that all of them miss such a bug.
    pub missed: f64,
}

/// The output of `cargo raddle test --json` at the end.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CargoTests {
    /// The number of tests that were run.
    pub tests: u64,
    /// The number of passed tests.
    pub passed: u64,
    /// The number of failed tests.
    pub failed: u64,
    /// The number of passed single-threaded tests.
    pub not_concurrent: u64,
    /// The number of tests of which every run reached the step limit without a verdict.
    pub inconclusive: u64,
    /// The number of tests that cannot be controlled.
    pub not_controllable: u64,
    /// The number of tests marked `#[ignore]`.
    pub ignored: u64,
    /// The number of tests that the settings exclude.
    pub skipped: u64,
    /// The number of tests that were not selected.
    pub filtered: u64,
    /// The total duration in real time, in seconds.
    pub seconds: f64,
    /// The reason why it ended before all were run, if it did.
    pub stopped: Option<String>,
}

/// The output of `raddle doctor --json` and `cargo raddle doctor --json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Doctor {
    /// True if nothing is missing.
    pub ok: bool,
    /// The checks, in order.
    pub findings: Vec<Finding>,
    /// True if `--hooks sanitizer` works; `None` if it was not checked.
    pub fallback: Option<bool>,
}

/// One requirement.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Finding {
    /// The requirement.
    pub what: String,
    /// True if it is fulfilled, or not needed.
    pub ok: bool,
    /// True if it is not installed, and only some programs need it.
    pub absent: bool,
    /// The details, or the problem.
    pub detail: String,
}
