//! `std::sync::Condvar` under control. The strategy chooses which waiter a notification wakes; time-outs come
//! from the virtual clock. Limitation: there are no spurious wake-ups, though std allows them.

use super::{LockResult, MutexGuard, PoisonError};
use crate::runtime::{self, Object};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, Operation};
use std::panic::Location;
use std::time::Duration;

/// A condition variable, as in std.
#[derive(Debug)]
pub struct Condvar {
    object: Object,
}

/// The result of a wait with a time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns true if the wait timed out.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Creates a condition variable without waiters.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar { object: Object::new() }
    }

    fn wait_for<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        nanoseconds: u64,
        location: &'static Location<'static>,
    ) -> (LockResult<MutexGuard<'a, T>>, WaitTimeoutResult) {
        let mutex = guard.mutex();
        guard.release();
        let reply = runtime::step(|runtime| {
            let object = self.object.id(runtime, |_| Resource::condition());
            let mutex = mutex.id(runtime);
            Operation::new(Kind::ConditionWait, runtime.location(location))
                .on(object, Access::Write)
                .on(mutex, Access::Write)
                .with_argument(nanoseconds)
        });
        // After the end of the run there are no notifications.
        let timed_out =
            reply == Reply::TimedOut || nanoseconds != Operation::UNTIMED && runtime::is_closing();
        (guard.retake(), WaitTimeoutResult(timed_out))
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(guard, Operation::UNTIMED, Location::caller()).0
    }

    /// Waits until `condition` is false.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification, or until `duration` has passed.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        match self.wait_for(guard, nanoseconds(duration), Location::caller()) {
            (Ok(guard), result) => Ok((guard, result)),
            (Err(error), result) => Err(PoisonError::new((error.into_inner(), result))),
        }
    }

    /// Waits like [`Condvar::wait_timeout`]; returns true if a notification came in time.
    #[deprecated(note = "use wait_timeout")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        milliseconds: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(milliseconds))) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(error) => {
                let (guard, result) = error.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// Waits until `condition` is false, or until `duration` has passed.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let now = || runtime::with(|runtime| runtime.engine.now());
        let start = now();
        let mut over = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            if over {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let left = duration.saturating_sub(Duration::from_nanos(now() - start));
            let (back, result) = self.wait_timeout(guard, left)?;
            guard = back;
            over = result.timed_out();
        }
    }

    #[track_caller]
    fn step(&self, kind: Kind, location: &'static Location<'static>) {
        runtime::step(|runtime| {
            let object = self.object.id(runtime, |_| Resource::condition());
            Operation::new(kind, runtime.location(location)).on(object, Access::Write)
        });
    }

    /// Wakes one waiter, if there is any.
    #[track_caller]
    pub fn notify_one(&self) {
        self.step(Kind::Signal, Location::caller());
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        self.step(Kind::Broadcast, Location::caller());
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Condvar {
        Condvar::new()
    }
}

/// Returns a duration for an operation, saturated to the range of `u64`.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(Operation::UNTIMED - 1)
}
