//! The operations of one step of the search: one operation, or those of a transaction.

use raddle_model::{Event, Operation, Reads, dependent};

/// The executed operations of one thread between two choices.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// The first one, which is known before the step.
    pub(super) first: Operation,
    /// The others that touch something, without repetitions. Empty outside transactions.
    rest: Vec<Operation>,
}

impl Transaction {
    /// Returns the transaction that consists of `events`, of which there is at least one.
    pub(super) fn of(events: &[Event]) -> Transaction {
        let mut rest: Vec<Operation> = Vec::new();
        for event in &events[1..] {
            if !rest.iter().any(|known| known.touches == event.operation.touches) {
                rest.push(event.operation);
            }
        }
        Transaction { first: events[0].operation, rest }
    }

    /// Iterates over the operations.
    pub(super) fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// Returns true if one of the operations is dependent on one of `others`, which another thread executes.
    pub(super) fn depends_on(&self, mut others: impl Iterator<Item = Operation>) -> bool {
        others.any(|other| self.operations().any(|own| dependent(&own, &other, Reads::Independent)))
    }
}
