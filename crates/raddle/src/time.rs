//! `std::time` on the virtual clock.
//!
//! The clock stands still while any thread can run, and jumps to the end of the earliest sleep or timed wait
//! when none can. A thread that polls the clock until it advances waits forever if no thread sleeps.

use crate::runtime;
use raddle_model::{Kind, Operation};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::panic::Location;
pub use std::time::Duration;

/// A moment of virtual time, like std's `Instant`. It begins at zero in each run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(Duration);

impl Instant {
    /// Returns the current time. Lets other threads run, because a loop that polls the clock waits for them.
    #[track_caller]
    pub fn now() -> Instant {
        let location = Location::caller();
        runtime::step(|runtime| Operation::new(Kind::Yield, runtime.location(location)));
        Instant(Duration::from_nanos(runtime::with(|runtime| runtime.engine.now())))
    }

    /// Returns the time since `earlier`, or zero if that is later.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// Returns the time since `earlier`, or `None` if that is later.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    /// Returns the time since `earlier`, or zero if that is later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time that has passed since this moment.
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Instant::now() - *self
    }

    /// Returns the moment `duration` later, if representable.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// Returns the moment `duration` earlier, if representable.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    #[track_caller]
    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    #[track_caller]
    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl AddAssign<Duration> for Instant {
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl SubAssign<Duration> for Instant {
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

/// Returns a duration in virtual nanoseconds, saturated to some 580 years.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).min(Operation::UNTIMED - 1)
}
