//! Transactions: the operations of a data structure, and where in them a transaction begins.
//!
//! A program that was compiled for this calls a hook at the beginning and the end of each function. The engine lets nothing
//! come between the accesses of one transaction.

use raddle_model::native::{Site, Transactions};
use raddle_model::{Kind, ThreadId};
use std::collections::BTreeMap;

/// The transactions of the runs of a server, with addresses in memory.
pub(crate) struct Division {
    transactions: Transactions,
    /// The address of the program in memory.
    base: u64,
}

impl Division {
    pub(crate) fn new(mut transactions: Transactions, base: u64) -> Division {
        let Transactions { operations, before, after, .. } = &mut transactions;
        operations.iter_mut().for_each(|offset| *offset += base);
        // A hook knows the address after its call.
        before.iter_mut().chain(after).for_each(|offset| *offset += base + 1);
        Division { transactions, base }
    }

    /// Returns true if a transaction begins with access number `count` of an operation, at `place`.
    fn begins_before(&self, place: u64, count: u64) -> bool {
        match self.transactions.size {
            Some(size) => count.is_multiple_of(size),
            None => self.transactions.before.binary_search(&place).is_ok(),
        }
    }

    fn begins_after(&self, place: u64) -> bool {
        self.transactions.after.binary_search(&place).is_ok()
    }
}

/// The operation that a thread executes.
#[derive(Clone, Copy, Default)]
struct Current {
    /// The number of calls of operations that have not returned: one operation may call another.
    depth: u32,
    /// The outermost one.
    operation: u64,
    /// True if the next access begins a transaction.
    fresh: bool,
    /// The number of accesses to shared memory.
    count: u64,
}

/// The transactions of a run.
pub(crate) struct Progress {
    division: &'static Division,
    /// Per thread.
    threads: Vec<Current>,
    /// The accesses of operations: what they did, by operation and address.
    sites: BTreeMap<(u64, u64), Accessed>,
}

/// What an instruction has done.
#[derive(Clone, Copy, Default)]
struct Accessed {
    reads: bool,
    writes: bool,
    shared: bool,
}

impl Progress {
    pub(crate) fn new(division: &'static Division) -> Progress {
        Progress { division, threads: Vec::new(), sites: BTreeMap::new() }
    }

    fn of(&mut self, thread: ThreadId) -> &mut Current {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Current::default());
        }
        &mut self.threads[thread.index()]
    }

    /// Records that a thread calls a function.
    pub(super) fn enter(&mut self, thread: ThreadId, function: u64) {
        if self.division.transactions.operations.binary_search(&function).is_err() {
            return;
        }
        let current = self.of(thread);
        if current.depth == 0 {
            *current = Current { depth: 0, operation: function, fresh: true, count: 0 };
        }
        current.depth += 1;
    }

    /// Records that a function returns.
    pub(super) fn leave(&mut self, thread: ThreadId, function: u64) {
        if self.division.transactions.operations.binary_search(&function).is_ok() {
            let current = self.of(thread);
            current.depth = current.depth.saturating_sub(1);
        }
    }

    /// Records an access. Returns true if it continues a transaction.
    pub(super) fn access(&mut self, thread: ThreadId, kind: Kind, place: u64, shared: bool) -> bool {
        let division = self.division;
        let current = self.of(thread);
        if current.depth == 0 {
            return false;
        }
        current.fresh |= division.begins_before(place, current.count);
        let continues = !current.fresh;
        if shared {
            current.fresh = false;
            current.count += 1;
        }
        current.fresh |= division.begins_after(place);
        if division.transactions.sites {
            let entry = self.sites.entry((self.threads[thread.index()].operation, place)).or_default();
            entry.reads |= kind.reads_memory();
            entry.writes |= kind.writes_memory();
            entry.shared |= shared;
        }
        continues
    }

    /// Records a step that is no access. Returns true if it continues a transaction.
    pub(super) fn synchronize(&mut self, thread: ThreadId) -> bool {
        let current = self.of(thread);
        current.depth > 0 && !std::mem::take(&mut current.fresh)
    }

    /// Returns the accesses of the operations.
    pub(crate) fn sites(&self) -> Vec<Site> {
        let base = self.division.base;
        let site = |(&(operation, place), &Accessed { reads, writes, shared })| Site {
            offset: place - 1 - base,
            operation: operation - base,
            reads,
            writes,
            shared,
        };
        self.sites.iter().map(site).collect()
    }
}
