//! Names of places in the code, which outlast a run.

use crate::engine::Engine;
use raddle_model::{LocationId, Name};

impl Engine {
    /// Gives a location a name, which holds until it gets another one. A front end whose locations have other numbers in other
    /// runs has to name them where [`Engine::wants_places`]; a location without a name is known by its number.
    pub fn name_place(&mut self, location: LocationId, name: Name) {
        for unnamed in self.places.len()..=location.index() {
            self.places.push(Name(unnamed as u64));
        }
        self.places[location.index()] = name;
    }

    /// Whether the strategy asks for the names of locations.
    pub fn wants_places(&self) -> bool {
        self.needs.places
    }

    pub(crate) fn place_name(&self, location: LocationId) -> Name {
        self.places.get(location.index()).copied().unwrap_or(Name(u64::from(location.0)))
    }
}
