//! Numbers of interleavings.

use raddle_report::text::count;
use serde::Serialize;
use std::collections::BTreeMap;

/// The number of interleavings for one size.
#[derive(Serialize)]
pub(super) struct Row {
    /// The number of accesses in a transaction; `None` for the whole operation.
    pub(super) size: Option<u64>,
    pub(super) schedules: f64,
    /// True if all of them were executed.
    pub(super) exact: bool,
    /// The number of runs that were cut off.
    pub(super) cut_off: u64,
    /// The failing runs by kind.
    pub(super) failures: BTreeMap<String, u64>,
    /// The number of runs whose result may miss others.
    pub(super) incomplete: u64,
}

/// Returns a number, with `~` if it is an estimate.
pub(super) fn number(value: f64, exact: bool) -> String {
    if exact {
        count(value as u64)
    } else if value < 1e7 {
        format!("~{}", count(value.round() as u64))
    } else {
        format!("~{value:.1e}")
    }
}
