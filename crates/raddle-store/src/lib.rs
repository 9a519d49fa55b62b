//! Tested interleavings, stored in a file of the project, for later searches and other inputs.
//!
//! The file is an SQLite database. A search adds its results in one transaction, so that a killed process
//! leaves the previous content, and several processes may add at once. A damaged file is renamed, never
//! emptied.
//!
//! A code location is stored as its function, a hash of that function's body and the offset in it, so that
//! iRoots survive changes elsewhere. Those of changed functions are never found again and can be removed
//! ([`Store::forget`]).

mod entry;
mod keeper;
mod open;
mod schema;

pub use entry::{Entry, Identity, Location, Search, Stored};
pub use keeper::{Keeper, Kept};
pub use open::{Opened, StoreError};

use raddle_model::Standing;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The name of the file in the folder of a project.
pub const FILE_NAME: &str = ".raddle-coverage.sqlite";

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens the store, or creates one if there is no such file. A damaged store is renamed, which is
    /// reported.
    pub fn open(path: &Path) -> Result<Opened, StoreError> {
        open::open(path)
    }

    /// Opens an existing store for reading: neither is the file changed nor can [`Store::add`] or
    /// [`Store::forget`] change it.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        open::read(path)
    }

    /// Opens an existing store for writing. A damaged one is rejected and stays where it is.
    pub fn open_to_change(path: &Path) -> Result<Store, StoreError> {
        open::change(path)
    }

    fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }

    /// Returns all entries, in the order in which they were added.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        self.read_entries().map_err(|error| self.error(error))
    }

    /// Adds the results of a search. Failed runs add up, so `added` must contain those of this search alone.
    /// Returns the number of iRoots exposed for the first time.
    pub fn add(&mut self, added: &[Entry], search: &Search) -> Result<u64, StoreError> {
        let path = self.path.clone();
        self.write_entries(added, search).map_err(|source| StoreError::Database { path, source })
    }

    /// Removes all iRoots for which `keep` returns false, and the locations that only they had. Returns their
    /// number. No other process can add anything meanwhile.
    pub fn forget(&mut self, keep: impl FnMut(&Entry) -> bool) -> Result<u64, StoreError> {
        let path = self.path.clone();
        self.delete(keep).map_err(|source| StoreError::Database { path, source })
    }

    /// Returns the searches that added something, the first one first.
    pub fn searches(&self) -> Result<Vec<Stored<Search>>, StoreError> {
        self.read_searches().map_err(|error| self.error(error))
    }

    fn read_entries(&self) -> rusqlite::Result<Vec<Entry>> {
        // Reads locations and iRoots in one transaction.
        let transaction = self.connection.unchecked_transaction()?;
        // Skips rows that another version wrote.
        Ok(read_rows(&transaction)?.into_iter().filter_map(|row| row.entry).collect())
    }

    fn write_entries(&mut self, added: &[Entry], search: &Search) -> rusqlite::Result<u64> {
        // Two processes that both read first and then want to write would block each other.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut fresh = 0;
        for entry in added {
            let ids: Vec<i64> = entry
                .sites
                .iter()
                .map(|(place, _)| place_id(&transaction, place))
                .collect::<Result<_, _>>()?;
            let key = entry::key(entry, &ids);
            let idiom = entry.idiom.number() as i64;
            let before: Option<bool> = transaction
                .prepare_cached("SELECT exposed FROM iroot WHERE idiom = ?1 AND sites = ?2")?
                .query_row(params![idiom, key], |row| row.get(0))
                .optional()?;
            let standing = entry.standing;
            fresh += u64::from(standing.exposed && before != Some(true));
            transaction
                .prepare_cached(
                    "INSERT INTO iroot (idiom, sites, exposed, predicted, failed, met) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                     ON CONFLICT (idiom, sites) DO UPDATE SET exposed = max(exposed, excluded.exposed), \
                     predicted = max(predicted, excluded.predicted), failed = failed + excluded.failed, \
                     met = met + excluded.met",
                )?
                .execute(params![
                    idiom,
                    key,
                    standing.exposed,
                    standing.predicted,
                    standing.failed,
                    standing.met
                ])?;
        }
        transaction
            .prepare_cached(
                "INSERT INTO search (at, program, arguments, strategy, runs, failures, fresh) \
                 VALUES (unixepoch(), ?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                search.program,
                search.arguments,
                search.strategy,
                search.runs as i64,
                search.failures as i64,
                fresh as i64
            ])?;
        transaction.commit()?;
        Ok(fresh)
    }

    fn delete(&mut self, mut keep: impl FnMut(&Entry) -> bool) -> rusqlite::Result<u64> {
        // An entry must not change between the decision and its removal: numbers of locations are reused.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (kept, gone): (Vec<Row>, Vec<Row>) =
            read_rows(&transaction)?.into_iter().partition(|row| row.entry.as_ref().is_none_or(&mut keep));
        for row in &gone {
            transaction.prepare_cached("DELETE FROM iroot WHERE id = ?1")?.execute([row.id])?;
        }
        let callers = read_callers(&transaction)?;
        let used = kept.iter().flat_map(|row| entry::place_ids(&row.sites));
        let used: BTreeSet<i64> =
            used.flat_map(|id| std::iter::successors(Some(id), |id| callers.get(id).copied())).collect();
        for id in callers.keys().filter(|id| !used.contains(id)) {
            transaction.prepare_cached("DELETE FROM place WHERE id = ?1")?.execute([id])?;
        }
        transaction.commit()?;
        Ok(gone.len() as u64)
    }

    fn read_searches(&self) -> rusqlite::Result<Vec<Stored<Search>>> {
        let mut statement = self.connection.prepare(
            "SELECT at, program, arguments, strategy, runs, failures, fresh FROM search ORDER BY id",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Stored {
                at: row.get(0)?,
                what: Search {
                    program: row.get(1)?,
                    arguments: row.get(2)?,
                    strategy: row.get(3)?,
                    runs: row.get::<_, i64>(4)? as u64,
                    failures: row.get::<_, i64>(5)? as u64,
                },
                fresh: row.get::<_, i64>(6)? as u64,
            })
        })?;
        rows.collect()
    }
}

/// A stored iRoot.
struct Row {
    id: i64,
    sites: String,
    /// `None` if it is invalid.
    entry: Option<Entry>,
}

/// Returns the caller of each location, 0 for none. It has a smaller number, because it was added first.
fn read_callers(connection: &Connection) -> rusqlite::Result<BTreeMap<i64, i64>> {
    let mut statement = connection.prepare("SELECT id, caller FROM place WHERE caller < id")?;
    let callers = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    callers.collect()
}

fn read_places(connection: &Connection) -> rusqlite::Result<BTreeMap<i64, Location>> {
    let mut statement = connection.prepare(
        "SELECT id, module, function, body, offset, shown, is_library, caller FROM place ORDER BY id",
    )?;
    let mut places: BTreeMap<i64, Location> = BTreeMap::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let caller = match row.get(7)? {
            0 => None,
            // A location with an invalid caller is invalid.
            caller => match places.get(&caller) {
                None => continue,
                caller => caller.cloned().map(Box::new),
            },
        };
        let place = Location {
            module: row.get(1)?,
            function: row.get(2)?,
            body: row.get::<_, i64>(3)? as u64,
            offset: row.get::<_, i64>(4)? as u64,
            shown: row.get(5)?,
            is_library: row.get(6)?,
            caller,
        };
        places.insert(row.get(0)?, place);
    }
    Ok(places)
}

/// Returns all iRoots in the order in which they were added.
fn read_rows(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Row>> {
    let places = read_places(transaction)?;
    let mut statement = transaction
        .prepare("SELECT id, idiom, sites, exposed, predicted, failed, met FROM iroot ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        let (id, idiom, sites): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let standing =
            Standing { exposed: row.get(3)?, predicted: row.get(4)?, failed: row.get(5)?, met: row.get(6)? };
        let entry = entry::from_row(idiom, &sites, standing, &places);
        Ok(Row { id, sites, entry })
    })?;
    rows.collect()
}

/// Returns the number of a location, adding it and its callers if necessary. Updates the text for people,
/// which may have changed.
fn place_id(transaction: &Transaction<'_>, place: &Location) -> rusqlite::Result<i64> {
    let caller = match &place.caller {
        Some(caller) => place_id(transaction, caller)?,
        None => 0,
    };
    transaction
        .prepare_cached(
            "INSERT INTO place (module, function, body, offset, shown, is_library, caller) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (module, function, body, offset, caller) DO UPDATE SET shown = excluded.shown, \
             is_library = excluded.is_library RETURNING id",
        )?
        .query_row(
            params![
                place.module,
                place.function,
                place.body as i64,
                place.offset as i64,
                place.shown,
                place.is_library,
                caller
            ],
            |row| row.get(0),
        )
}
