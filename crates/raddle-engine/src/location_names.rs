//! Names of code locations, which are the same in all runs.

use crate::engine::Engine;
use raddle_model::{LocationId, Name};

impl Engine {
    /// Gives a location a name, which holds until it gets another one. A front end whose locations have
    /// different numbers in different runs must name them if [`Engine::wants_location_names`]; a location
    /// without a name is identified by its number.
    pub fn name_location(&mut self, location: LocationId, name: Name) {
        for unnamed in self.location_names.len()..=location.index() {
            self.location_names.push(Name(unnamed as u64));
        }
        self.location_names[location.index()] = name;
    }

    /// Returns true if the strategy asks for the names of locations.
    pub fn wants_location_names(&self) -> bool {
        self.needs.location_names
    }

    pub(crate) fn location_name(&self, location: LocationId) -> Name {
        self.location_names.get(location.index()).copied().unwrap_or(Name(u64::from(location.0)))
    }
}
