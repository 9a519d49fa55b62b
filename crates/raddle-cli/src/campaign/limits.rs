//! The limits of a night.

use serde::{Deserialize, Serialize};

/// The limits of a night, as they are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    /// The number of turns.
    pub(super) turns: Option<u64>,
    /// The time, in milliseconds.
    pub(super) time: Option<u64>,
    /// The length of a turn, in milliseconds.
    pub(super) turn: Option<u64>,
    /// The number of runs of a turn.
    pub(super) runs: Option<u64>,
}

impl Limits {
    /// Returns the limits for people.
    pub(super) fn words(text: &str) -> String {
        let Ok(limits) = serde_json::from_str::<Limits>(text) else { return text.to_owned() };
        let seconds = |milliseconds: u64| format!("{} s", milliseconds as f64 / 1000.0);
        let whole = limits.turns.map(|turns| format!("{turns} turns")).or(limits.time.map(seconds));
        let turn = limits.runs.map(|runs| format!("{runs} runs")).or(limits.turn.map(seconds));
        format!("{}, {} each", whole.unwrap_or_default(), turn.unwrap_or_default())
    }
}
