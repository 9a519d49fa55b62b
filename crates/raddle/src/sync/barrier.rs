//! `std::sync::Barrier` under control. Which of the threads is the leader is the strategy's choice.

use crate::runtime::{self, Object};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, Operation};
use std::fmt;
use std::panic::Location;

/// A place where threads wait for one another, as in std.
pub struct Barrier {
    object: Object,
    threads: usize,
}

/// What a thread learns when it may pass a [`Barrier`].
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread is the one that was made the leader.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier that opens whenever `n` threads have arrived; 0 is as 1.
    #[track_caller]
    #[must_use]
    pub const fn new(n: usize) -> Barrier {
        Barrier { object: Object::new(), threads: n }
    }

    /// Waits until all have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let place = Location::caller();
        let threads = u32::try_from(self.threads).unwrap_or(u32::MAX);
        let reply = runtime::step(|runtime| {
            let object = self.object.id(runtime, |_| Resource::barrier(threads));
            // The order of arrival cannot be seen. The argument asks for a leader.
            Operation::new(Kind::Barrier, runtime.location(place)).on(object, Access::Read).with_argument(1)
        });
        // After the end of the run the engine answers nothing; each goes on as if it was the last one to arrive.
        BarrierWaitResult(matches!(reply, Reply::Number(1) | Reply::Go))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
