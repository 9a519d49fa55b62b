//! How a run ended.

use crate::{Access, LocationId, MemoryOrder, ObjectId, ThreadId};
use serde::{Deserialize, Serialize};

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// The program ended and nothing was wrong.
    Passed,
    /// The program is wrong.
    Failed {
        /// What was wrong.
        failure: Failure,
    },
    /// The strategy gave the run up because its schedule is covered by another one; it says nothing about the program.
    CutOff,
    /// The run reached the step limit while threads still made progress, or may have; it says nothing about the program.
    Inconclusive {
        /// The limit.
        limit: u64,
    },
}

impl Verdict {
    /// The failure, if the run failed.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Verdict::Failed { failure } => Some(failure),
            Verdict::Passed | Verdict::CutOff | Verdict::Inconclusive { .. } => None,
        }
    }
}

/// What was wrong with a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Failure {
    /// An assertion of the program did not hold, or it stopped with an error of its own.
    Assertion {
        /// Whose assertion it was.
        thread: ThreadId,
        /// Where it stands.
        location: LocationId,
        /// What it says.
        message: String,
    },
    /// Some threads wait and none can ever go on.
    Deadlock {
        /// Every thread that waits.
        blocked: Vec<Blocked>,
        /// Threads that wait for one another in a ring, each for the next and the last for the first; empty if
        /// there is no ring (a lost wake-up, for instance).
        cycle: Vec<ThreadId>,
    },
    /// The run did not end within the allowed number of steps, and every thread that could go on was spinning (a livelock), or the
    /// settings make the limit a failure in any case.
    StepLimit {
        /// The limit.
        limit: u64,
        /// The threads that were spinning when it was reached.
        spinning: Vec<ThreadId>,
    },
    /// The run did not end within the allowed virtual time.
    TimeLimit {
        /// The limit, in nanoseconds.
        limit: u64,
    },
    /// A synchronisation object was used against its rules.
    Misuse {
        /// Who used it.
        thread: ThreadId,
        /// Which object.
        object: ObjectId,
        /// Where.
        location: LocationId,
        /// Against which rule.
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
        /// Who got it.
        thread: ThreadId,
        /// Where.
        location: LocationId,
        /// Its name, such as `SIGSEGV`.
        signal: String,
        /// The address whose access was refused, for signals that have one.
        address: Option<u64>,
    },
    /// Memory was accessed that had been given back.
    UseAfterFree {
        /// Whose access it was.
        thread: ThreadId,
        /// Where it stands.
        location: LocationId,
        /// Whether it would have read or written.
        access: Access,
        /// How many bytes after the beginning of the block.
        offset: u64,
        /// What was freed.
        block: FreedBlock,
    },
    /// Memory was given back a second time.
    DoubleFree {
        /// Who did it.
        thread: ThreadId,
        /// Where.
        location: LocationId,
        /// What had been freed before.
        block: FreedBlock,
    },
    /// The program ended, and its standard output was not the expected one.
    Output {
        /// The file with the expected output.
        file: String,
        /// In which line the first difference is, from 1.
        line: u64,
        /// How many bytes are the same.
        byte: u64,
        /// How many bytes the program wrote, and how many were expected.
        lengths: (u64, u64),
    },
    /// The program ended with a status that is not 0, where that was not allowed.
    Exit {
        /// The status, as whoever waits for the process sees it.
        status: i32,
    },
    /// A Rust program ended because of a panic.
    Panic {
        /// The one that ended it.
        last: Panicked,
        /// Those of other threads before it, which may be its cause.
        before: Vec<Panicked>,
    },
}

impl Failure {
    /// A one-word name of the kind of failure, as it appears in files.
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

/// A panic, as the program itself tells it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Panicked {
    /// The name that the thread has in the program.
    pub thread: String,
    /// Where it stands: file, line and column.
    pub place: String,
    /// What it says; may have several lines.
    pub message: String,
}

/// One of the two accesses of a data race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RacingAccess {
    /// Whose access it was.
    pub thread: ThreadId,
    /// Which event of the run it was, from 0.
    pub step: u32,
    /// Where it stands.
    pub location: LocationId,
    /// Whether it read or wrote.
    pub access: Access,
    /// [`MemoryOrder::Plain`] for at least one of the two.
    pub order: MemoryOrder,
}

/// A block of memory that was allocated and freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FreedBlock {
    /// Where it begins.
    pub address: u64,
    /// How many bytes were asked for.
    pub size: u64,
    /// Who allocated it.
    pub allocated_by: ThreadId,
    /// Where it was allocated.
    pub allocated_at: LocationId,
    /// Who freed it.
    pub freed_by: ThreadId,
    /// Where it was freed.
    pub freed_at: LocationId,
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// The thread.
    pub thread: ThreadId,
    /// Why it waits.
    pub reason: BlockReason,
    /// What it waits for; for a join, the object that stands for the thread.
    pub object: Option<ObjectId>,
    /// Where it waits.
    pub location: LocationId,
    /// The threads that could let it go on, if that is known: holders of a lock, the thread joined.
    pub held_by: Vec<ThreadId>,
}

/// Why a thread cannot go on.
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
    /// Not everybody has arrived at a barrier.
    Barrier,
    /// A one-time initialisation is not over.
    Once,
    /// A thread has not ended.
    Join,
    /// A channel is empty, or full, or has no receiver waiting.
    Channel,
    /// The thread's token is not there.
    Park,
    /// Nothing has come that a call of the operating system waits for, and nobody is left who could send it.
    Descriptor,
    /// No message has come that it is ready to take.
    Mailbox,
}
