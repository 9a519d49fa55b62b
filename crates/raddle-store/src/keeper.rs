//! Locations of the native runtime, such as `/home/me/program+0x12ab`, and locations of a store.

use crate::{Entry, Location, Search, Store, StoreError};
use raddle_model::native::{CALLED_BY, Covered, location_name, way};
use raddle_model::{IRoot, Ledger, Name, Site, Standing};
use raddle_symbols::runs::{address as located, locate};
use raddle_symbols::{InFunction, Symbols};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Translates between the locations of one program and those of a store.
pub struct Keeper {
    program: PathBuf,
    symbols: Symbols,
    /// The results of earlier lookups.
    found: BTreeMap<Location, Found>,
}

/// A store's knowledge of a program before a search.
pub struct Kept {
    /// Its iRoots, as runs of this build name them.
    pub known: Ledger,
    /// The number of iRoots of the store about code that this build does not have.
    pub stale: u64,
}

/// The location of a stored location in this build.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Here(Name),
    /// Its code was changed.
    Gone,
    /// The file cannot be read, or no longer has symbols.
    Unknown,
}

impl Keeper {
    /// Creates a translator for the program at an absolute path.
    pub fn new(program: &Path) -> Keeper {
        Keeper { program: program.to_owned(), symbols: Symbols::new(), found: BTreeMap::new() }
    }

    /// Returns the program's name in stores. Its folder does not count, so that a copy elsewhere is the same
    /// program.
    fn own(&self) -> String {
        self.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Returns true if a location belongs to the program itself.
    pub fn is_own(&self, place: &Location) -> bool {
        place.module == self.own()
    }

    /// Returns the name of a location in runs of this build, if it exists.
    fn find(&mut self, place: &Location) -> Found {
        if let Some(&found) = self.found.get(place) {
            return found;
        }
        let texts: Result<Vec<String>, Found> = place.way().map(|place| self.text(place)).collect();
        let found = match texts {
            Ok(texts) => Found::Here(location_name(&texts.join(CALLED_BY))),
            Err(found) => found,
        };
        self.found.insert(place.clone(), found);
        found
    }

    /// Returns a location without its callers, in the form of runs of this build; otherwise the reason why it
    /// does not exist.
    fn text(&mut self, place: &Location) -> Result<String, Found> {
        let module = if self.is_own(place) { self.program.clone() } else { PathBuf::from(&place.module) };
        let address = if place.function.is_empty() {
            (file_hash(&module) == place.body).then_some(place.offset)
        } else {
            let wanted =
                InFunction { function: place.function.clone(), body: place.body, offset: place.offset };
            self.symbols.address(&module, &wanted)
        };
        let has_names = |symbols: &mut Symbols| match place.function.is_empty() {
            true => raddle_symbols::build(&module).is_ok(),
            false => symbols.has_functions(&module),
        };
        match address.and_then(|address| address.checked_sub(self.symbols.first_address(&module))) {
            Some(offset) => Ok(format!("{}+{offset:#x}", module.display())),
            None if has_names(&mut self.symbols) => Err(Found::Gone),
            None => Err(Found::Unknown),
        }
    }

    /// Returns true if an iRoot belongs to this program, and to changed code.
    pub fn is_stale(&mut self, entry: &Entry) -> bool {
        entry.sites.iter().any(|(place, _)| self.is_own(place))
            && entry.sites.iter().any(|(place, _)| self.find(place) == Found::Gone)
    }

    /// Returns true if this build does not show whether a location of an iRoot was changed.
    pub fn is_unknown(&mut self, entry: &Entry) -> bool {
        entry.sites.iter().any(|(place, _)| self.is_own(place) && self.find(place) == Found::Unknown)
    }

    /// Returns a location of a run with its callers in the form of stores; `None` if one is in no file.
    fn place(&mut self, text: &str) -> Option<Location> {
        let inwards: Vec<String> = way(text).map(|(module, offset)| format!("{module}{offset}")).collect();
        let place = inwards.iter().rev().try_fold(None, |caller, text| {
            let place = self.alone(text)?;
            Some(Some(Box::new(Location { caller, ..place })))
        })?;
        Some(Location { shown: shown(&mut self.symbols, text), ..*place? })
    }

    /// Returns a location without its callers.
    fn alone(&mut self, text: &str) -> Option<Location> {
        let (module, address) = located(&mut self.symbols, text)?;
        let is_own = module == self.program;
        let inside = self.symbols.in_function(&module, address);
        let inside = inside.unwrap_or_else(|| InFunction {
            function: String::new(),
            body: file_hash(&module),
            offset: address,
        });
        let shown = shown(&mut self.symbols, text);
        Some(Location {
            module: if is_own { self.own() } else { module.display().to_string() },
            function: inside.function,
            body: inside.body,
            offset: inside.offset,
            is_library: !is_own,
            shown,
            caller: None,
        })
    }

    /// Returns a store's knowledge of this build of the program.
    pub fn load(&mut self, store: &Store) -> Result<Kept, StoreError> {
        let mut kept = Kept { known: Ledger::default(), stale: 0 };
        for entry in store.entries()? {
            let site = |(place, action): &(Location, raddle_model::Action)| match self.find(place) {
                Found::Here(name) => Some(Site { location: name, action: *action }),
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

    /// Adds the new knowledge of a search beyond `before` to a store. Returns the number of newly exposed
    /// iRoots.
    pub fn save(
        &mut self,
        store: &mut Store,
        covered: &Covered,
        before: &Ledger,
        search: &Search,
    ) -> Result<u64, StoreError> {
        let places: BTreeMap<Name, Option<Location>> =
            covered.locations.iter().map(|(name, text)| (*name, self.place(text))).collect();
        let before: BTreeMap<IRoot, Standing> = before.iter().map(|(root, known)| (*root, known)).collect();
        let mut added = Vec::new();
        for (root, mut standing) in covered.ledger.iter() {
            let known = before.get(root).copied().unwrap_or_default();
            standing = standing.since(known);
            if standing == (Standing { failed: 0, met: 0, ..known }) {
                continue;
            }
            let sites = root.sites().iter().map(|site| {
                let place = places.get(&site.location)?.clone()?;
                Some((place, site.action))
            });
            // Code outside files cannot be identified again.
            let Some(sites) = sites.collect::<Option<Vec<_>>>() else { continue };
            added.push(Entry { idiom: root.idiom, sites, standing });
        }
        store.add(&added, search)
    }
}

/// Returns a hash of the whole content of a file without symbols.
fn file_hash(path: &Path) -> u64 {
    raddle_symbols::build(path).map_or(0, |build| Name::of_text(&build).0)
}

/// Returns a location as `file.c:12`, or the nearest equivalent.
fn shown(symbols: &mut Symbols, text: &str) -> String {
    let mut places = [text.to_owned()];
    locate(symbols, &mut places);
    raddle_report::events::Place::parse(&places[0]).lines(false)
}
