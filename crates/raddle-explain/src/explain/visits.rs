//! Steps of a run by their thread, so that those of another run can be compared with them.

use raddle_model::{Kind, TraceStep};
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

/// A step of a thread: the thread, the location, the receiver of a message, and the number of earlier visits of the
/// thread. If a run takes another path, the indices of all later steps of its threads differ, but not these. A server
/// sends its replies at one location in the order of the requests, so that the receiver is a part.
pub(super) type Visit<'a> = (u32, &'a str, &'a str, u32);

/// A visit that outlives its run.
pub(super) struct KnownVisit(u32, String, String, u32);

impl From<Visit<'_>> for KnownVisit {
    fn from((thread, place, receiver, before): Visit<'_>) -> KnownVisit {
        KnownVisit(thread, place.to_owned(), receiver.to_owned(), before)
    }
}

impl KnownVisit {
    /// Returns it for a comparison with those of another run.
    pub(super) fn as_visit(&self) -> Visit<'_> {
        (self.0, &self.1, &self.2, self.3)
    }
}

/// Returns the visits of the steps of a run, in which locations and objects have these names.
pub(super) fn visits<'a>(
    steps: &[TraceStep],
    locations: &'a [String],
    objects: &'a [String],
) -> Vec<Visit<'a>> {
    let mut before: BTreeMap<(u32, &str, &str), u32> = BTreeMap::new();
    let visit = |step: &TraceStep| {
        let operation = &step.operation;
        let place = locations.get(operation.location.index()).map_or("", |text| &text[..]);
        let receiver = operation.object().filter(|_| operation.kind == Kind::Send);
        let receiver = receiver.and_then(|object| objects.get(object.index())).map_or("", |name| &name[..]);
        let next = before.entry((step.thread, place, receiver)).or_default();
        *next += 1;
        (step.thread, place, receiver, *next - 1)
    };
    steps.iter().map(visit).collect()
}
