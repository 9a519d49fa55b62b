//! Numbers for threads that stay the same from run to run.

use raddle_engine::Point;
use raddle_model::{Name, ThreadId};
use std::collections::BTreeMap;

/// Numbers thread names in the order in which they were first learnt, and maps the threads of the current run
/// to these numbers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Roster {
    numbers: BTreeMap<Name, u32>,
    /// Invariant: one entry per thread of this run seen so far.
    of_thread: Vec<Option<u32>>,
}

impl Roster {
    /// Discards the threads of the last run, but not the names.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.of_thread.clear();
    }

    /// Returns the number of a name, a new one if necessary. For learning.
    pub(crate) fn learn(&mut self, name: Name) -> usize {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(name).or_insert(next) as usize
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Looks up the threads that have appeared since the last call and returns the first of them.
    #[inline]
    pub(crate) fn update(&mut self, point: &Point<'_>) -> usize {
        let first = self.of_thread.len();
        for index in first..point.thread_count() {
            let name = point.thread_name(ThreadId(index as u32));
            self.of_thread.push(self.numbers.get(&name).copied());
        }
        first
    }

    /// Returns the number of a thread of this run, if its name was learnt.
    #[inline]
    pub(crate) fn number(&self, thread: ThreadId) -> Option<usize> {
        self.of_thread[thread.index()].map(|number| number as usize)
    }
}
