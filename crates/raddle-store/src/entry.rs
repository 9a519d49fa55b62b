//! The stored data.

use raddle_model::{Action, Idiom, Standing};
use std::collections::BTreeMap;

/// A code location that can be recognized in another build of the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Location {
    /// The name of the program or library, without its folder.
    pub module: String,
    /// The symbol of the function; empty if none is known.
    pub function: String,
    /// A hash of the function's body; of the whole file if no function is known.
    pub body: u64,
    /// The offset in the function, or in the file.
    pub offset: u64,
    /// The location for people: `file:line`, or the nearest known equivalent.
    pub shown: String,
    /// True if it is not the application's own code.
    pub is_library: bool,
    /// The location that called its function, if locations include callers.
    pub caller: Option<Box<Location>>,
}

impl Location {
    /// Iterates over the location and its callers, innermost first.
    pub fn way(&self) -> impl Iterator<Item = &Location> {
        std::iter::successors(Some(self), |place| place.caller.as_deref())
    }
}

/// The identity of an iRoot in any store: for each access, the location with its callers, and the action.
/// Source lines are not part of it, because they change with the code above.
pub type Identity<'a> = (Idiom, Vec<(Vec<(&'a str, &'a str, u64, u64)>, Action)>);

/// An iRoot and its state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The idiom.
    pub idiom: Idiom,
    /// Its accesses in order.
    pub sites: Vec<(Location, Action)>,
    /// Its state.
    pub standing: Standing,
}

impl Entry {
    /// Returns its identity.
    pub fn identity(&self) -> Identity<'_> {
        let sites = self.sites.iter().map(|(place, action)| {
            let way = place.way();
            let way =
                way.map(|place| (place.module.as_str(), place.function.as_str(), place.body, place.offset));
            (way.collect(), *action)
        });
        (self.idiom, one_reading(self.idiom, sites.collect()))
    }
}

/// A search that added to the store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// The program.
    pub program: String,
    /// Its arguments, the input among them.
    pub arguments: String,
    /// The strategy.
    pub strategy: String,
    /// Number of runs.
    pub runs: u64,
    /// Number of failing runs.
    pub failures: u64,
}

/// A stored item with data of the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored<T> {
    /// The time, in seconds since 1970.
    pub at: i64,
    /// The item.
    pub what: T,
    /// Number of iRoots that it exposed for the first time.
    pub fresh: u64,
}

fn letter(action: Action) -> char {
    match action {
        Action::Read => 'r',
        Action::Write => 'w',
        Action::Lock => 'l',
        Action::Unlock => 'u',
    }
}

/// Returns the sites of an iRoot. The two threads of idiom 5 are symmetric, so one of its two readings is
/// used.
fn one_reading<T: Ord + Clone>(idiom: Idiom, sites: Vec<T>) -> Vec<T> {
    if idiom != Idiom::Five {
        return sites;
    }
    let mut turned = sites.clone();
    turned.rotate_left(2);
    sites.min(turned)
}

/// Returns the sites of an entry by the numbers of their locations: `,3r,17w,`.
pub(crate) fn key(entry: &Entry, ids: &[i64]) -> String {
    let sites: Vec<(i64, char)> =
        ids.iter().zip(&entry.sites).map(|(&id, &(_, action))| (id, letter(action))).collect();
    one_reading(entry.idiom, sites)
        .iter()
        .fold(",".to_owned(), |text, (id, letter)| format!("{text}{id}{letter},"))
}

/// Iterates over the numbers of the locations in a key.
pub(crate) fn place_ids(key: &str) -> impl Iterator<Item = i64> {
    key.split(',').filter_map(|site| site.trim_end_matches(|end: char| end.is_alphabetic()).parse().ok())
}

/// Returns the entry of a row; `None` if it is invalid.
pub(crate) fn from_row(
    idiom: i64,
    sites: &str,
    standing: Standing,
    places: &BTreeMap<i64, Location>,
) -> Option<Entry> {
    let idiom = Idiom::ALL.into_iter().find(|known| known.number() as i64 == idiom)?;
    let site = |text: &str| {
        let action = [Action::Read, Action::Write, Action::Lock, Action::Unlock]
            .into_iter()
            .find(|&action| text.ends_with(letter(action)))?;
        let id: i64 = text.get(..text.len() - 1)?.parse().ok()?;
        Some((places.get(&id)?.clone(), action))
    };
    let sites: Option<Vec<_>> = sites.split(',').filter(|text| !text.is_empty()).map(site).collect();
    let sites = sites.filter(|sites| sites.len() == idiom.accesses())?;
    Some(Entry { idiom, sites, standing })
}
