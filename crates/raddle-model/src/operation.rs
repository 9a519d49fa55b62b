//! What a thread is about to do, and when two such operations may be swapped.

use crate::{LocationId, ObjectId};
use serde::{Deserialize, Serialize};

/// What an operation does. What it means for each object is the engine's business.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
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
    /// Acquires a mutex; waits while another thread has it.
    Lock,
    /// Acquires a mutex if it is free; never waits.
    TryLock,
    /// Releases a mutex.
    Unlock,
    /// Acquires a read-write lock for reading.
    ReadLock,
    /// Acquires a read-write lock for writing.
    WriteLock,
    /// Releases a read-write lock, whichever way this thread holds it.
    ReadWriteUnlock,
    /// Releases a mutex and starts to wait on a condition variable, in one step.
    ConditionWait,
    /// The second half of a wait: takes the mutex back after a signal or a time-out.
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
    /// Arrives at a barrier; the thread goes on when the last one has arrived.
    Barrier,
    /// Enters a one-time initialisation: the first runs it, the others wait until it is over.
    OnceBegin,
    /// Ends a one-time initialisation. With the argument 0 it was given up, and whoever comes next runs it.
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
    /// Orders memory accesses; under sequential consistency it has no effect but on what is a data race.
    Fence,
    /// Ends the life of a synchronisation object; any later use is misuse.
    Destroy,
    /// Ends the whole program, whatever the other threads were about to do.
    Exit,
    /// Acquires a read-write lock for reading if nobody writes; never waits.
    TryReadLock,
    /// Acquires a read-write lock for writing if nobody has it; never waits.
    TryWriteLock,
    /// Asks whether a one-time initialisation is over; never waits.
    OnceTry,
    /// Puts a value into a channel; waits while the channel is full.
    Send,
    /// Puts a value into a channel if there is room; never waits.
    TrySend,
    /// The second half of a send into a channel without a buffer: waits until value number `argument` was taken.
    SendEnd,
    /// Tells a channel without a buffer that its receiver is waiting from now on.
    ReceiveBegin,
    /// Takes the oldest value out of a channel; waits while there is none and one may still come.
    Receive,
    /// Takes the oldest value out of a channel if there is one; never waits.
    TryReceive,
    /// Gives up the receiver of a channel (argument 1) or one of its senders (argument 0).
    Close,
    /// Takes the token of the own thread; waits while it is not there.
    Park,
    /// Puts the token of a thread there, if it is not.
    Unpark,
    /// Turns the own lock for writing into one for reading, in one step.
    Downgrade,
    /// Waits until a one-time initialisation is over; with the argument 0, also no longer than until it is given up.
    OnceWait,
}

/// How an operation touches an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Swapping two of these on one object changes nothing.
    Read,
    /// The order of this and any other access to the object matters.
    Write,
}

/// An object and how it is touched, in one word; or nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Touch(u32);

impl Touch {
    /// No object.
    pub const NONE: Touch = Touch(u32::MAX);

    /// `object`, touched as `access` says. At most 2^31 - 2 objects can be told apart.
    #[inline]
    pub fn new(object: ObjectId, access: Access) -> Touch {
        Touch(object.0 << 1 | (access == Access::Write) as u32)
    }

    /// The touch as one number.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    /// The touch that was `bits`. Any number is one.
    pub(crate) fn from_bits(bits: u32) -> Touch {
        Touch(bits)
    }

    /// The object touched, if any.
    #[inline]
    pub fn object(self) -> Option<ObjectId> {
        (self != Touch::NONE).then_some(ObjectId(self.0 >> 1))
    }

    /// Whether the object is written; false for [`Touch::NONE`].
    #[inline]
    pub fn writes(self) -> bool {
        self != Touch::NONE && self.0 & 1 == 1
    }

    /// Whether both name the same object, and one of them writes it (or reads count as well).
    #[inline]
    fn meets(self, other: Touch, reads: Reads) -> bool {
        let same = (self.0 ^ other.0) <= 1 && self != Touch::NONE && other != Touch::NONE;
        same && (reads == Reads::Dependent || (self.0 | other.0) & 1 == 1)
    }
}

/// Whether two reads of one object count as independent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Reads {
    /// They may be swapped: the relaxation of the POS paper, section 5. The default everywhere.
    #[default]
    Independent,
    /// They may not, as in the POS*- column of the thesis, table 3.2.
    Dependent,
}

/// One operation of one thread, announced before it is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[repr(C)] // Without padding, so that it is copied in one piece: this is done twice a step.
pub struct Operation {
    /// A number that belongs to the kind: the span of a timed wait or sleep in virtual nanoseconds
    /// ([`Operation::UNTIMED`] for none), how many values a [`Kind::Choose`] has, or the
    /// [`MemoryOrder`](crate::MemoryOrder) of a memory access or fence.
    pub argument: u64,
    /// The objects it touches. A wait on a condition variable touches two, most others one or none.
    pub touches: [Touch; 2],
    /// Where in the program it stands.
    pub location: LocationId,
    /// What it does.
    pub kind: Kind,
}

impl Operation {
    /// The argument of an operation that waits without a time limit.
    pub const UNTIMED: u64 = u64::MAX;

    /// An operation that touches nothing.
    #[inline]
    pub fn new(kind: Kind, location: LocationId) -> Operation {
        Operation { kind, touches: [Touch::NONE; 2], location, argument: Operation::UNTIMED }
    }

    /// This operation, touching `object`.
    #[inline]
    #[must_use]
    pub fn on(mut self, object: ObjectId, access: Access) -> Operation {
        let slot = usize::from(self.touches[0] != Touch::NONE);
        debug_assert!(self.touches[slot] == Touch::NONE, "an operation touches at most two objects");
        self.touches[slot] = Touch::new(object, access);
        self
    }

    /// This operation with the number that belongs to its kind.
    #[inline]
    #[must_use]
    pub fn with_argument(mut self, argument: u64) -> Operation {
        self.argument = argument;
        self
    }

    /// The first object touched, if any.
    #[inline]
    pub fn object(&self) -> Option<ObjectId> {
        self.touches[0].object()
    }

    /// The objects touched, each with whether it is written.
    #[inline]
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, bool)> + use<> {
        let touches = self.touches;
        touches.into_iter().filter_map(|touch| touch.object().map(|object| (object, touch.writes())))
    }
}

/// Whether swapping two operations of *different* threads may change what the program does: they
/// touch a common object and at least one writes it, or one of them ends the program.
///
/// Operations of one thread are always dependent; callers compare threads first. This is the only
/// definition of dependence in Raddle.
#[inline]
pub fn dependent(a: &Operation, b: &Operation, reads: Reads) -> bool {
    let [a0, a1] = a.touches;
    let [b0, b1] = b.touches;
    a0.meets(b0, reads)
        || a0.meets(b1, reads)
        || a1.meets(b0, reads)
        || a1.meets(b1, reads)
        || a.kind == Kind::Exit
        || b.kind == Kind::Exit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(object: u32, access: Access) -> Operation {
        Operation::new(Kind::Read, LocationId(0)).on(ObjectId(object), access)
    }

    #[test]
    fn a_common_object_and_a_writer_make_dependence() {
        let (read, write) = (on(3, Access::Read), on(3, Access::Write));
        assert!(dependent(&write, &write, Reads::Independent));
        assert!(dependent(&read, &write, Reads::Independent));
        assert!(!dependent(&read, &read, Reads::Independent));
        assert!(dependent(&read, &read, Reads::Dependent));
        assert!(!dependent(&write, &on(2, Access::Write), Reads::Dependent));
    }

    #[test]
    fn the_second_object_counts() {
        let both = on(1, Access::Read).on(ObjectId(2), Access::Write);
        assert!(dependent(&both, &on(2, Access::Read), Reads::Independent));
        assert!(dependent(&on(2, Access::Read), &both, Reads::Independent));
        assert!(!dependent(&both, &on(1, Access::Read), Reads::Independent));
    }

    #[test]
    fn touching_nothing_is_independent_of_everything_but_exit() {
        let local = Operation::new(Kind::Local, LocationId(0));
        assert!(!dependent(&local, &local, Reads::Dependent));
        assert!(dependent(&local, &Operation::new(Kind::Exit, LocationId(0)), Reads::Independent));
    }
}
