//! Raddle's strategies with Shuttle's limits.

use crate::shuttle::{labels, rand};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy, Wrapped, Wrapper};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The number of steps of the run when the count was last restarted.
    static COUNTED_FROM: Cell<u64> = const { Cell::new(0) };
}

/// Restarts the step count at `step`.
pub(in crate::shuttle) fn count_from(step: u64) {
    COUNTED_FROM.set(step);
}

/// The conditions that end a run early.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// The number of steps.
    pub(super) cut_off: Option<u64>,
    /// Set when another scheduler has found a failure.
    pub(super) stop: Arc<AtomicBool>,
}

impl Limits {
    /// Begins a run, unless there must be no more.
    pub(super) fn begin(&self) -> Plan {
        count_from(0);
        labels::forget();
        rand::begin();
        if self.stop.load(Ordering::Relaxed) { Plan::Exhausted } else { Plan::Run }
    }

    /// Returns the number of steps left.
    pub(super) fn left(&self, point: &Point<'_>) -> u64 {
        if self.stop.load(Ordering::Relaxed) {
            return 0;
        }
        self.cut_off.map_or(u64::MAX, |most| most.saturating_sub(point.step - COUNTED_FROM.get()))
    }
}

impl Limits {
    /// Ends the runs of `inner` by these limits.
    pub(super) fn around(self, inner: Box<dyn Strategy>) -> Box<dyn Strategy> {
        Box::new(Wrapped::new(inner, self))
    }
}

impl Wrapper for Limits {
    fn begin(&mut self, inner: &mut dyn Strategy, rng: Rng) -> Plan {
        if Limits::begin(self) == Plan::Exhausted { Plan::Exhausted } else { inner.begin(rng) }
    }

    fn choose(&mut self, inner: &mut dyn Strategy, point: &Point<'_>) -> Choice {
        match self.left(point) {
            0 => Choice::CutOff,
            u64::MAX => inner.choose(point),
            left => match inner.choose(point) {
                Choice::RunOn(thread, more) => {
                    Choice::RunOn(thread, more.min(u32::try_from(left - 1).unwrap_or(u32::MAX)))
                }
                choice => choice,
            },
        }
    }

    /// Always true: all runs execute on the OS thread of the runner.
    fn learns(&self, _inner: bool) -> bool {
        true
    }
}
