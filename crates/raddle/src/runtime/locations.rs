//! Numbers for source locations, the same in all runs of a check.

use raddle_model::LocationId;
use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;

/// The number of locations that are looked up without a search.
const CACHED: usize = 64;

/// Locations in the order in which they were first seen; 0 stands for none.
pub(crate) struct Locations {
    /// A location that is expected and not yet seen has a number and no entry.
    locations: Vec<Option<&'static Location<'static>>>,
    /// Texts that are numbered before they are seen.
    expected: BTreeMap<String, u32>,
    numbers: BTreeMap<(&'static str, u32, u32), u32>,
    /// The location that was looked up last and its number, by address.
    cache: [(usize, u32); CACHED],
}

impl Default for Locations {
    fn default() -> Locations {
        let (locations, expected, numbers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Locations { locations, expected, numbers, cache: [(0, 0); CACHED] }
    }
}

impl Locations {
    /// Returns the number of a location.
    #[inline]
    pub(crate) fn number(&mut self, location: &'static Location<'static>) -> LocationId {
        let address = ptr::from_ref(location) as usize;
        let slot = (address >> 3) % CACHED;
        if self.cache[slot].0 != address {
            self.cache[slot] = (address, self.search(location));
        }
        LocationId(self.cache[slot].1)
    }

    /// Creates the numbers for a run that repeats a recorded one: locations with the given texts keep their
    /// recorded numbers, whatever the order in which they are seen.
    pub(crate) fn expecting<'a>(texts: impl Iterator<Item = &'a str>) -> Locations {
        let mut locations = Locations::default();
        for (text, number) in texts.zip(1..) {
            locations.locations.push(None);
            locations.expected.insert(text.to_owned(), number);
        }
        locations
    }

    #[cold]
    fn search(&mut self, location: &'static Location<'static>) -> u32 {
        let key = (location.file(), location.line(), location.column());
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        // The text is formatted only if one is expected.
        let expected = if self.expected.is_empty() { None } else { self.expected.get(&location.to_string()) };
        let number = expected.copied().unwrap_or_else(|| {
            self.locations.push(None);
            self.locations.len() as u32
        });
        self.locations[number as usize - 1] = Some(location);
        self.numbers.insert(key, number);
        number
    }

    /// Returns the location of a number.
    pub(crate) fn location(&self, number: LocationId) -> Option<&'static Location<'static>> {
        *self.locations.get((number.0 as usize).checked_sub(1)?)?
    }
}
