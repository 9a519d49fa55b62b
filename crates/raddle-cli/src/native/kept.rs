//! Places of the native runtime, such as `/home/me/program+0x12ab`, and places of a store.

use anyhow::Result;
use raddle_model::native::{CALLED_BY, Covered, place_name, way};
use raddle_model::{IRoot, Ledger, Name, Site, Standing};
use raddle_store::{Entry, Place, Search, Store};
use raddle_symbols::runs::{address as located, locate};
use raddle_symbols::{InFunction, Symbols};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Translates between the places of one program and those of a store.
pub(crate) struct Keeper {
    program: PathBuf,
    symbols: Symbols,
    /// What was looked for.
    found: BTreeMap<Place, Found>,
}

/// What a store knew of a program before a search.
pub(crate) struct Kept {
    pub(crate) known: Ledger,
    /// How many iRoots of the store are about code that this build does not have.
    pub(crate) stale: u64,
}

/// Where a place of a store is in this build.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Here(Name),
    /// Its code was changed.
    Gone,
    /// The file cannot be read, or no longer tells which functions it has.
    Unknown,
}

impl Keeper {
    /// For the program at a whole path.
    pub(crate) fn new(program: &Path) -> Keeper {
        Keeper { program: program.to_owned(), symbols: Symbols::new(), found: BTreeMap::new() }
    }

    /// The program's own name in stores. Its folder does not count, so that a copy elsewhere is the same program.
    fn own(&self) -> String {
        self.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Whether a place is one of the program itself.
    pub(crate) fn is_own(&self, place: &Place) -> bool {
        place.module == self.own()
    }

    /// The name of a place in runs of this build, if it is there.
    fn find(&mut self, place: &Place) -> Found {
        if let Some(&found) = self.found.get(place) {
            return found;
        }
        let texts: Result<Vec<String>, Found> = place.way().map(|place| self.text(place)).collect();
        let found = match texts {
            Ok(texts) => Found::Here(place_name(&texts.join(CALLED_BY))),
            Err(found) => found,
        };
        self.found.insert(place.clone(), found);
        found
    }

    /// A place without its callers, as runs of this build tell it; otherwise why it is not there.
    fn text(&mut self, place: &Place) -> Result<String, Found> {
        let module = if self.is_own(place) { self.program.clone() } else { PathBuf::from(&place.module) };
        let address = if place.function.is_empty() {
            (file_hash(&module) == place.body).then_some(place.offset)
        } else {
            let wanted =
                InFunction { function: place.function.clone(), body: place.body, offset: place.offset };
            self.symbols.address(&module, &wanted)
        };
        let tells = |symbols: &mut Symbols| match place.function.is_empty() {
            true => raddle_symbols::build(&module).is_ok(),
            false => symbols.has_functions(&module),
        };
        match address.and_then(|address| address.checked_sub(self.symbols.first_address(&module))) {
            Some(offset) => Ok(format!("{}+{offset:#x}", module.display())),
            None if tells(&mut self.symbols) => Err(Found::Gone),
            None => Err(Found::Unknown),
        }
    }

    /// Whether an iRoot is of this program, and of code that was changed.
    pub(crate) fn is_stale(&mut self, entry: &Entry) -> bool {
        entry.sites.iter().any(|(place, _)| self.is_own(place))
            && entry.sites.iter().any(|(place, _)| self.find(place) == Found::Gone)
    }

    /// Whether an iRoot has a place in the program of which this build does not tell whether it was changed.
    pub(crate) fn is_unknown(&mut self, entry: &Entry) -> bool {
        entry.sites.iter().any(|(place, _)| self.is_own(place) && self.find(place) == Found::Unknown)
    }

    /// A place of a run with its callers as stores keep it; nothing if one is in no file.
    fn place(&mut self, text: &str) -> Option<Place> {
        let inwards: Vec<String> = way(text).map(|(module, offset)| format!("{module}{offset}")).collect();
        let place = inwards.iter().rev().try_fold(None, |caller, text| {
            let place = self.alone(text)?;
            Some(Some(Box::new(Place { caller, ..place })))
        })?;
        Some(Place { shown: shown(&mut self.symbols, text), ..*place? })
    }

    /// A place without its callers.
    fn alone(&mut self, text: &str) -> Option<Place> {
        let (module, address) = located(&mut self.symbols, text)?;
        let is_own = module == self.program;
        let inside = self.symbols.in_function(&module, address);
        let inside = inside.unwrap_or_else(|| InFunction {
            function: String::new(),
            body: file_hash(&module),
            offset: address,
        });
        let shown = shown(&mut self.symbols, text);
        Some(Place {
            module: if is_own { self.own() } else { module.display().to_string() },
            function: inside.function,
            body: inside.body,
            offset: inside.offset,
            is_library: !is_own,
            shown,
            caller: None,
        })
    }

    /// What a store knows of this build of the program.
    pub(crate) fn load(&mut self, store: &Store) -> Result<Kept> {
        let mut kept = Kept { known: Ledger::default(), stale: 0 };
        for entry in store.entries()? {
            let site = |(place, action): &(Place, raddle_model::Action)| match self.find(place) {
                Found::Here(name) => Some(Site { place: name, action: *action }),
                Found::Gone | Found::Unknown => None,
            };
            let sites: Option<Vec<Site>> = entry.sites.iter().map(site).collect();
            match sites {
                Some(sites) => kept.known.add(IRoot::new(entry.idiom, &sites), entry.standing),
                // Of another program, or of changed code.
                None => kept.stale += u64::from(self.is_stale(&entry)),
            }
        }
        Ok(kept)
    }

    /// Adds to a store what a search has come to know beyond `before`. Gives how many iRoots are newly exposed.
    pub(crate) fn save(
        &mut self,
        store: &mut Store,
        covered: &Covered,
        before: &Ledger,
        search: &Search,
    ) -> Result<u64> {
        let places: BTreeMap<Name, Option<Place>> =
            covered.places.iter().map(|(name, text)| (*name, self.place(text))).collect();
        let before: BTreeMap<IRoot, Standing> = before.iter().map(|(root, known)| (*root, known)).collect();
        let mut added = Vec::new();
        for (root, mut standing) in covered.ledger.iter() {
            let known = before.get(root).copied().unwrap_or_default();
            standing = standing.since(known);
            if standing == (Standing { failed: 0, met: 0, ..known }) {
                continue;
            }
            let sites = root.sites().iter().map(|site| {
                let place = places.get(&site.place)?.clone()?;
                Some((place, site.action))
            });
            // What lies in no file cannot be known again.
            let Some(sites) = sites.collect::<Option<Vec<_>>>() else { continue };
            added.push(Entry { idiom: root.idiom, sites, standing });
        }
        Ok(store.add(&added, search)?)
    }
}

/// Stands for the whole content of a file without symbols.
fn file_hash(path: &Path) -> u64 {
    raddle_symbols::build(path).map_or(0, |build| Name::of_text(&build).0)
}

/// A location as `file.c:12`, or what is nearest to that.
fn shown(symbols: &mut Symbols, text: &str) -> String {
    let mut places = [text.to_owned()];
    locate(symbols, &mut places);
    raddle_report::events::Place::parse(&places[0]).lines()
}
