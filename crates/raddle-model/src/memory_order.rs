//! The memory order of an access.

use crate::{Kind, Operation};
use serde::{Deserialize, Serialize};

/// The name of the object that stands for the order of sequentially consistent operations under weak memory. It is
/// none of the program's: accesses read it and fences write it.
pub const SEQUENTIAL_ORDER: &str = "the order of SeqCst operations";

/// Which values a read of an atomic may return.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryModel {
    /// The value written last, whatever order the access has: sequential consistency.
    #[default]
    Sc,
    /// Every value that the orders of the accesses and fences allow, by RC11 without load buffering.
    Weak,
}

impl MemoryModel {
    /// Returns its name, as options and files have it.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::Sc => "sc",
            MemoryModel::Weak => "weak",
        }
    }

    /// Returns the model with this name.
    pub fn from_name(name: &str) -> Option<MemoryModel> {
        [MemoryModel::Sc, MemoryModel::Weak].into_iter().find(|model| model.name() == name)
    }
}

/// The order of a memory access or fence, as in C11 and Rust. It defines happens-before, and hence data
/// races and, under [`MemoryModel::Weak`], the values an access may read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum MemoryOrder {
    /// Not atomic.
    Plain,
    /// Atomic, without ordering.
    Relaxed,
    /// Everything before the release that it reads happens before everything after this access.
    Acquire,
    /// Publishes everything before it.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, and one total order of all such accesses, which every run has anyway.
    SequentiallyConsistent,
}

impl MemoryOrder {
    /// Returns true if a read with this order acquires what its writer released.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(
            self,
            MemoryOrder::Acquire | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
        )
    }

    /// Returns true if a write with this order releases what came before it.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(
            self,
            MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
        )
    }

    /// Returns its name in texts.
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

    /// Returns its name in source code, as in C.
    pub fn keyword(self) -> &'static str {
        match self {
            MemoryOrder::Plain => "plain",
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcquireRelease => "acq_rel",
            MemoryOrder::SequentiallyConsistent => "seq_cst",
        }
    }

    /// Returns the weakest order that is at least as strong as both.
    #[must_use]
    pub fn join(self, other: MemoryOrder) -> MemoryOrder {
        match (self.min(other), self.max(other)) {
            (MemoryOrder::Acquire, MemoryOrder::Release) => MemoryOrder::AcquireRelease,
            (_, stronger) => stronger,
        }
    }

    #[inline]
    fn of(number: u64) -> Option<MemoryOrder> {
        const ALL: [MemoryOrder; 6] = [
            MemoryOrder::Plain,
            MemoryOrder::Relaxed,
            MemoryOrder::Acquire,
            MemoryOrder::Release,
            MemoryOrder::AcquireRelease,
            MemoryOrder::SequentiallyConsistent,
        ];
        ALL.get(number as usize).copied()
    }
}

/// The argument of a memory access or fence is its order. The next byte is one more than the order in which a
/// compare-and-exchange reads if it fails, or 0 for any other access.
impl Operation {
    /// Returns this memory access or fence with the given order.
    #[inline]
    #[must_use]
    pub fn ordered(self, order: MemoryOrder) -> Operation {
        self.with_argument(order as u64)
    }

    /// Returns this compare-and-exchange with the order `success` if it writes, and `failure` if it only
    /// reads.
    #[inline]
    #[must_use]
    pub fn exchanging(self, success: MemoryOrder, failure: MemoryOrder) -> Operation {
        self.with_argument(success as u64 | (failure as u64 + 1) << 8)
    }

    /// Returns the order of a memory access or fence; `None` if its front end does not provide it.
    #[inline]
    pub fn memory_order(&self) -> Option<MemoryOrder> {
        // An access without an order has all bits set.
        MemoryOrder::of(self.argument & 0xff).filter(|_| self.argument >> 16 == 0)
    }

    /// Returns true for an atomic access or fence that is sequentially consistent, at least if it fails.
    #[inline]
    pub fn is_sequentially_consistent(&self) -> bool {
        const ORDER: u64 = MemoryOrder::SequentiallyConsistent as u64;
        self.argument >> 16 == 0 && (self.argument & 0xff == ORDER || self.argument >> 8 == ORDER + 1)
    }

    /// Returns true for an atomic access or fence in an order that allows more than sequential consistency.
    pub fn is_weakly_ordered(&self) -> bool {
        let is_weak =
            |order: MemoryOrder| !matches!(order, MemoryOrder::Plain | MemoryOrder::SequentiallyConsistent);
        (self.kind.accesses_memory() || self.kind == Kind::Fence)
            && [self.memory_order(), self.failure_order()].into_iter().flatten().any(is_weak)
    }

    /// Returns this atomic access or fence with an order that is at least `order`, as far as its kind allows.
    #[must_use]
    pub fn strengthened(self, order: MemoryOrder) -> Operation {
        let Some(own) = self.memory_order().filter(|own| *own != MemoryOrder::Plain) else { return self };
        let is_seq_cst = order == MemoryOrder::SequentiallyConsistent;
        let reading = match order {
            _ if is_seq_cst => order,
            order if order.acquires() => MemoryOrder::Acquire,
            _ => MemoryOrder::Relaxed,
        };
        let writing = match order {
            _ if is_seq_cst => order,
            order if order.releases() => MemoryOrder::Release,
            _ => MemoryOrder::Relaxed,
        };
        if let Some(failure) = self.failure_order() {
            return self.exchanging(own.join(order), failure.join(reading));
        }
        self.ordered(own.join(match (self.kind.reads_memory(), self.kind.writes_memory()) {
            (true, false) => reading,
            (false, true) => writing,
            // A fence, or an update.
            (false, false) | (true, true) => order,
        }))
    }

    /// Returns the order in which a compare-and-exchange reads if it fails; `None` for any other access.
    #[inline]
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
    fn an_exchange_is_sequentially_consistent_if_either_order_is() {
        use MemoryOrder::{Acquire, Relaxed, SequentiallyConsistent};
        let access = Operation::new(Kind::ReadModifyWrite, LocationId(0));
        let is = |operation: Operation| operation.is_sequentially_consistent();
        assert!(is(access.ordered(SequentiallyConsistent)) && !is(access.ordered(Relaxed)) && !is(access));
        assert!(is(access.exchanging(Relaxed, SequentiallyConsistent)));
        assert!(is(access.exchanging(SequentiallyConsistent, Relaxed)));
        assert!(!is(access.exchanging(Acquire, Relaxed)));
    }

    #[test]
    fn orders_become_stronger_as_far_as_their_kind_allows() {
        use MemoryOrder::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent};
        let of = |kind, own: MemoryOrder, order| {
            Operation::new(kind, LocationId(0)).ordered(own).strengthened(order).memory_order().unwrap()
        };
        assert_eq!(of(Kind::Read, Relaxed, Acquire), Acquire);
        assert_eq!(of(Kind::Read, Relaxed, Release), Relaxed, "a read does not release");
        assert_eq!(of(Kind::Write, Relaxed, AcquireRelease), Release);
        assert_eq!(of(Kind::ReadModifyWrite, Acquire, Release), AcquireRelease);
        assert_eq!(of(Kind::Fence, SequentiallyConsistent, Release), SequentiallyConsistent);
        assert_eq!(of(Kind::Write, MemoryOrder::Plain, Release), MemoryOrder::Plain);
        let exchange = Operation::new(Kind::ReadModifyWrite, LocationId(0)).exchanging(Relaxed, Relaxed);
        let released = exchange.strengthened(Release);
        assert_eq!((released.memory_order(), released.failure_order()), (Some(Release), Some(Relaxed)));
        let both = exchange.strengthened(AcquireRelease);
        assert_eq!((both.memory_order(), both.failure_order()), (Some(AcquireRelease), Some(Acquire)));
    }

    #[test]
    fn orders_survive_a_round_trip() {
        let access = Operation::new(Kind::ReadModifyWrite, LocationId(0));
        assert_eq!((access.memory_order(), access.failure_order()), (None, None));
        let all = (0..6).map(|number| MemoryOrder::of(number).expect("there are six orders"));
        for order in all.clone() {
            let reported = access.ordered(order);
            assert_eq!((reported.memory_order(), reported.failure_order()), (Some(order), None));
            for failure in all.clone() {
                let reported = access.exchanging(order, failure);
                assert_eq!((reported.memory_order(), reported.failure_order()), (Some(order), Some(failure)));
            }
        }
    }
}
