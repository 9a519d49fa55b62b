//! Steps of a run by their thread, so that those of another run can be compared with them.

use raddle_model::TraceStep;
use std::collections::BTreeMap;

/// Returns the thread of each step, and the index of the step in the thread, from 0.
pub(super) fn positions(steps: &[TraceStep]) -> Vec<(u32, u32)> {
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let place = |step: &TraceStep| {
        let next = taken.entry(step.thread).or_default();
        *next += 1;
        (step.thread, *next - 1)
    };
    steps.iter().map(place).collect()
}

/// A step of a thread: the thread, the location, and the number of earlier visits of the thread. If a run
/// takes another path, the indices of all later steps of its threads differ, but not these.
pub(super) type Visit<'a> = (u32, &'a str, u32);

/// Returns the visits of the steps.
pub(super) fn visits<'a>(steps: &[TraceStep], locations: &'a [String]) -> Vec<Visit<'a>> {
    let mut before: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    let visit = |step: &TraceStep| {
        let place = locations.get(step.operation.location.index()).map_or("", |text| &text[..]);
        let next = before.entry((step.thread, place)).or_default();
        *next += 1;
        (step.thread, place, *next - 1)
    };
    steps.iter().map(visit).collect()
}
