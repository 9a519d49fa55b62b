//! Operations that threads announce, and the dependence between them.

use crate::{Kind, LocationId, ObjectId, ThreadId};
use serde::{Deserialize, Serialize};

/// The way an operation touches an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Swapping two of these on one object changes nothing.
    Read,
    /// The order of this and any other access to the object matters.
    Write,
}

/// An object and the access to it in one word, or nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Touch(u32);

impl Touch {
    /// No object.
    pub const NONE: Touch = Touch(u32::MAX);

    /// Creates a touch of `object`. Objects up to 2^31 - 2 are distinguished.
    #[inline]
    pub fn new(object: ObjectId, access: Access) -> Touch {
        Touch(object.0 << 1 | (access == Access::Write) as u32)
    }

    /// Returns the touch as one number.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    /// Returns the touch of `bits`. Any number is valid.
    pub(crate) fn from_bits(bits: u32) -> Touch {
        Touch(bits)
    }

    /// Returns the object, if any.
    #[inline]
    pub fn object(self) -> Option<ObjectId> {
        (self != Touch::NONE).then_some(ObjectId(self.0 >> 1))
    }

    /// Returns true if the object is written; false for [`Touch::NONE`].
    #[inline]
    pub fn writes(self) -> bool {
        self != Touch::NONE && self.0 & 1 == 1
    }

    /// Returns true if both touch the same object, and one of them writes it (or `reads` are dependent).
    #[inline]
    fn meets(self, other: Touch, reads: Reads) -> bool {
        let same = (self.0 ^ other.0) <= 1 && self != Touch::NONE && other != Touch::NONE;
        same && (reads == Reads::Dependent || (self.0 | other.0) & 1 == 1)
    }
}

/// The dependence of two reads of one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Reads {
    /// They may be swapped: the relaxation of the POS paper, section 5. The default everywhere.
    #[default]
    Independent,
    /// They may not be swapped, as in the POS*- column of the thesis, table 3.2.
    Dependent,
}

/// One operation of one thread, announced before it is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[repr(C)] // Without padding, so that it is copied in one piece: this happens twice a step.
pub struct Operation {
    /// A number that depends on the kind: the duration of a timed wait or sleep in virtual nanoseconds
    /// ([`Operation::UNTIMED`] for none), the number of values of a [`Kind::Choose`], or the
    /// [`MemoryOrder`](crate::MemoryOrder) of a memory access or fence.
    pub argument: u64,
    /// The objects it touches. A wait on a condition variable touches two, most others one or none.
    pub touches: [Touch; 2],
    /// Its code location.
    pub location: LocationId,
    /// Its kind.
    pub kind: Kind,
}

impl Operation {
    /// Describes how this operation of `thread`, about to be executed, differs from the one in a recorded
    /// run.
    pub fn departure(&self, thread: ThreadId, recorded: &Operation) -> String {
        let (now, then) = (self.kind.info().verb, recorded.kind.info().verb);
        let what = if now != then {
            format!("`{now}` instead of `{then}`")
        } else if self.location != recorded.location {
            format!("`{now}` at another location than in the recorded run")
        } else {
            format!("`{now}` on another object or with another argument than in the recorded run")
        };
        format!("the next operation of thread {} is {what}", thread.0)
    }

    /// The argument of an operation that waits without a time limit.
    pub const UNTIMED: u64 = u64::MAX;

    /// The argument of a [`Kind::Exit`] that is not an operation of the program: its front end adds it to
    /// some runs, to choose when they end.
    pub const ADDED: u64 = u64::MAX - 1;

    /// Creates an operation that touches nothing.
    #[inline]
    pub fn new(kind: Kind, location: LocationId) -> Operation {
        Operation { kind, touches: [Touch::NONE; 2], location, argument: Operation::UNTIMED }
    }

    /// Returns this operation, touching `object` too.
    #[inline]
    #[must_use]
    pub fn on(mut self, object: ObjectId, access: Access) -> Operation {
        let slot = usize::from(self.touches[0] != Touch::NONE);
        debug_assert!(self.touches[slot] == Touch::NONE, "an operation touches at most two objects");
        self.touches[slot] = Touch::new(object, access);
        self
    }

    /// Returns this operation with the given argument.
    #[inline]
    #[must_use]
    pub fn with_argument(mut self, argument: u64) -> Operation {
        self.argument = argument;
        self
    }

    /// Returns the first object touched, if any.
    #[inline]
    pub fn object(&self) -> Option<ObjectId> {
        self.touches[0].object()
    }

    /// Iterates over the objects touched, each with true if it is written.
    #[inline]
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, bool)> + use<> {
        let touches = self.touches;
        touches.into_iter().filter_map(|touch| touch.object().map(|object| (object, touch.writes())))
    }
}

/// Returns true if swapping two operations of *different* threads may change what the program does: they
/// touch a common object and at least one writes it, or one of them ends the program.
///
/// Operations of one thread are always dependent; callers compare threads first. This is the only definition
/// of dependence in Raddle.
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
