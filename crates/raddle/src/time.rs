//! `std::time` on the virtual clock.
//!
//! The clock stands still while any thread has something to do, and jumps to the end of the earliest sleep or timed wait
//! when none has. A thread that only looks at the clock until it has gone on waits for ever if nobody sleeps.

use crate::runtime;
use raddle_model::{Kind, Operation};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::panic::Location;
pub use std::time::Duration;

/// A moment of virtual time, as std's `Instant`. It begins at zero in each run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(Duration);

impl Instant {
    /// The present moment. Lets others run, for a loop that looks at the clock waits for them.
    #[track_caller]
    pub fn now() -> Instant {
        let place = Location::caller();
        runtime::step(|runtime| Operation::new(Kind::Yield, runtime.location(place)));
        Instant(Duration::from_nanos(runtime::with(|runtime| runtime.engine.now())))
    }

    /// The time since `earlier`, or zero if that is later.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time since `earlier`, or nothing if that is later.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    /// The time since `earlier`, or zero if that is later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time that has passed since this moment.
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Instant::now() - *self
    }

    /// The moment `duration` later, if it can be told.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// The moment `duration` earlier, if it can be told.
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

/// A span in virtual nanoseconds; the longest ones are cut to some 580 years.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).min(Operation::UNTIMED - 1)
}
