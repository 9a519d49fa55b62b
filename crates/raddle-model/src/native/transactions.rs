//! The division of a program's operations into transactions, and their accesses.

use serde::{Deserialize, Serialize};

/// The division of operations of a data structure into transactions, inside which a thread is not interrupted. Addresses
/// are offsets in the program, from its first page in memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Transactions {
    /// The first instructions of the functions that are operations, sorted.
    pub operations: Vec<u64>,
    /// The number of accesses to shared memory in a transaction; `None` if `before` and `after` say where one begins.
    pub size: Option<u64>,
    /// The accesses before which a transaction begins, each by an address in its call of a hook, sorted.
    pub before: Vec<u64>,
    /// The accesses after which a transaction begins, likewise.
    pub after: Vec<u64>,
    /// True if the accesses of the operations are to be reported ([`RunResult::sites`](super::RunResult)).
    pub sites: bool,
}

/// A memory access of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Site {
    /// An address in its call of a hook, as in [`Transactions`].
    pub offset: u64,
    /// The first instruction of the operation.
    pub operation: u64,
    /// True if it reads.
    pub reads: bool,
    /// True if it writes.
    pub writes: bool,
    /// True if it was a scheduling point: several threads touch the memory.
    pub shared: bool,
}
