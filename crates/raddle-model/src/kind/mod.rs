//! The kinds of operations, and the one table of their properties.
//!
//! A new kind needs a variant in [`Kind`], a row in `info.rs`, and its semantics in raddle-engine. Nothing compiles before
//! these exist: every match over `Kind` lists all variants. The rest of the workspace reads [`Kind::info`].
//!
//! The compiler accepts a wildcard arm, so the test `tests/kinds.rs` of raddle-engine rejects it: it parses the sources of the workspace and
//! fails on a match over `Kind` with a catch-all arm, on a `matches!` that lists several kinds, and on `<` or `>` with a kind.
//! Clippy's `wildcard_enum_match_arm` would be the alternative, but it applies to all enums of a function or crate, and most
//! wildcards over `Resource` or `Reply` are meant.

mod info;

pub use info::{Handoff, Holding, KindInfo, LockMode, Memory, Notifies, Progress, Token, Waits};

use serde::{Deserialize, Serialize};

/// Declares an enum and the list of its variants.
macro_rules! listed {
    ($(#[$outer:meta])* pub enum $name:ident { $($(#[$inner:meta])* $variant:ident,)* }) => {
        $(#[$outer])*
        pub enum $name {
            $($(#[$inner])* $variant,)*
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
        }
    };
}

listed! {
/// The kind of an operation. [`Kind::info`] has its properties, and the engine its semantics.
///
/// Failure files store the names of kinds, so a variant is never renamed or removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Kind {
    /// A step that touches no shared object.
    Local,
    /// Reads shared memory.
    Read,
    /// Writes shared memory.
    Write,
    /// Reads and writes shared memory in one step.
    ReadModifyWrite,
    /// Acquires a mutex; waits while another thread holds it.
    Lock,
    /// Acquires a mutex if it is free; never waits.
    TryLock,
    /// Releases a mutex.
    Unlock,
    /// Acquires a read-write lock for reading.
    ReadLock,
    /// Acquires a read-write lock for writing.
    WriteLock,
    /// Releases a read-write lock, in whichever mode this thread holds it.
    ReadWriteUnlock,
    /// Releases a mutex and starts to wait on a condition variable, in one step.
    ConditionWait,
    /// The second half of a wait: takes the mutex back after a signal or a timeout.
    ConditionReacquire,
    /// Wakes one waiter of a condition variable; which one is a choice.
    Signal,
    /// Wakes every waiter of a condition variable.
    Broadcast,
    /// Decrements a semaphore; waits while it is zero.
    SemaphoreWait,
    /// Decrements a semaphore if it is above zero; never waits.
    SemaphoreTryWait,
    /// Increments a semaphore.
    SemaphorePost,
    /// Arrives at a barrier; the thread continues when the last one has arrived.
    Barrier,
    /// Enters a one-time initialisation: the first thread runs it, the others wait until it is over.
    OnceBegin,
    /// Ends a one-time initialisation. With the argument 0 it was abandoned, and the next thread runs it.
    OnceEnd,
    /// Creates a thread.
    Spawn,
    /// Waits for a thread to end.
    Join,
    /// Lets others run.
    Yield,
    /// Waits for a span of virtual time.
    Sleep,
    /// Asks the strategy for a number below `argument`.
    Choose,
    /// Orders memory accesses; under sequential consistency its only effect is on data races.
    Fence,
    /// Ends the life of a synchronisation object; any later use is misuse.
    Destroy,
    /// Ends the whole program, whatever the other threads were about to do.
    Exit,
    /// Acquires a read-write lock for reading if no thread holds it for writing; never waits.
    TryReadLock,
    /// Acquires a read-write lock for writing if no thread holds it; never waits.
    TryWriteLock,
    /// Asks whether a one-time initialisation is over; never waits.
    OnceTry,
    /// Puts a value into a channel; waits while the channel is full.
    Send,
    /// Puts a value into a channel if there is room; never waits.
    TrySend,
    /// The second half of a send into a channel without a buffer: waits until value number `argument` was taken.
    SendEnd,
    /// Announces that the receiver of a channel without a buffer starts to wait.
    ReceiveBegin,
    /// Takes the oldest value out of a channel; waits while it is empty and a sender remains.
    Receive,
    /// Takes the oldest value out of a channel if there is one; never waits.
    TryReceive,
    /// Drops the receiver of a channel (argument 1) or one of its senders (argument 0).
    Close,
    /// Takes the token of the own thread; waits until it is available.
    Park,
    /// Makes the token of a thread available, if it is not.
    Unpark,
    /// Turns the own write lock into a read lock, in one step.
    Downgrade,
    /// Waits until a one-time initialisation is over; with the argument 0, at most until it is abandoned.
    OnceWait,
    /// Starts a created thread, before anything that it does, or continues its creator.
    Start,
    /// Begins to park: asks the strategy whether the wait ends at once, without a token.
    ParkBegin,
    /// Acquires a read lock on a read-write lock that this thread already holds for reading: asks the
    /// strategy whether it waits behind arriving writers until nothing else can run.
    ReadLockAgain,
    /// Begins a call of an operation of a structure under test.
    Call,
    /// Ends a call of an operation of a structure under test.
    Return,
    /// Moves what is in flight on a connection to its receiver; waits until something is. Asks the strategy for a number
    /// below `argument`: how it is moved.
    Deliver,
}
}

/// The rows of the table, indexed by kind.
static TABLE: [KindInfo; Kind::ALL.len()] = {
    let mut table = [Kind::Local.row(); Kind::ALL.len()];
    let mut index = 0;
    while index < table.len() {
        table[Kind::ALL[index] as usize] = Kind::ALL[index].row();
        index += 1;
    }
    table
};

/// The kinds that never wait and take no lock, as bits.
const PROMPT: u64 = {
    let (mut bits, mut index) = (0, 0);
    while index < Kind::ALL.len() {
        let row = Kind::ALL[index].row();
        let takes_lock = matches!(row.holding, Holding::Takes(_) | Holding::Tries(_));
        let waits = !matches!(row.waits, Waits::Never) || row.timed;
        bits |= ((!waits && !takes_lock) as u64) << Kind::ALL[index] as u32;
        index += 1;
    }
    bits
};

/// The kinds of synchronisation whose thread continues at once where the operation is enabled, without a question to the
/// strategy, as bits.
const DIRECT: u64 = {
    let (mut bits, mut index) = (0, 0);
    while index < Kind::ALL.len() {
        let row = Kind::ALL[index].row();
        let continues = matches!(row.waits, Waits::Never | Waits::Before(_));
        let begins = !matches!(row.holding, Holding::TakesBack);
        let is_direct = continues && begins && !row.asks && matches!(row.memory, Memory::None);
        bits |= (is_direct as u64) << Kind::ALL[index] as u32;
        index += 1;
    }
    bits
};

impl Kind {
    /// Returns true for synchronisation whose thread continues at once where the operation is enabled, and that asks the
    /// strategy for nothing.
    #[inline]
    pub const fn is_direct(self) -> bool {
        DIRECT >> self as u32 & 1 == 1
    }

    /// Returns true for operations that never wait and take no lock.
    #[inline]
    pub const fn is_prompt(self) -> bool {
        PROMPT >> self as u32 & 1 == 1
    }

    /// Returns the properties of this kind.
    #[inline]
    pub fn info(self) -> &'static KindInfo {
        &TABLE[self as usize]
    }

    /// Returns true for memory accesses and local steps: they never wait, and enable or disable no thread.
    #[inline]
    pub const fn is_memory(self) -> bool {
        // One comparison, thanks to the order of the variants: every step asks this.
        self as u32 <= Kind::ReadModifyWrite as u32
    }

    /// Returns true for accesses that write shared memory.
    #[inline]
    pub const fn writes_memory(self) -> bool {
        self as u32 >= Kind::Write as u32 && self.is_memory()
    }

    /// Returns true for accesses that read shared memory.
    #[inline]
    pub fn reads_memory(self) -> bool {
        self.info().memory.reads()
    }

    /// Returns true for accesses to shared memory.
    #[inline]
    pub fn accesses_memory(self) -> bool {
        self.reads_memory() || self.writes_memory()
    }
}

/// The comparisons of [`Kind::is_memory`] and [`Kind::writes_memory`] agree with the table.
const _: () = {
    let mut index = 0;
    while index < Kind::ALL.len() {
        let (kind, memory) = (Kind::ALL[index], Kind::ALL[index].row().memory);
        assert!(kind as usize == index, "the list of kinds is not in order");
        assert!(kind.is_memory() != matches!(memory, Memory::None), "memory kinds come first");
        assert!(kind.writes_memory() == memory.writes(), "kinds that write memory follow those that do not");
        index += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_failure_files_stay() {
        let names: Vec<String> = Kind::ALL
            .iter()
            .map(|kind| serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            names.join(" "),
            "local read write read-modify-write lock try-lock unlock read-lock write-lock read-write-unlock \
             condition-wait condition-reacquire signal broadcast semaphore-wait semaphore-try-wait semaphore-post \
             barrier once-begin once-end spawn join yield sleep choose fence destroy exit try-read-lock \
             try-write-lock once-try send try-send send-end receive-begin receive try-receive close park unpark \
             downgrade once-wait start park-begin read-lock-again call return deliver"
        );
    }

    #[test]
    fn rows_are_consistent() {
        for kind in Kind::ALL {
            let info = kind.info();
            assert!(!info.verb.is_empty() && !info.past.is_empty(), "{kind:?}");
            assert!(!info.attempt || info.waits == Waits::Never, "an attempt never waits: {kind:?}");
            let waits = matches!(info.waits, Waits::Before(_) | Waits::Inside(_) | Waits::Time);
            assert!(!info.timed || waits, "only a wait has a time limit: {kind:?}");
            let takes = matches!(info.holding, Holding::Takes(_) | Holding::TakesBack);
            assert!(!takes || matches!(info.waits, Waits::Before(_)), "taking a lock may wait: {kind:?}");
            assert_eq!(matches!(info.holding, Holding::Tries(_)), info.progress == Progress::LockIfAcquired);
            assert!(
                !kind.is_memory() || info.waits == Waits::Never && info.holding == Holding::None,
                "{kind:?}"
            );
        }
    }
}
