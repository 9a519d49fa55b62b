//! Tested interleavings, stored in a file of the project, for later searches and other inputs, and the state of campaigns.
//!
//! The file is an SQLite database; several machines can share a PostgreSQL database instead (feature `postgres`). A search
//! adds its results in one transaction, so that a killed process leaves the previous content, and several processes may add
//! at once. A damaged file is renamed, never emptied.
//!
//! A code location is stored as its function, a hash of that function's body and the offset in it, so that
//! iRoots survive changes elsewhere. Those of changed functions are never found again and can be removed
//! ([`Store::forget`]).

mod campaign;
mod db;
mod entry;
mod keeper;
mod open;
mod remote;
mod schema;

pub use campaign::{Campaign, CampaignCause, CampaignTurn, NewFailure, Night, Replay, Sighting};
pub use entry::{Entry, Identity, Location, Search, Stored};
pub use keeper::{Keeper, Kept};
pub use open::{Opened, StoreError};

use db::{Database, DbError, Row, transaction};
use raddle_model::Standing;
use remote::Access;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of the file in the folder of a project.
pub const FILE_NAME: &str = ".raddle-coverage.sqlite";

/// An open store.
#[derive(Debug)]
pub struct Store {
    /// The file or the URL, in messages.
    name: String,
    database: Box<dyn Database>,
}

impl Store {
    /// Opens the store, or creates one if there is none. `path` is a file or the URL of a PostgreSQL database. A damaged file is
    /// renamed, which is reported.
    pub fn open(path: &Path) -> Result<Opened, StoreError> {
        match url(path) {
            Some(url) => Ok(Opened { store: remote::open(url, Access::Create)?, set_aside: None }),
            None => open::open(path),
        }
    }

    /// Opens an existing store for reading: neither is the file changed nor can [`Store::add`] or
    /// [`Store::forget`] change it.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        url(path).map_or_else(|| open::read(path), |url| remote::open(url, Access::Read))
    }

    /// Opens an existing store for writing. A damaged one is rejected and stays where it is.
    pub fn open_to_change(path: &Path) -> Result<Store, StoreError> {
        url(path).map_or_else(|| open::change(path), |url| remote::open(url, Access::Change))
    }

    fn error(&self, source: DbError) -> StoreError {
        StoreError::Query { store: self.name.clone(), source }
    }

    /// Returns all entries, in the order in which they were added.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let rows = self.snapshot(|database| read_rows(database))?;
        // Skips rows that another version wrote.
        Ok(rows.into_iter().filter_map(|row| row.entry).collect())
    }

    /// Executes queries that all see the same state.
    fn snapshot<T>(&self, read: impl FnOnce(&dyn Database) -> Result<T, DbError>) -> Result<T, StoreError> {
        let database = &*self.database;
        let read = database.begin_read().and_then(|()| read(database));
        database.roll_back();
        read.map_err(|error| self.error(error))
    }

    /// Adds the results of a search. Failed runs add up, so `added` must contain those of this search alone.
    /// Returns the number of iRoots exposed for the first time.
    pub fn add(&mut self, added: &[Entry], search: &Search) -> Result<u64, StoreError> {
        let database = &*self.database;
        let epoch = (random() >> 1) as i64;
        let added = transaction(database, || {
            let mut fresh = 0;
            let worker = identity(database)?;
            // Only if the answer of the server to an earlier attempt was lost.
            let known = "SELECT fresh FROM search WHERE worker = $1 AND epoch = $2";
            if let Some(row) = database.query(known, &[worker.as_str().into(), epoch.into()])?.first() {
                return Ok(row.number(0));
            }
            for entry in added {
                let (id, is_fresh) = insert(database, entry)?;
                fresh += u64::from(is_fresh);
                insert_attempt(database, id, &worker, epoch, entry.standing, ADDS_UP)?;
            }
            insert_search(database, &worker, epoch, now(), search, fresh)?;
            Ok(fresh)
        });
        added.map_err(|error| self.error(error))
    }

    /// Adds everything that another store has. Doing that again changes nothing, and the order of merges does not matter. Returns
    /// the number of iRoots exposed for the first time.
    pub fn merge(&mut self, other: &Store) -> Result<u64, StoreError> {
        // Repeated merges must know it by the same name.
        transaction(&*other.database, || identity(&*other.database)).map_err(|error| other.error(error))?;
        let (rows, attempts, searches) = other.snapshot(|database| {
            let attempts = "SELECT iroot, worker, epoch, failed, met FROM attempt";
            let searches = "SELECT worker, epoch, at, program, arguments, strategy, runs, failures, fresh FROM search \
                            ORDER BY at, worker, epoch";
            Ok((read_rows(database)?, database.query(attempts, &[])?, database.query(searches, &[])?))
        })?;
        let database = &*self.database;
        let merged = transaction(database, || {
            let mut fresh = 0;
            for row in &rows {
                let Some(entry) = &row.entry else { continue };
                let (id, is_fresh) = insert(database, entry)?;
                fresh += u64::from(is_fresh);
                for attempt in attempts.iter().filter(|attempt| attempt.integer(0) == row.id) {
                    let standing = Standing {
                        failed: attempt.integer(3) as u32,
                        met: attempt.integer(4) as u32,
                        ..Standing::default()
                    };
                    let (worker, epoch) = (attempt.text(1), attempt.integer(2));
                    insert_attempt(database, id, &worker, epoch, standing, "NOTHING")?;
                }
            }
            for row in &searches {
                let Stored { at, what, fresh } = search_of(row, 2);
                insert_search(database, &row.text(0), row.integer(1), at, &what, fresh)?;
            }
            Ok(fresh)
        });
        merged.map_err(|error| self.error(error))
    }

    /// Removes all iRoots for which `keep` returns false, and the locations that only they had. Returns their
    /// number. No other process can add anything meanwhile.
    pub fn forget(&mut self, mut keep: impl FnMut(&Entry) -> bool) -> Result<u64, StoreError> {
        let database = &*self.database;
        // An entry must not change between the decision and its removal: numbers of locations are reused.
        let removed = transaction(database, || {
            let rows = read_rows(database)?;
            let (kept, gone): (Vec<Known>, Vec<Known>) =
                rows.into_iter().partition(|row| row.entry.as_ref().is_none_or(&mut keep));
            for row in &gone {
                database.execute("DELETE FROM attempt WHERE iroot = $1", &[row.id.into()])?;
                database.execute("DELETE FROM iroot WHERE id = $1", &[row.id.into()])?;
            }
            let callers = read_callers(database)?;
            let used = kept.iter().flat_map(|row| entry::place_ids(&row.sites));
            let used: BTreeSet<i64> =
                used.flat_map(|id| std::iter::successors(Some(id), |id| callers.get(id).copied())).collect();
            for &id in callers.keys().filter(|id| !used.contains(id)) {
                database.execute("DELETE FROM place WHERE id = $1", &[id.into()])?;
            }
            Ok(gone.len() as u64)
        });
        removed.map_err(|error| self.error(error))
    }

    /// Returns the searches that added something, the first one first.
    pub fn searches(&self) -> Result<Vec<Stored<Search>>, StoreError> {
        let sql = "SELECT at, program, arguments, strategy, runs, failures, fresh FROM search ORDER BY id";
        let rows = self.database.query(sql, &[]).map_err(|error| self.error(error))?;
        Ok(rows.iter().map(|row| search_of(row, 0)).collect())
    }
}

/// Returns the URL, if a store is in a PostgreSQL database.
pub fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with("postgres://") || text.starts_with("postgresql://"))
}

/// Returns the name of a store for messages: that of its file, or its URL without the password.
pub fn shown(path: &Path) -> String {
    url(path).map_or_else(|| path.display().to_string(), remote::without_password)
}

/// Returns true if there may be a store: a file is there, or it is in a database.
pub fn exists(path: &Path) -> bool {
    url(path).is_some() || path.exists()
}

/// Returns the name of the store in merges: its searches are counted by it.
fn identity(database: &dyn Database) -> Result<String, DbError> {
    const NAME: &str = "store";
    let stored = database.query("SELECT value FROM setting WHERE name = $1", &[NAME.into()])?;
    if let Some(row) = stored.first() {
        return Ok(row.text(0));
    }
    let own = format!("{:016x}", random());
    let sql = "INSERT INTO setting (name, value) VALUES ($1, $2)";
    database.execute(sql, &[NAME.into(), own.as_str().into()])?;
    // Earlier versions had no names.
    for table in ["search", "attempt"] {
        database
            .execute(&format!("UPDATE {table} SET worker = $1 WHERE worker = ''"), &[own.as_str().into()])?;
    }
    Ok(own)
}

/// Returns a number that no other store or search has.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[expect(clippy::disallowed_methods, reason = "people want to know when a search was made")]
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// Adds an iRoot. Returns its number, and true if it was exposed for the first time.
fn insert(database: &dyn Database, entry: &Entry) -> Result<(i64, bool), DbError> {
    let ids: Vec<i64> =
        entry.sites.iter().map(|(place, _)| place_id(database, place)).collect::<Result<_, _>>()?;
    let key = entry::key(entry, &ids);
    let (idiom, standing) = (entry.idiom.number() as i64, entry.standing);
    let known = "SELECT exposed FROM iroot WHERE idiom = $1 AND sites = $2";
    let before = database.query(known, &[idiom.into(), key.as_str().into()])?;
    let was_exposed = before.first().is_some_and(|row| row.integer(0) != 0);
    let rows = database.query(
        "INSERT INTO iroot (idiom, sites, exposed, predicted) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (idiom, sites) DO UPDATE SET \
         exposed = CASE WHEN iroot.exposed > excluded.exposed THEN iroot.exposed ELSE excluded.exposed END, \
         predicted = CASE WHEN iroot.predicted > excluded.predicted THEN iroot.predicted ELSE excluded.predicted END \
         RETURNING id",
        &[
            idiom.into(),
            key.as_str().into(),
            i64::from(standing.exposed).into(),
            i64::from(standing.predicted).into(),
        ],
    )?;
    Ok((rows[0].integer(0), standing.exposed && !was_exposed))
}

/// The failed attempts that one call adds for an iRoot add up.
const ADDS_UP: &str =
    "UPDATE SET failed = attempt.failed + excluded.failed, met = attempt.met + excluded.met";

/// Adds the failed attempts of a search at an iRoot. `known` is done if there are some already.
fn insert_attempt(
    database: &dyn Database,
    iroot: i64,
    worker: &str,
    epoch: i64,
    standing: Standing,
    known: &str,
) -> Result<(), DbError> {
    if standing.failed == 0 && standing.met == 0 {
        return Ok(());
    }
    let sql = format!(
        "INSERT INTO attempt (iroot, worker, epoch, failed, met) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (iroot, worker, epoch) DO {known}"
    );
    let (failed, met) = (i64::from(standing.failed), i64::from(standing.met));
    database.execute(&sql, &[iroot.into(), worker.into(), epoch.into(), failed.into(), met.into()]).map(drop)
}

fn insert_search(
    database: &dyn Database,
    worker: &str,
    epoch: i64,
    at: i64,
    search: &Search,
    fresh: u64,
) -> Result<(), DbError> {
    let sql = "INSERT INTO search (worker, epoch, at, program, arguments, strategy, runs, failures, fresh) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (worker, epoch) DO NOTHING";
    let values = [
        worker.into(),
        epoch.into(),
        at.into(),
        search.program.as_str().into(),
        search.arguments.as_str().into(),
        search.strategy.as_str().into(),
        search.runs.into(),
        search.failures.into(),
        fresh.into(),
    ];
    database.execute(sql, &values).map(drop)
}

/// Returns the search in the columns of a row from `first` on.
fn search_of(row: &Row, first: usize) -> Stored<Search> {
    Stored {
        at: row.integer(first),
        what: Search {
            program: row.text(first + 1),
            arguments: row.text(first + 2),
            strategy: row.text(first + 3),
            runs: row.number(first + 4),
            failures: row.number(first + 5),
        },
        fresh: row.number(first + 6),
    }
}

/// A stored iRoot.
struct Known {
    id: i64,
    sites: String,
    /// `None` if it is invalid.
    entry: Option<Entry>,
}

/// Returns the caller of each location, 0 for none. It has a smaller number, because it was added first.
fn read_callers(database: &dyn Database) -> Result<BTreeMap<i64, i64>, DbError> {
    let rows = database.query("SELECT id, caller FROM place WHERE caller < id", &[])?;
    Ok(rows.iter().map(|row| (row.integer(0), row.integer(1))).collect())
}

fn read_places(database: &dyn Database) -> Result<BTreeMap<i64, Location>, DbError> {
    let sql =
        "SELECT id, module, function, body, \"offset\", shown, is_library, caller FROM place ORDER BY id";
    let mut places: BTreeMap<i64, Location> = BTreeMap::new();
    for row in database.query(sql, &[])? {
        let caller = match row.integer(7) {
            0 => None,
            // A location with an invalid caller is invalid.
            caller => match places.get(&caller) {
                None => continue,
                caller => caller.cloned().map(Box::new),
            },
        };
        let place = Location {
            module: row.text(1),
            function: row.text(2),
            body: row.number(3),
            offset: row.number(4),
            shown: row.text(5),
            is_library: row.integer(6) != 0,
            caller,
        };
        places.insert(row.integer(0), place);
    }
    Ok(places)
}

/// Returns all iRoots in the order in which they were added.
fn read_rows(database: &dyn Database) -> Result<Vec<Known>, DbError> {
    let places = read_places(database)?;
    let sql = "SELECT iroot, failed, met FROM attempt";
    let mut attempts: BTreeMap<i64, (u32, u32)> = BTreeMap::new();
    for row in database.query(sql, &[])? {
        let (failed, met) = attempts.entry(row.integer(0)).or_default();
        *failed = failed.saturating_add(row.integer(1) as u32);
        *met = met.saturating_add(row.integer(2) as u32);
    }
    let rows = database.query("SELECT id, idiom, sites, exposed, predicted FROM iroot ORDER BY id", &[])?;
    let known = |row: &Row| {
        let (id, idiom, sites) = (row.integer(0), row.integer(1), row.text(2));
        let (failed, met) = attempts.get(&id).copied().unwrap_or_default();
        let (exposed, predicted) = (row.integer(3) != 0, row.integer(4) != 0);
        let entry = entry::from_row(idiom, &sites, Standing { exposed, predicted, failed, met }, &places);
        Known { id, sites, entry }
    };
    Ok(rows.iter().map(known).collect())
}

/// Returns the number of a location, adding it and its callers if necessary. Updates the text for people,
/// which may have changed.
fn place_id(database: &dyn Database, place: &Location) -> Result<i64, DbError> {
    let caller = match &place.caller {
        Some(caller) => place_id(database, caller)?,
        None => 0,
    };
    let rows = database.query(
        "INSERT INTO place (module, function, body, \"offset\", shown, is_library, caller) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (module, function, body, \"offset\", caller) DO UPDATE SET shown = excluded.shown, \
         is_library = excluded.is_library RETURNING id",
        &[
            place.module.as_str().into(),
            place.function.as_str().into(),
            place.body.into(),
            place.offset.into(),
            place.shown.as_str().into(),
            i64::from(place.is_library).into(),
            caller.into(),
        ],
    )?;
    Ok(rows[0].integer(0))
}
