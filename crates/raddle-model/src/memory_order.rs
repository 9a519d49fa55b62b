//! What a memory access promises about the accesses around it.

use crate::Operation;
use serde::{Deserialize, Serialize};

/// The order of a memory access or fence, as C11 and Rust have them. It decides which accesses happen before which, and
/// hence what is a data race. It does not change what an access reads: runs are sequentially consistent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum MemoryOrder {
    /// Not atomic at all.
    Plain,
    /// Atomic, and orders nothing.
    Relaxed,
    /// What is read was published: everything before the publication happens before everything after this.
    Acquire,
    /// What is written publishes everything before it.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, and one order of all such accesses, which a run has anyway.
    SequentiallyConsistent,
}

impl MemoryOrder {
    /// Whether a read with this order takes over what its writer published.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(
            self,
            MemoryOrder::Acquire | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
        )
    }

    /// Whether a write with this order publishes what came before it.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(
            self,
            MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
        )
    }

    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            MemoryOrder::Plain => "plain",
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcquireRelease => "acquire-release",
            MemoryOrder::SequentiallyConsistent => "sequentially consistent",
        }
    }

    fn of(number: u64) -> Option<MemoryOrder> {
        Some(match number {
            0 => MemoryOrder::Plain,
            1 => MemoryOrder::Relaxed,
            2 => MemoryOrder::Acquire,
            3 => MemoryOrder::Release,
            4 => MemoryOrder::AcquireRelease,
            5 => MemoryOrder::SequentiallyConsistent,
            _ => return None,
        })
    }
}

/// The argument of a memory access or fence is its order. The byte above it is one more than the order in which a
/// compare-and-exchange reads if it fails, or 0 for any other access.
impl Operation {
    /// This memory access or fence, in the given order.
    #[inline]
    #[must_use]
    pub fn ordered(self, order: MemoryOrder) -> Operation {
        self.with_argument(order as u64)
    }

    /// This compare-and-exchange, in the order `success` if it writes and as a read in the order `failure` if not.
    #[inline]
    #[must_use]
    pub fn exchanging(self, success: MemoryOrder, failure: MemoryOrder) -> Operation {
        self.with_argument(success as u64 | (failure as u64 + 1) << 8)
    }

    /// The order of a memory access or fence; none if its front end does not tell.
    #[inline]
    pub fn memory_order(&self) -> Option<MemoryOrder> {
        // Of an access without an order, all bits are set.
        MemoryOrder::of(self.argument & 0xff).filter(|_| self.argument >> 16 == 0)
    }

    /// The order in which a compare-and-exchange reads if it fails; none for any other access.
    pub fn failure_order(&self) -> Option<MemoryOrder> {
        self.memory_order()?;
        MemoryOrder::of((self.argument >> 8).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, LocationId};

    #[test]
    fn what_is_told_is_read_back() {
        let access = Operation::new(Kind::ReadModifyWrite, LocationId(0));
        assert_eq!((access.memory_order(), access.failure_order()), (None, None));
        let all = (0..6).map(|number| MemoryOrder::of(number).expect("there are six orders"));
        for order in all.clone() {
            let told = access.ordered(order);
            assert_eq!((told.memory_order(), told.failure_order()), (Some(order), None));
            for failure in all.clone() {
                let told = access.exchanging(order, failure);
                assert_eq!((told.memory_order(), told.failure_order()), (Some(order), Some(failure)));
            }
        }
    }
}
