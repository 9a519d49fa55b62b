//! Numbers for places in the code, the same in all runs of a check.

use raddle_model::LocationId;
use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;

/// How many places are looked up without a search.
const CACHED: usize = 64;

/// Places in the order in which they were first seen; 0 is nowhere.
pub(crate) struct Locations {
    /// A place that is expected and was not seen yet has a number and no entry.
    places: Vec<Option<&'static Location<'static>>>,
    /// Texts that have their numbers before they are seen.
    expected: BTreeMap<String, u32>,
    numbers: BTreeMap<(&'static str, u32, u32), u32>,
    /// By address: the place that was looked up last, and its number.
    cache: [(usize, u32); CACHED],
}

impl Default for Locations {
    fn default() -> Locations {
        let (places, expected, numbers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Locations { places, expected, numbers, cache: [(0, 0); CACHED] }
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

    /// Numbers for a run that repeats a recorded one: places whose texts are given have the numbers that they had there,
    /// whatever the order in which they are seen.
    pub(crate) fn expecting<'a>(texts: impl Iterator<Item = &'a str>) -> Locations {
        let mut locations = Locations::default();
        for (text, number) in texts.zip(1..) {
            locations.places.push(None);
            locations.expected.insert(text.to_owned(), number);
        }
        locations
    }

    #[cold]
    fn search(&mut self, place: &'static Location<'static>) -> u32 {
        let key = (place.file(), place.line(), place.column());
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        // The text is made only where one is expected.
        let expected = if self.expected.is_empty() { None } else { self.expected.get(&place.to_string()) };
        let number = expected.copied().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32
        });
        self.places[number as usize - 1] = Some(place);
        self.numbers.insert(key, number);
        number
    }

    /// The place of a number.
    pub(crate) fn place(&self, number: LocationId) -> Option<&'static Location<'static>> {
        *self.places.get((number.0 as usize).checked_sub(1)?)?
    }
}
