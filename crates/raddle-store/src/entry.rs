//! What is kept, as plain data.

use raddle_model::{Action, Idiom, Standing};
use std::collections::BTreeMap;

/// A place in the code that another build of the program knows again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The name of the program or library, without its folder.
    pub module: String,
    /// The symbol of the function; empty if none is known.
    pub function: String,
    /// A hash of the function's body; of the whole file if no function is known.
    pub body: u64,
    /// How far into the function, or the file.
    pub offset: u64,
    /// The place as people want it: `file:line`, or what is nearest to that.
    pub shown: String,
    /// Whether it is not the application's own code.
    pub is_library: bool,
    /// The place that called its function, if places are told apart by that.
    pub caller: Option<Box<Place>>,
}

impl Place {
    /// The place and its callers from the inside out.
    pub fn way(&self) -> impl Iterator<Item = &Place> {
        std::iter::successors(Some(self), |place| place.caller.as_deref())
    }
}

/// What tells an iRoot from all others, in whichever store it is: of each access the place with its callers and what is done.
/// Lines of the source are no part of it, for they change with what stands above.
pub type Identity<'a> = (Idiom, Vec<(Vec<(&'a str, &'a str, u64, u64)>, Action)>);

/// An iRoot and what is known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The idiom.
    pub idiom: Idiom,
    /// Its accesses in order.
    pub sites: Vec<(Place, Action)>,
    /// What is known of it.
    pub standing: Standing,
}

impl Entry {
    /// What tells it from all other iRoots.
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
    /// How many runs were made.
    pub runs: u64,
    /// How many of them failed.
    pub failures: u64,
}

/// Something that was kept, with what the store knows of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored<T> {
    /// When, in seconds since 1970.
    pub at: i64,
    /// What.
    pub what: T,
    /// How many iRoots it exposed for the first time.
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

/// The sites of an iRoot. The two threads of idiom 5 are alike, so that one of its two readings is taken.
fn one_reading<T: Ord + Clone>(idiom: Idiom, sites: Vec<T>) -> Vec<T> {
    if idiom != Idiom::Five {
        return sites;
    }
    let mut turned = sites.clone();
    turned.rotate_left(2);
    sites.min(turned)
}

/// The sites of an entry by the numbers of their places: `,3r,17w,`.
pub(crate) fn key(entry: &Entry, ids: &[i64]) -> String {
    let sites: Vec<(i64, char)> =
        ids.iter().zip(&entry.sites).map(|(&id, &(_, action))| (id, letter(action))).collect();
    one_reading(entry.idiom, sites)
        .iter()
        .fold(",".to_owned(), |text, (id, letter)| format!("{text}{id}{letter},"))
}

/// The numbers of the places in a key.
pub(crate) fn place_ids(key: &str) -> impl Iterator<Item = i64> {
    key.split(',').filter_map(|site| site.trim_end_matches(|end: char| end.is_alphabetic()).parse().ok())
}

/// The entry of a row; nothing if it makes no sense.
pub(crate) fn from_row(
    idiom: i64,
    sites: &str,
    standing: Standing,
    places: &BTreeMap<i64, Place>,
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
