//! The knowledge of `raddle run` from earlier searches and for later ones.

use crate::args::NativeArgs;
use anyhow::Result;
use raddle_model::native::RunResult;
use raddle_model::{IRoot, Ledger, Name};
use raddle_report::{Coverage, text};
use raddle_search::Tally;
use raddle_store::{FILE_NAME, Keeper, Kept, Opened, Search, Store};
use raddle_symbols::Symbols;
use raddle_symbols::runs::locate;
use std::collections::BTreeMap;
use std::path::Path;

/// Returns true if one of the strategies under a name on the command line tests iRoots.
pub(super) fn directs(strategy: &str) -> bool {
    strategy.split('+').filter_map(raddle_strategies::entry).any(|entry| entry.capabilities.predicts)
}

/// The store of a project, opened for a search.
pub(super) struct Memory {
    store: Store,
    keeper: Keeper,
    known: Ledger,
    /// Notes for the report.
    pub(super) notes: Vec<String>,
}

impl Memory {
    /// Opens the store, if the search needs one.
    pub(super) fn open(args: &NativeArgs, program: &Path) -> Result<Option<Memory>> {
        if args.fresh || !(args.coverage || directs(&args.search.strategy())) {
            return Ok(None);
        }
        let Opened { store, set_aside } = Store::open(&args.store.store)?;
        let mut notes = Vec::new();
        if let Some((aside, reason)) = set_aside {
            let (path, aside) = (args.store.store.display(), aside.display());
            notes.push(format!(
                "the store {path} was damaged ({reason}); it is now {aside}, and a new one was begun"
            ));
        }
        let mut keeper = Keeper::new(program);
        let Kept { known, stale } = keeper.load(&store)?;
        if stale > 0 {
            let path = &args.store.store;
            let store = if path.as_os_str() == FILE_NAME {
                String::new()
            } else {
                format!("--store {} ", path.display())
            };
            notes.push(format!(
                "{} of the store are about code that was changed since, and do not count; raddle coverage {store}--forget-stale {} \
                 forgets them",
                text::plural(stale, "iRoot"),
                program.display()
            ));
        }
        Ok(Some(Memory { store, keeper, known, notes }))
    }

    /// Returns the iRoots that earlier searches have tested in this build of the program.
    pub(super) fn known(&self) -> Ledger {
        self.known.clone()
    }

    /// Adds the knowledge of a search.
    pub(super) fn keep(&mut self, args: &NativeArgs, tally: &Tally) -> Result<()> {
        let name = Path::new(&args.program[0]).file_name().unwrap_or_default();
        let search = Search {
            program: name.to_string_lossy().into_owned(),
            arguments: args.program[1..].join(" "),
            strategy: args.search.strategy(),
            runs: tally.runs,
            failures: tally.failures,
        };
        self.keeper.save(&mut self.store, &tally.covered, &self.known, &search)?;
        Ok(())
    }
}

/// Returns the texts of locations.
fn words(tally: &Tally) -> BTreeMap<Name, String> {
    let (names, mut texts): (Vec<Name>, Vec<String>) = tally.covered.locations.iter().cloned().unzip();
    locate(&mut Symbols::new(), &mut texts);
    names.into_iter().zip(texts).collect()
}

fn location(places: &BTreeMap<Name, String>, place: Name) -> String {
    places.get(&place).cloned().unwrap_or_else(|| "an unknown location".to_owned())
}

/// Returns the iRoots of the runs, with source locations.
pub(super) fn covered(tally: &Tally) -> Coverage {
    let places = words(tally);
    Coverage::new(&tally.covered.ledger, tally.saturation.clone(), |place| location(&places, place))
}

/// Returns the iRoots that the failing run `number` had and none before it, as texts, those of simple idioms
/// first.
pub(super) fn first_had(tally: &Tally, number: u64, ran: &RunResult) -> Vec<String> {
    // Another strategy may have had one earlier.
    let is_first = |root: &&IRoot| tally.exposed.get(root) == Some(&number);
    let mut roots: Vec<&IRoot> = ran.exposed.iter().filter(is_first).collect();
    roots.sort_unstable();
    let places = words(tally);
    let word = |root: &&IRoot| {
        format!("idiom {}: {}", root.idiom.number(), root.describe(|place| location(&places, place)))
    };
    roots.iter().map(word).collect()
}
