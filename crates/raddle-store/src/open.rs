//! Opening: what is ours, what is damaged, and what is neither.

use crate::Store;
use crate::schema::{APPLICATION, TABLES, VERSION};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refuses.
    #[error("{path}: {source}", path = path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
    /// It is a database of somebody else.
    #[error("{path}: it is a database of another program; name another file for the store", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was made by a later version.
    #[error("{path}: it is a store of version {version}, and this raddle knows up to {VERSION}; use a newer raddle, or another file", path = path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i32,
    },
    /// It is damaged.
    #[error("{path}: the store is damaged ({reason})", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A damaged file cannot be set aside.
    #[error("{path}: the store is damaged, and cannot be set aside as {aside}: {source}", path = path.display(), aside = aside.display())]
    CannotSetAside {
        /// The file.
        path: PathBuf,
        /// What it was to be called.
        aside: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// A store that can be used.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// Where the damaged file is now that was in its place, and what was wrong with it.
    pub set_aside: Option<(PathBuf, String)>,
}

pub(crate) fn open(path: &Path) -> Result<Opened, StoreError> {
    match try_open(path, OpenFlags::default()) {
        Ok(store) => Ok(Opened { store, set_aside: None }),
        Err(StoreError::Damaged { path, .. }) => replace(&path),
        Err(error) => Err(error),
    }
}

pub(crate) fn open_existing(path: &Path) -> Result<Store, StoreError> {
    // Not read-only: a process that was killed may have left a log that has to be gone through.
    try_open(path, OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE)
}

/// Whether an error says that the content of the file is wrong.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn try_open(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
    let failed = |source: rusqlite::Error| {
        let path = path.to_owned();
        if is_damage(&source) {
            StoreError::Damaged { path, reason: source.to_string() }
        } else {
            StoreError::Database { path, source }
        }
    };
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    let whole: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if whole != "ok" {
        return Err(StoreError::Damaged { path: path.to_owned(), reason: whole });
    }
    // Readers and a writer do not wait for each other, and a commit is one append.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let number = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let tables: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    match (number("application_id").map_err(failed)?, number("user_version").map_err(failed)?) {
        (0, 0) if tables == 0 => {
            transaction.execute_batch(TABLES).map_err(failed)?;
            transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
        }
        (APPLICATION, VERSION) => {}
        (APPLICATION, version) => return Err(StoreError::Newer { path: path.to_owned(), version }),
        _ => return Err(StoreError::Foreign { path: path.to_owned() }),
    }
    transaction.commit().map_err(failed)?;
    Ok(Store { path: path.to_owned(), connection })
}

/// Begins a new store in the place of one that was found to be damaged. Of several processes that find it so only one moves it.
fn replace(path: &Path) -> Result<Opened, StoreError> {
    let _turn = std::fs::File::options()
        .create(true)
        .append(true)
        .open(beside(path, ".lock"))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|source| StoreError::CannotSetAside {
            path: path.to_owned(),
            aside: beside(path, ".lock"),
            source,
        })?;
    match try_open(path, OpenFlags::default()) {
        Ok(store) => Ok(Opened { store, set_aside: None }),
        Err(StoreError::Damaged { reason, .. }) => {
            let aside = set_aside(path)?;
            let store = try_open(path, OpenFlags::default())?;
            Ok(Opened { store, set_aside: Some((aside, reason)) })
        }
        Err(error) => Err(error),
    }
}

/// The file whose name has `end` in addition.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Renames a damaged file, and what belongs to it, to a name that nothing has.
fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let with = |end: &str| beside(path, end);
    let end = (1..).map(|number| format!(".damaged-{number}")).find(|end| !with(end).exists());
    let end = end.unwrap_or_else(|| ".damaged".to_owned());
    let aside = with(&end);
    std::fs::rename(path, &aside).map_err(|source| StoreError::CannotSetAside {
        path: path.to_owned(),
        aside: aside.clone(),
        source,
    })?;
    for part in ["-wal", "-shm"] {
        // Most often there is none.
        _ = std::fs::rename(with(part), with(&format!("{end}{part}")));
    }
    Ok(aside)
}
