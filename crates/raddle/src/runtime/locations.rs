//! Numbers for places in the code, the same in all runs of a check.

use raddle_model::LocationId;
use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;

/// How many places are looked up without a search.
const CACHED: usize = 64;

/// Places in the order in which they were first seen; 0 is nowhere.
pub(crate) struct Locations {
    places: Vec<&'static Location<'static>>,
    numbers: BTreeMap<(&'static str, u32, u32), u32>,
    /// By address: the place that was looked up last, and its number.
    cache: [(usize, u32); CACHED],
}

impl Default for Locations {
    fn default() -> Locations {
        Locations { places: Vec::new(), numbers: BTreeMap::new(), cache: [(0, 0); CACHED] }
    }
}

impl Locations {
    /// The number of a place.
    #[inline]
    pub(crate) fn number(&mut self, place: &'static Location<'static>) -> LocationId {
        let address = ptr::from_ref(place) as usize;
        let slot = (address >> 3) % CACHED;
        if self.cache[slot].0 != address {
            self.cache[slot] = (address, self.search(place));
        }
        LocationId(self.cache[slot].1)
    }

    #[cold]
    fn search(&mut self, place: &'static Location<'static>) -> u32 {
        let next = self.places.len() as u32 + 1;
        let number = *self.numbers.entry((place.file(), place.line(), place.column())).or_insert(next);
        if number == next {
            self.places.push(place);
        }
        number
    }

    /// The place of a number.
    pub(crate) fn place(&self, number: LocationId) -> Option<&'static Location<'static>> {
        self.places.get((number.0 as usize).checked_sub(1)?).copied()
    }
}
