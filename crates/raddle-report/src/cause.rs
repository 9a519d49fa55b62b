//! The cause of a failure, to recognize it in other runs.

use crate::events::Place;
use crate::failure_report::{FailureReport, PairRole};
use std::collections::BTreeSet;

/// The cause of a failure, as far as it is the same in every run that has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Cause {
    /// The kind of failure.
    pub kind: String,
    /// The locations of the two operations whose order makes the run fail; of a deadlock, those at which threads wait. Without an
    /// explanation, the location of the end.
    pub pair: String,
    /// The locations at which the run ends.
    pub end: String,
    /// The functions and files of the pair, which stay the same if code above moves its lines.
    pub functions: String,
}

impl FailureReport {
    /// Returns the cause of the failure.
    pub fn cause(&self) -> Cause {
        let end = self.end();
        let pair = |role: PairRole| {
            let pairs = self.pairs.iter().filter(|pair| pair.role == role);
            let pairs = pairs.map(|pair| [pair.first, pair.second].map(|step| step as usize).to_vec());
            // Runs of one failure may have the pairs in another order.
            pairs.min_by_key(|pair| self.places(pair.iter().copied(), Place::short))
        };
        let known = || [PairRole::Race, PairRole::Swap, PairRole::Enough].into_iter().find_map(pair);
        let steps = match self.kind() {
            "deadlock" => self.ends(),
            _ => known().unwrap_or_else(|| self.ends()),
        };
        let function = |place: &Place| match (&place.function, &place.file, &place.statement) {
            (Some(function), Some(file), _) => format!("{function} in {file}"),
            (_, Some(file), _) => file.clone(),
            (.., Some(statement)) => statement.clone(),
            _ => place.text.clone(),
        };
        Cause {
            kind: self.kind().to_owned(),
            pair: self.places(steps.iter().copied(), Place::short),
            end,
            functions: self.places(steps.iter().copied(), function),
        }
    }

    /// Returns the locations at which the run ends. Threads that wait for each other reach theirs in any order.
    pub(crate) fn end(&self) -> String {
        self.places(self.ends(), Place::short)
    }

    /// Returns the steps with which the run ends.
    fn ends(&self) -> Vec<usize> {
        let run = &self.failing;
        let last = self.last().map(|step| step as usize).filter(|&step| step < run.events.len());
        match self.kind() {
            "deadlock" => (run.executed..run.events.len()).collect(),
            _ => last.into_iter().collect(),
        }
    }

    /// Returns the locations of steps in words, each once.
    fn places(&self, steps: impl IntoIterator<Item = usize>, words: impl Fn(&Place) -> String) -> String {
        let places: BTreeSet<String> =
            steps.into_iter().filter_map(|step| self.place_of(step)).map(|place| words(&place)).collect();
        match places.is_empty() {
            true => "no place".to_owned(),
            false => places.into_iter().collect::<Vec<_>>().join(", "),
        }
    }
}
