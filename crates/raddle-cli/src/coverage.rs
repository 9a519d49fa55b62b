//! `raddle coverage`, and the store access of `raddle run`.

use crate::args::CoverageArgs;
use crate::outcome::Outcome;
use anyhow::{Context, Result};
use raddle_model::{EXIT_NOTHING_FOUND, IRoot, Idiom};
use raddle_report::shape;
use raddle_report::store_text::{self, Kept, KeptIdiom, KeptRoot, KeptSearch};
use raddle_store::{Entry, Identity, Keeper, Search, Store, StoreError, Stored};
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn run(args: &CoverageArgs, width: usize) -> Result<Outcome> {
    let path = &args.store.store;
    let forgotten = match &args.forget_stale {
        Some(program) => Some(forget(&mut existing(path, Store::open_to_change)?, program)?),
        None => None,
    };
    for other in &args.merge {
        // The other one gets a name, by which its searches are known in repeated merges.
        let other = existing(other, Store::open_to_change)?;
        Store::open(path)?.store.merge(&other)?;
    }
    let store = existing(path, Store::open_to_read)?;
    let entries: Vec<Entry> = store.entries()?.into_iter().filter(|entry| wanted(args, entry)).collect();
    let other = match &args.diff {
        Some(other) => {
            let entries = existing(other, Store::open_to_read)?.entries()?;
            Some(entries.into_iter().filter(|entry| wanted(args, entry)).collect::<Vec<_>>())
        }
        None => None,
    };
    let only = |these: &[Entry], those: &[Entry]| {
        let those: BTreeSet<Identity<'_>> = exposed(those).map(Entry::identity).collect();
        let only = exposed(these).filter(|entry| !those.contains(&entry.identity()));
        only.map(|entry| format!("idiom {}: {}", entry.idiom.number(), in_words(entry))).collect::<Vec<_>>()
    };
    let shape = Kept {
        idioms: Idiom::ALL.into_iter().map(|idiom| row(idiom, &entries)).collect(),
        searches: store.searches()?.into_iter().map(search_shape).collect(),
        iroots: args.list.then(|| entries.iter().map(root_shape).collect()),
        forgotten,
        only_here: other.as_ref().map(|other| only(&entries, other)),
        only_there: other.as_ref().map(|other| only(other, &entries)),
    };
    let text = if args.json { shape::line(&shape) } else { store_text::text(&shape, width) };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

fn existing(path: &Path, open: impl Fn(&Path) -> Result<Store, StoreError>) -> Result<Store> {
    let shown = raddle_store::shown(path);
    anyhow::ensure!(
        raddle_store::exists(path),
        "there is no store {shown}\nhelp: `raddle run --coverage` and `raddle run --strategy maple` make one"
    );
    open(path).with_context(|| format!("{shown}: the store cannot be used"))
}

fn wanted(args: &CoverageArgs, entry: &Entry) -> bool {
    let in_library = entry.sites.iter().any(|(place, _)| place.is_library);
    let failed = entry.standing.failed > 0 && !entry.standing.exposed;
    (!args.failed || failed) && (!args.own || !in_library) && (!args.libraries || in_library)
}

fn row(idiom: Idiom, entries: &[Entry]) -> KeptIdiom {
    let own = || entries.iter().filter(|entry| entry.idiom == idiom).map(|entry| entry.standing);
    KeptIdiom {
        idiom: idiom.number(),
        exposed: own().filter(|standing| standing.exposed).count() as u64,
        predicted: own().filter(|standing| standing.predicted).count() as u64,
        confirmed: own().filter(|standing| standing.predicted && standing.exposed).count() as u64,
        failed: own().filter(|standing| standing.failed > 0 && !standing.exposed).count() as u64,
    }
}

fn search_shape(stored: Stored<Search>) -> KeptSearch {
    let Stored { at, what, fresh } = stored;
    let Search { program, arguments, strategy, runs, failures } = what;
    KeptSearch { at, program, arguments, strategy, runs, failures, fresh }
}

fn root_shape(entry: &Entry) -> KeptRoot {
    let standing = entry.standing;
    KeptRoot {
        idiom: entry.idiom.number(),
        reported: in_words(entry),
        exposed: standing.exposed,
        predicted: standing.predicted,
        failed: standing.failed,
        met: standing.met,
    }
}

fn exposed(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.standing.exposed)
}

fn in_words(entry: &Entry) -> String {
    IRoot::in_words(entry.sites.iter().map(|(place, action)| (*action, place.shown.clone())))
}

/// Forgets entries about changed functions of `program`.
fn forget(store: &mut Store, program: &Path) -> Result<u64> {
    let whole =
        std::fs::canonicalize(program).with_context(|| format!("cannot find {}", program.display()))?;
    let mut keeper = Keeper::new(&whole);
    let unknown = store.entries()?.iter().any(|entry| keeper.is_unknown(entry));
    anyhow::ensure!(
        !unknown,
        "{}: it does not tell which functions it has, so that nothing can be forgotten; name a build with symbols",
        program.display()
    );
    Ok(store.forget(|entry| !keeper.is_stale(entry))?)
}
