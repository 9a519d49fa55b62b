//! What the server knows of iRoots beside its strategies: the names of places, and what it has told the command line.

use super::state::Server;
use crate::child::results::RunData;
use raddle_model::native::Covered;
use raddle_model::{IRoot, Name};

impl Server {
    /// The names of the places of a run, by their numbers there.
    pub(super) fn names(&mut self, whole: &RunData) -> Vec<Name> {
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
        let all = whole.places_with_callers().map(|place| place.map_or(Name(0), &mut name));
        all.collect()
    }

    /// The iRoots that a strategy has had exposed since this was asked last, if they are to be told.
    pub(super) fn newly_exposed(&mut self, strategy: usize) -> Vec<IRoot> {
        let told = &mut self.lanes[strategy].told;
        let ledger = self.setup.coverage.and_then(|_| self.strategies[strategy].as_ref()?.ledger());
        let Some(ledger) = ledger.filter(|ledger| ledger.exposed() as usize > told.len()) else {
            return Vec::new();
        };
        let exposed = ledger.iter().filter(|(_, standing)| standing.exposed).map(|(&root, _)| root);
        let new: Vec<IRoot> = exposed.filter(|root| !told.contains(root)).collect();
        told.extend(&new);
        new
    }

    /// What a strategy knows of iRoots; nothing if it does not look at them.
    pub(super) fn covered(&self, strategy: usize) -> Covered {
        let ledger = self.strategies.get(strategy).and_then(|strategy| strategy.as_ref()?.ledger());
        let places = self.places.iter().filter_map(|(way, &name)| {
            let (&place, callers) = way.split_first()?;
            Some((name, self.modules.calls(place, callers)))
        });
        Covered { ledger: ledger.cloned().unwrap_or_default(), places: places.collect() }
    }
}
