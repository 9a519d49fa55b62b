//! The atomics of a run under weak memory; [`weak`](crate::child::weak) announces accesses to them.

use raddle_model::{ObjectId, ThreadId};
use std::collections::BTreeMap;

/// See the module documentation.
#[derive(Default)]
pub(crate) struct Atomics {
    /// By address: the object, and its size in bytes.
    pub(super) known: BTreeMap<usize, (ObjectId, usize)>,
    /// The addresses of futexes.
    pub(super) futexes: Vec<usize>,
    /// Per thread: the address of the atomic that it accessed last.
    pub(super) latest: Vec<usize>,
}

impl Atomics {
    /// Records that there is a futex at an address.
    pub(crate) fn watch(&mut self, address: usize) {
        if !self.futexes.contains(&address) {
            self.futexes.push(address);
        }
    }

    pub(super) fn note_access(&mut self, thread: ThreadId, address: usize) {
        if self.latest.len() <= thread.index() {
            self.latest.resize(thread.index() + 1, 0);
        }
        self.latest[thread.index()] = address;
    }
}
