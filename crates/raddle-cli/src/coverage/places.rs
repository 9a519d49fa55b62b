//! Places of the native runtime, such as `/home/me/program+0x12ab`, and places of a store.

use crate::native::{located, shown};
use anyhow::Result;
use raddle_model::native::Covered;
use raddle_model::{IRoot, Ledger, Name, Site, Standing};
use raddle_store::{Entry, Place, Search, Store};
use raddle_symbols::{InFunction, Symbols};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Translates between the places of one program and those of a store.
pub(crate) struct Keeper {
    program: PathBuf,
    symbols: Symbols,
}

/// What a store knew of a program before a search.
pub(crate) struct Kept {
    pub(crate) known: Ledger,
    /// How many iRoots of the store are about code that this build does not have.
    pub(crate) stale: u64,
}

impl Keeper {
    /// For the program at a whole path.
    pub(crate) fn new(program: &Path) -> Keeper {
        Keeper { program: program.to_owned(), symbols: Symbols::new() }
    }

    /// The program's own name in stores. Its folder does not count, so that a copy elsewhere is the same program.
    fn own(&self) -> String {
        self.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Whether a place is one of the program itself.
    pub(crate) fn is_own(&self, place: &Place) -> bool {
        place.module == self.own()
    }

    /// The name of a place in runs of this build; nothing if its code was changed.
    pub(crate) fn name(&mut self, place: &Place) -> Option<Name> {
        let module = if self.is_own(place) { self.program.clone() } else { PathBuf::from(&place.module) };
        let address = if place.function.is_empty() {
            (file_hash(&module) == place.body).then_some(place.offset)?
        } else {
            let wanted =
                InFunction { function: place.function.clone(), body: place.body, offset: place.offset };
            self.symbols.address(&module, &wanted)?
        };
        let offset = address.checked_sub(self.symbols.first_address(&module))?;
        Some(Name::of_text(&format!("{}+{offset:#x}", module.display())))
    }

    /// A place of a run as stores keep it; nothing if it is in no file.
    fn place(&mut self, text: &str) -> Option<Place> {
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
        })
    }

    /// What a store knows of this build of the program.
    pub(crate) fn load(&mut self, store: &Store) -> Result<Kept> {
        let mut kept = Kept { known: Ledger::default(), stale: 0 };
        let mut names: BTreeMap<Place, Option<Name>> = BTreeMap::new();
        for entry in store.entries()? {
            let mut site = |(place, deed): &(Place, raddle_model::Deed)| {
                let name = *names.entry(place.clone()).or_insert_with(|| self.name(place));
                Some(Site { place: name?, deed: *deed })
            };
            let sites: Option<Vec<Site>> = entry.sites.iter().map(&mut site).collect();
            match sites {
                Some(sites) => kept.known.add(IRoot::new(entry.idiom, &sites), entry.standing),
                // Of another program, or of changed code.
                None => kept.stale += u64::from(entry.sites.iter().any(|(place, _)| self.is_own(place))),
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
            standing.failed = standing.failed.saturating_sub(known.failed);
            if standing == (Standing { failed: 0, ..known }) {
                continue;
            }
            let sites = root.sites().iter().map(|site| {
                let place = places.get(&site.place)?.clone()?;
                Some((place, site.deed))
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
