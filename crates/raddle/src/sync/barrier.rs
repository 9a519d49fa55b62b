//! `std::sync::Barrier` under control. The strategy chooses the leader.

use crate::runtime::{self, Object};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, Operation};
use std::fmt;
use std::panic::Location;

/// A barrier, as in std.
pub struct Barrier {
    object: Object,
    threads: usize,
}

/// The result of [`Barrier::wait`].
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns true if this thread is the leader.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// Creates a barrier that opens whenever `n` threads have arrived; 0 counts as 1.
    #[track_caller]
    #[must_use]
    pub const fn new(n: usize) -> Barrier {
        Barrier { object: Object::new(), threads: n }
    }

    /// Waits until all threads have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let location = Location::caller();
        let threads = u32::try_from(self.threads).unwrap_or(u32::MAX);
        let reply = runtime::step(|runtime| {
            let object = self.object.id(runtime, |_| Resource::barrier(threads));
            // The order of arrival is unobservable. The argument asks for a leader.
            Operation::new(Kind::Barrier, runtime.location(location))
                .on(object, Access::Read)
                .with_argument(1)
        });
        // After the end of the run the engine does not answer; each thread continues as if it was the last to
        // arrive.
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
