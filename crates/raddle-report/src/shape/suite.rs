//! The output of `raddle replay` for a suite.

use serde::Serialize;

/// The result of one file of a suite: a line of `raddle replay --json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SuiteFile {
    /// The failure file.
    pub file: String,
    /// The status of its failure.
    pub status: SuiteStatus,
    /// The current outcome of the run, or the reason why it could not be made.
    pub message: String,
}

impl SuiteFile {
    /// Returns the result of `file`.
    pub fn new(file: &str, status: SuiteStatus, message: String) -> SuiteFile {
        SuiteFile { file: file.to_owned(), status, message }
    }
}

/// The status of a recorded failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteStatus {
    /// The run passes, with the recorded schedule followed as far as possible.
    Fixed,
    /// It fails in the same way.
    Failing,
    /// It fails in another way.
    Changed,
    /// It could not be replayed.
    Error,
}

impl SuiteStatus {
    /// Returns the word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            SuiteStatus::Fixed => "fixed",
            SuiteStatus::Failing => "failing",
            SuiteStatus::Changed => "changed",
            SuiteStatus::Error => "error",
        }
    }
}
