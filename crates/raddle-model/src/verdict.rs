//! The verdict of a run.

use crate::{Access, LocationId, MemoryOrder, ObjectId, ThreadId};
use serde::{Deserialize, Serialize};

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// The program ended without a failure.
    Passed,
    /// The program has a bug.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// The strategy abandoned the run because another run covers its schedule; it says nothing about the
    /// program.
    CutOff,
    /// The run reached the step limit while threads still made progress, or may have; it says nothing about the program.
    Inconclusive {
        /// The limit.
        limit: u64,
    },
}

impl Verdict {
    /// Returns the failure, if the run failed.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Verdict::Failed { failure } => Some(failure),
            Verdict::Passed | Verdict::CutOff | Verdict::Inconclusive { .. } => None,
        }
    }
}

/// A failure of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Failure {
    /// An assertion of the program failed, or the program stopped with an error of its own.
    Assertion {
        /// The thread of the assertion.
        thread: ThreadId,
        /// The location of the assertion.
        location: LocationId,
        /// The message.
        message: String,
    },
    /// Some threads wait and none can ever continue.
    Deadlock {
        /// The waiting threads.
        blocked: Vec<Blocked>,
        /// The wait-for cycle, each thread waiting for the next and the last for the first; empty if there is
        /// none (a lost wake-up, for instance).
        cycle: Vec<ThreadId>,
    },
    /// The run did not end within the step limit, and every thread that could run was spinning (a livelock),
    /// or the settings make the limit a failure in any case.
    StepLimit {
        /// The limit.
        limit: u64,
        /// The threads that were spinning at the limit.
        spinning: Vec<ThreadId>,
    },
    /// The run did not end within the limit of virtual time.
    TimeLimit {
        /// The limit, in nanoseconds.
        limit: u64,
    },
    /// A synchronisation object was misused.
    Misuse {
        /// The thread that misused it.
        thread: ThreadId,
        /// The object.
        object: ObjectId,
        /// The location.
        location: LocationId,
        /// The violated rule.
        message: String,
    },
    /// Two threads accessed the same memory, at least one of them wrote it, at least one access was not atomic, and
    /// neither happens before the other.
    DataRace {
        /// The memory.
        object: ObjectId,
        /// The access that was executed first.
        first: RacingAccess,
        /// The access that was executed later; the run ends with it.
        second: RacingAccess,
    },
    /// A signal ended the program: a crash, or a call of `abort`.
    Signal {
        /// The thread that received it.
        thread: ThreadId,
        /// The location.
        location: LocationId,
        /// Its name, such as `SIGSEGV`.
        signal: String,
        /// The address whose access was refused, for signals that have one.
        address: Option<u64>,
    },
    /// Freed memory was accessed.
    UseAfterFree {
        /// The accessing thread.
        thread: ThreadId,
        /// The code location.
        location: LocationId,
        /// The attempted access.
        access: Access,
        /// The offset in the block, in bytes.
        offset: u64,
        /// The freed block.
        block: FreedBlock,
    },
    /// Memory was freed twice.
    DoubleFree {
        /// The thread of the second free.
        thread: ThreadId,
        /// The location of the second free.
        location: LocationId,
        /// The freed block.
        block: FreedBlock,
    },
    /// The program ended, and its standard output differs from the expected output.
    Output {
        /// The file with the expected output.
        file: String,
        /// The 1-based line of the first difference.
        line: u64,
        /// Number of bytes before the first difference.
        byte: u64,
        /// Number of bytes that the program wrote, and number expected.
        lengths: (u64, u64),
    },
    /// The program ended with a nonzero exit status, which was configured as a failure.
    Exit {
        /// The status, as a waiting parent process sees it.
        status: i32,
    },
    /// A Rust program ended because of a panic.
    Panic {
        /// The panic that ended it.
        last: Panicked,
        /// Earlier panics of other threads, which may be its cause.
        before: Vec<Panicked>,
    },
}

impl Failure {
    /// Returns a one-word name of the kind of failure, as used in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Assertion { .. } => "assertion",
            Failure::Deadlock { .. } => "deadlock",
            Failure::StepLimit { .. } => "step-limit",
            Failure::TimeLimit { .. } => "time-limit",
            Failure::Misuse { .. } => "misuse",
            Failure::DataRace { .. } => "data-race",
            Failure::Signal { signal, .. } if signal == "SIGABRT" => "abort",
            Failure::Signal { .. } => "signal",
            Failure::UseAfterFree { .. } => "use-after-free",
            Failure::DoubleFree { .. } => "double-free",
            Failure::Output { .. } => "output",
            Failure::Exit { .. } => "exit",
            Failure::Panic { .. } => "panic",
        }
    }
}

/// A panic, as the program itself reported it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Panicked {
    /// The name of the thread in the program.
    pub thread: String,
    /// Its location: file, line and column.
    pub place: String,
    /// Its message, which may have several lines.
    pub message: String,
}

/// One of the two accesses of a data race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RacingAccess {
    /// The accessing thread.
    pub thread: ThreadId,
    /// The index of the event in the run, from 0.
    pub step: u32,
    /// The code location.
    pub location: LocationId,
    /// The access.
    pub access: Access,
    /// [`MemoryOrder::Plain`] for at least one of the two.
    pub order: MemoryOrder,
}

/// A block of memory that was allocated and freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FreedBlock {
    /// Its address.
    pub address: u64,
    /// The requested size, in bytes.
    pub size: u64,
    /// The allocating thread.
    pub allocated_by: ThreadId,
    /// The location of the allocation.
    pub allocated_at: LocationId,
    /// The thread that freed it.
    pub freed_by: ThreadId,
    /// The location of the free.
    pub freed_at: LocationId,
}

/// A thread that cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// The thread.
    pub thread: ThreadId,
    /// The reason.
    pub reason: BlockReason,
    /// The object it waits for; for a join, the object that represents the thread.
    pub object: Option<ObjectId>,
    /// The location of the wait.
    pub location: LocationId,
    /// The threads that could let it continue, if known: holders of a lock, the thread joined.
    pub held_by: Vec<ThreadId>,
}

/// The reason why a thread cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockReason {
    /// A mutex is held.
    Mutex,
    /// A read-write lock is held.
    ReadWriteLock,
    /// No signal has come.
    Condition,
    /// A semaphore is zero.
    Semaphore,
    /// Some threads have not arrived at a barrier.
    Barrier,
    /// A one-time initialisation is not over.
    Once,
    /// A thread has not ended.
    Join,
    /// A channel is empty, or full, or has no receiver waiting.
    Channel,
    /// The thread's token is not available.
    Park,
    /// A system call waits for something that has not come, and no thread is left that could send it.
    Descriptor,
    /// No message has come that it is ready to take.
    Mailbox,
}
