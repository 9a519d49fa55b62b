//! A value that is set at most once in each run.

use crate::runtime;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Enough for as many runs as there are epochs.
const SEGMENTS: usize = 32;

/// Segment `n` has `2^n` slots.
type Segments<T> = [OnceLock<Box<[OnceLock<T>]>>; SEGMENTS];

/// A slot for one value in each run. A static outlives runs, and each run begins without a value; but
/// references to the values of earlier runs may live as long as the slot, so these values are kept.
pub(super) struct PerRun<T> {
    /// The value of the first run that used it.
    first: OnceLock<T>,
    /// The values of later runs.
    later: OnceLock<Box<Segments<T>>>,
    /// The latest run that used it, and the number of runs that did before.
    used: AtomicU64,
}

impl<T> PerRun<T> {
    pub(super) const fn new() -> PerRun<T> {
        PerRun { first: OnceLock::new(), later: OnceLock::new(), used: AtomicU64::new(0) }
    }

    /// Returns the slot of this run; outside runs, that of the latest. The caller has made it an object of
    /// its run.
    pub(super) fn slot(&self) -> &OnceLock<T> {
        self.at(self.index())
    }

    /// Returns the slot of this run, which has no other user.
    pub(super) fn slot_mut(&mut self) -> &mut OnceLock<T> {
        let Some((segment, offset)) = position(self.index()) else { return &mut self.first };
        self.at_later(segment);
        let segments = self.later.get_mut().expect("the segments were just created");
        let slots = segments[segment].get_mut().expect("the segment was just created");
        &mut slots[offset]
    }

    /// Returns the value of this run, if there is one; outside runs, that of the latest. May be called while
    /// others use it.
    pub(super) fn peek(&self) -> Option<&T> {
        let used = self.used.load(Ordering::Acquire);
        let (epoch, index) = (used >> 32, used & u64::from(u32::MAX));
        let here = runtime::epoch().is_none_or(|now| u64::from(now) == epoch);
        if here { self.at(index).get() } else { None }
    }

    fn at(&self, index: u64) -> &OnceLock<T> {
        match position(index) {
            None => &self.first,
            Some((segment, offset)) => &self.at_later(segment)[offset],
        }
    }

    fn at_later(&self, segment: usize) -> &[OnceLock<T>] {
        let segments = self.later.get_or_init(|| Box::new([const { OnceLock::new() }; SEGMENTS]));
        segments[segment].get_or_init(|| (0..1_u64 << segment).map(|_| OnceLock::new()).collect())
    }

    fn index(&self) -> u64 {
        let used = self.used.load(Ordering::Relaxed);
        let (epoch, index) = (used >> 32, used & u64::from(u32::MAX));
        match runtime::epoch().map(u64::from) {
            Some(now) if epoch == 0 => {
                self.used.store(now << 32, Ordering::Relaxed);
                0
            }
            Some(now) if epoch != now => {
                self.used.store(now << 32 | (index + 1), Ordering::Relaxed);
                index + 1
            }
            _ => index,
        }
    }
}

/// Returns the segment of a slot and its index there; `None` for the first slot.
fn position(index: u64) -> Option<(usize, usize)> {
    let segment = index.checked_ilog2()? as usize;
    Some((segment, (index - (1 << segment)) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_a_place_of_its_own() {
        assert_eq!(position(0), None);
        let locations: Vec<_> = (1..8).filter_map(position).collect();
        assert_eq!(locations, [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]);
        let values = PerRun::new();
        (0..100).for_each(|index| values.at(index).set(index).expect("the location is empty"));
        assert!((0..100).all(|index| values.at(index).get() == Some(&index)));
    }
}
