//! The server's knowledge about iRoots besides its strategies: the names of locations, and what it has
//! reported to the command line.

use super::state::Server;
use crate::child::results::RunData;
use raddle_model::native::Covered;
use raddle_model::{IRoot, Name};

impl Server {
    /// Returns the names of the locations of a run, by their numbers there.
    pub(super) fn names(&mut self, data: &RunData) -> Vec<Name> {
        let Server { modules, places, .. } = self;
        let mut way = Vec::new();
        let mut name = |(place, callers): (u64, &[u64])| {
            way.clear();
            way.push(place);
            way.extend_from_slice(callers);
            if let Some(&name) = places.get(&way) {
                return name;
            }
            let name = modules.name(place, callers);
            places.insert(way.clone(), name);
            name
        };
        let all = data.places_with_callers().map(|place| place.map_or(Name(0), &mut name));
        all.collect()
    }

    /// Returns the iRoots that a strategy has exposed since the last call, if they are reported.
    pub(super) fn newly_exposed(&mut self, strategy: usize) -> Vec<IRoot> {
        let reported = &mut self.lanes[strategy].reported;
        let ledger = self.setup.coverage.and_then(|_| self.strategies[strategy].as_ref()?.ledger());
        let Some(ledger) = ledger.filter(|ledger| ledger.exposed() as usize > reported.len()) else {
            return Vec::new();
        };
        let exposed = ledger.iter().filter(|(_, standing)| standing.exposed).map(|(&root, _)| root);
        let new: Vec<IRoot> = exposed.filter(|root| !reported.contains(root)).collect();
        reported.extend(&new);
        new
    }

    /// Returns a strategy's knowledge about iRoots; empty if it does not use them.
    pub(super) fn covered(&self, strategy: usize) -> Covered {
        let ledger = self.strategies.get(strategy).and_then(|strategy| strategy.as_ref()?.ledger());
        let places = self.places.iter().filter_map(|(way, &name)| {
            let (&place, callers) = way.split_first()?;
            Some((name, self.modules.calls(place, callers)))
        });
        Covered { ledger: ledger.cloned().unwrap_or_default(), locations: places.collect() }
    }
}
