//! The table: one row for each kind.

use super::Kind;
use crate::BlockReason;

/// The properties of a [`Kind`] that other parts of Raddle read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindInfo {
    /// The verb in a list of steps, followed by the object: `lock m`.
    pub verb: &'static str,
    /// The past tense in a sentence, followed by the object: `T1 locked m`.
    pub past: &'static str,
    /// False if a list of steps omits the object.
    pub names_object: bool,
    /// The access to shared memory.
    pub memory: Memory,
    /// The change to who holds a lock or runs an initialisation.
    pub holding: Holding,
    /// The reason for which the thread may have to wait.
    pub waits: Waits,
    /// True if the argument of the operation is the time limit of the wait, or [`Operation::UNTIMED`](crate::Operation).
    pub timed: bool,
    /// True if the operation can fail instead of waiting.
    pub attempt: bool,
    /// True if the strategy may be asked for a number in the step.
    pub asks: bool,
    /// The effect on other threads, for the detection of spin loops.
    pub progress: Progress,
    /// The waiters of a condition variable that the operation wakes.
    pub notifies: Notifies,
    /// The token that passes from one thread to another, and orders them in other runs too.
    pub handoff: Handoff,
    /// True if the operation may order threads by more than locks and memory: iRoots are not predicted across it.
    pub orders: bool,
    /// True if an explanation may try the operation before an earlier step of another thread. The others only end or continue
    /// something, and cannot come earlier by themselves.
    pub reversible: bool,
}

/// An access to shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// The operation is synchronisation: it may wait, or change who can run.
    None,
    /// A step without an access.
    Local,
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read and a write in one step.
    Update,
}

impl Memory {
    pub(super) const fn reads(self) -> bool {
        matches!(self, Memory::Read | Memory::Update)
    }

    pub(super) const fn writes(self) -> bool {
        matches!(self, Memory::Write | Memory::Update)
    }
}

/// A change to who holds the first object of an operation, if the operation succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding {
    /// No change.
    None,
    /// Takes a lock, after waiting for it.
    Takes(LockMode),
    /// Takes a lock if it is free.
    Tries(LockMode),
    /// Takes a mutex back after waiting on a condition variable.
    TakesBack,
    /// Releases a lock.
    GivesBack,
    /// Releases the mutex, which is the second object, and waits on the condition variable.
    GivesBackToWait,
    /// Turns a lock for writing into one for reading.
    Downgrades,
    /// Begins a one-time initialisation, unless it is over.
    BeginsOnce,
    /// Observes or awaits the end of a one-time initialisation.
    AwaitsOnce,
    /// Ends a one-time initialisation.
    EndsOnce,
}

impl Holding {
    /// Returns the mode in which the lock is held after the operation took it, waiting or not.
    #[inline]
    pub fn takes(self) -> Option<LockMode> {
        match self {
            Holding::Takes(mode) | Holding::Tries(mode) => Some(mode),
            Holding::TakesBack => Some(LockMode::Exclusive),
            Holding::None | Holding::GivesBack | Holding::GivesBackToWait | Holding::Downgrades => None,
            Holding::BeginsOnce | Holding::AwaitsOnce | Holding::EndsOnce => None,
        }
    }

    /// Returns true if the operation releases a lock, including to wait on a condition variable.
    #[inline]
    pub fn gives_back(self) -> bool {
        matches!(self, Holding::GivesBack | Holding::GivesBackToWait)
    }
}

/// The way a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockMode {
    /// Others may hold the lock in the same way.
    Shared,
    /// No other thread holds the lock.
    Exclusive,
}

/// The condition for which an operation waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// Never.
    Never,
    /// The operation is not enabled before it can succeed.
    Before(BlockReason),
    /// The operation is executed, and then its thread waits.
    Inside(BlockReason),
    /// For virtual time to pass.
    Time,
    /// Until nothing else can run, if the settings of the run say so.
    Quiet,
}

/// The effect of an executed operation on other threads, for the detection of spin loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// None: a thread that only repeats such operations spins.
    None,
    /// A lasting effect if the operation acquired something.
    IfAcquired,
    /// A lasting effect.
    Lasting,
    /// None once a lock has been taken and released.
    Lock,
    /// As [`Progress::Lock`] if the operation acquired the lock, and none otherwise.
    LockIfAcquired,
    /// The operation says nothing about spinning.
    Ignored,
}

/// The waiters of a condition variable that an operation wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notifies {
    /// None.
    None,
    /// One; which one is a choice.
    One,
    /// All.
    All,
}

/// A token that passes from one thread to another through an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handoff {
    /// Nothing.
    None,
    /// The operation makes this available.
    Gives(Token),
    /// The operation takes or observes this.
    Takes(Token),
}

/// Something that one thread makes available and another one takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// A unit of a semaphore.
    Permit,
    /// A value in a channel or mailbox.
    Message,
    /// The token of a parked thread.
    Wakeup,
    /// A finished one-time initialisation.
    Initialisation,
    /// The end of a channel.
    Closing,
}

/// Starts a row with the properties that most kinds have.
const fn row(verb: &'static str, past: &'static str) -> KindInfo {
    KindInfo {
        verb,
        past,
        names_object: true,
        memory: Memory::None,
        holding: Holding::None,
        waits: Waits::Never,
        timed: false,
        attempt: false,
        asks: false,
        progress: Progress::Lasting,
        notifies: Notifies::None,
        handoff: Handoff::None,
        orders: true,
        reversible: true,
    }
}

impl KindInfo {
    const fn anonymous(self) -> KindInfo {
        KindInfo { names_object: false, ..self }
    }

    const fn memory(self, memory: Memory) -> KindInfo {
        KindInfo { memory, orders: false, ..self }
    }

    const fn holding(self, holding: Holding) -> KindInfo {
        KindInfo { holding, ..self }
    }

    const fn waits(self, waits: Waits) -> KindInfo {
        KindInfo { waits, ..self }
    }

    const fn timed(self) -> KindInfo {
        KindInfo { timed: true, ..self }
    }

    const fn attempt(self) -> KindInfo {
        KindInfo { attempt: true, ..self }
    }

    const fn asks(self) -> KindInfo {
        KindInfo { asks: true, ..self }
    }

    const fn progress(self, progress: Progress) -> KindInfo {
        KindInfo { progress, ..self }
    }

    const fn notifies(self, notifies: Notifies) -> KindInfo {
        KindInfo { notifies, ..self }
    }

    const fn gives(self, token: Token) -> KindInfo {
        KindInfo { handoff: Handoff::Gives(token), ..self }
    }

    const fn takes(self, token: Token) -> KindInfo {
        KindInfo { handoff: Handoff::Takes(token), ..self }
    }

    /// Marks the operation as one whose order holds for this run only, such as that of a lock.
    const fn unordered(self) -> KindInfo {
        KindInfo { orders: false, ..self }
    }

    const fn irreversible(self) -> KindInfo {
        KindInfo { reversible: false, ..self }
    }
}

/// Starts a row of a lock operation with its effects on the lock and on spinning.
const fn lock(verb: &'static str, past: &'static str, holding: Holding, progress: Progress) -> KindInfo {
    row(verb, past).holding(holding).progress(progress).unordered()
}

/// Starts a row of an operation that only marks a moment of a run. Its objects say which other moments it may not be swapped
/// with; they are not the program's.
const fn marker(verb: &'static str, past: &'static str) -> KindInfo {
    row(verb, past).anonymous().progress(Progress::Ignored).unordered().irreversible()
}

impl Kind {
    /// The table. Rows state what differs from [`row`].
    pub(super) const fn row(self) -> KindInfo {
        use BlockReason as Reason;
        use Holding::{
            AwaitsOnce, BeginsOnce, Downgrades, EndsOnce, GivesBack, GivesBackToWait, Takes, TakesBack, Tries,
        };
        use LockMode::{Exclusive, Shared};
        use Token::{Closing, Initialisation, Message, Permit, Wakeup};
        use Waits::{Before, Inside, Quiet, Time};
        match self {
            Kind::Local => row("step", "took a step with").memory(Memory::Local).progress(Progress::Ignored),
            Kind::Read => row("read", "read").memory(Memory::Read).progress(Progress::None),
            Kind::Write => row("write", "wrote").memory(Memory::Write),
            Kind::ReadModifyWrite => row("update", "updated").memory(Memory::Update),
            Kind::Lock => {
                lock("lock", "locked", Takes(Exclusive), Progress::Lock).waits(Before(Reason::Mutex)).timed()
            }
            Kind::TryLock => {
                lock("try to lock", "tried to lock", Tries(Exclusive), Progress::LockIfAcquired).attempt()
            }
            Kind::Unlock => lock("unlock", "unlocked", GivesBack, Progress::Lock).irreversible(),
            Kind::ReadLock => lock("lock for reading", "read-locked", Takes(Shared), Progress::Lock)
                .waits(Before(Reason::ReadWriteLock))
                .timed(),
            Kind::WriteLock => lock("lock for writing", "write-locked", Takes(Exclusive), Progress::Lock)
                .waits(Before(Reason::ReadWriteLock))
                .timed(),
            Kind::TryReadLock => {
                lock("try to lock for reading", "tried to read-lock", Tries(Shared), Progress::LockIfAcquired)
                    .attempt()
            }
            Kind::TryWriteLock => lock(
                "try to lock for writing",
                "tried to write-lock",
                Tries(Exclusive),
                Progress::LockIfAcquired,
            )
            .attempt(),
            Kind::ReadWriteUnlock => lock("unlock", "unlocked", GivesBack, Progress::Lock).irreversible(),
            Kind::Downgrade => row("downgrade", "downgraded").holding(Downgrades),
            Kind::ConditionWait => {
                row("wait", "waited with").holding(GivesBackToWait).waits(Inside(Reason::Condition)).timed()
            }
            Kind::ConditionReacquire => {
                // The wait, and its time limit, began earlier.
                row("lock again", "took back").holding(TakesBack).waits(Before(Reason::Condition))
            }
            Kind::Signal => row("notify one", "notified one waiter of").asks().notifies(Notifies::One),
            Kind::Broadcast => row("notify all", "notified all waiters of").notifies(Notifies::All),
            Kind::SemaphoreWait => {
                row("acquire", "acquired").waits(Before(Reason::Semaphore)).timed().takes(Permit)
            }
            Kind::SemaphoreTryWait => row("try to acquire", "tried to acquire")
                .attempt()
                .progress(Progress::IfAcquired)
                .takes(Permit),
            Kind::SemaphorePost => row("release", "released").gives(Permit),
            Kind::Barrier => row("arrive", "arrived at").asks().waits(Inside(Reason::Barrier)),
            Kind::OnceBegin => row("begin once", "came to")
                .holding(BeginsOnce)
                .waits(Before(Reason::Once))
                .takes(Initialisation),
            Kind::OnceEnd => row("end once", "initialised").holding(EndsOnce).gives(Initialisation),
            Kind::OnceTry => row("look at once", "looked at")
                .holding(AwaitsOnce)
                .attempt()
                .progress(Progress::None)
                .takes(Initialisation),
            Kind::OnceWait => row("wait for once", "waited for")
                .holding(AwaitsOnce)
                .waits(Before(Reason::Once))
                .takes(Initialisation),
            Kind::Spawn => row("spawn", "started").anonymous().irreversible(),
            Kind::Join => row("join", "joined").waits(Before(Reason::Join)).timed().irreversible(),
            Kind::Yield => row("yield", "yielded").anonymous().progress(Progress::None).unordered(),
            Kind::Sleep => row("sleep", "slept").waits(Time).timed().progress(Progress::None).unordered(),
            Kind::Choose => row("choose", "chose").asks().progress(Progress::Ignored).unordered(),
            Kind::Fence => row("fence", "passed a fence").progress(Progress::None).unordered(),
            Kind::Destroy => row("destroy", "destroyed"),
            Kind::Exit => row("exit", "ended the program").waits(Quiet).irreversible(),
            Kind::Send => row("send", "sent to").waits(Before(Reason::Channel)).gives(Message),
            Kind::TrySend => {
                row("try to send", "tried to send to").attempt().progress(Progress::IfAcquired).gives(Message)
            }
            Kind::SendEnd => row("end send", "ended a send to").waits(Before(Reason::Channel)),
            Kind::ReceiveBegin => row("begin receive", "began to receive from"),
            Kind::Receive => {
                row("receive", "received from").waits(Before(Reason::Channel)).timed().takes(Message)
            }
            Kind::TryReceive => row("try to receive", "tried to receive from")
                .attempt()
                .progress(Progress::IfAcquired)
                .takes(Message),
            Kind::Close => row("close", "closed").gives(Closing),
            Kind::Park => row("park", "parked on")
                .waits(Before(Reason::Park))
                .timed()
                .progress(Progress::IfAcquired)
                .takes(Wakeup),
            Kind::Unpark => row("unpark", "unparked").gives(Wakeup),
            Kind::Start => {
                row("scheduled", "was scheduled").anonymous().progress(Progress::Ignored).unordered()
            }
            Kind::ParkBegin => row("begin to park", "began to park")
                .asks()
                .anonymous()
                .progress(Progress::Ignored)
                .unordered(),
            Kind::Call => marker("call", "called"),
            Kind::Return => marker("return", "returned"),
            Kind::Deliver => row("deliver", "delivered").waits(Before(Reason::Mailbox)),
            // The lock is acquired here, or by the `ReadLock` that follows.
            Kind::ReadLockAgain => {
                lock("lock again for reading", "read-locked again", Tries(Shared), Progress::LockIfAcquired)
                    .asks()
            }
        }
    }
}
