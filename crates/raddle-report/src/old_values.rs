//! The decisions of weak memory in the steps of a run: which of them read old values.

use crate::events::Place;
use crate::run_text::names::Names;
use raddle_model::{MemoryModel, ObjectId, ThreadId, TraceFile};
use std::collections::BTreeMap;

/// Returns a note for each step that read an old value or wrote before newer writes.
pub(crate) fn notes(file: &TraceFile) -> BTreeMap<usize, String> {
    let mut notes = BTreeMap::new();
    if file.settings.memory == MemoryModel::Sc {
        return notes;
    }
    // Choice 0 is the newest value or the last place, so the last write without another choice is the newest.
    let is_old = |step: usize| file.picks.iter().any(|&(at, _, value)| at as usize == step && value > 0);
    let mut newest: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for (step, entry) in file.steps.iter().enumerate() {
        let kind = entry.operation.kind;
        let Some(object) = entry.operation.object().filter(|_| kind.accesses_memory()) else { continue };
        if is_old(step) && kind.reads_memory() {
            notes.insert(step, old_value(file, newest.get(&object).copied()));
        } else if is_old(step) {
            notes.insert(step, "ordered before newer writes".to_owned());
        } else if writes(file, step) {
            newest.insert(object, step);
        }
    }
    notes
}

/// Returns true if a step wrote. An exchange whose values are not known may have failed.
fn writes(file: &TraceFile, step: usize) -> bool {
    let operation = &file.steps[step].operation;
    let may_fail = operation.failure_order().is_some();
    let wrote = || file.values.of(step).any(|(_, value)| value.written.is_some());
    operation.kind.writes_memory() && (!may_fail || wrote())
}

fn old_value(file: &TraceFile, newest: Option<usize>) -> String {
    let Some(step) = newest else { return "an old value".to_owned() };
    let (names, entry) = (Names(file), &file.steps[step]);
    let value = file.values.of(step).find_map(|(cell, value)| Some(cell.text(value.written?)));
    let value = value.map_or_else(String::new, |value| format!("{value}, "));
    let place = Place::parse(&names.location(entry.operation.location));
    format!(
        "an old value (newest is {value}written by {} at {})",
        names.thread(ThreadId(entry.thread)),
        place.lines(false)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::run;
    use raddle_model::{Cell, Format, Gathered, Kind};

    fn file() -> TraceFile {
        let steps: [(u32, Kind, &[u32]); 4] =
            [(0, Kind::Write, &[0]), (0, Kind::Write, &[0]), (1, Kind::Read, &[0]), (1, Kind::Write, &[0])];
        let mut file = run(&["A", "B"], &steps);
        let mut values = Gathered::default();
        for (step, read, written) in [(0, None, Some(1)), (1, None, Some(2)), (2, Some(1), None)] {
            values.add((step, read, written), (ObjectId(0), 0, 8), || Cell {
                object: ObjectId(0),
                name: String::new(),
                width: 8,
                format: Format::Signed,
                names: Vec::new(),
            });
        }
        file.values = values.into_values();
        file.settings.memory = MemoryModel::Weak;
        file.picks = vec![(2, 3, 1), (3, 2, 1)];
        file
    }

    #[test]
    fn an_old_value_is_shown_with_the_newest_and_its_writer() {
        let notes = notes(&file());
        assert_eq!(notes[&2], "an old value (newest is 2, written by A at src/t.rs:1:5)");
        assert_eq!(notes[&3], "ordered before newer writes");
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn choices_of_other_runs_are_not_old_values() {
        let mut file = file();
        file.settings.memory = MemoryModel::Sc;
        assert_eq!(notes(&file), BTreeMap::new());
        file.settings.memory = MemoryModel::Weak;
        file.picks = vec![(2, 3, 0)];
        assert_eq!(notes(&file), BTreeMap::new());
    }
}
