//! Opening a store, and the detection of foreign and damaged files.

use crate::schema::{APPLICATION, FROM_1, FROM_2, TABLES, VERSION};
use crate::{FILE_NAME, Store};
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The timeout for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The delay before the next attempt to lock the folder.
const AGAIN: Duration = Duration::from_millis(5);

/// The flags for opening an existing file.
const EXISTING: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_URI)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The reason why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database reported an error.
    #[error("{path}: {source}", path = path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// The message.
        source: rusqlite::Error,
    },
    /// It is a PostgreSQL database, and this program was built without support for it.
    #[error(
        "{store}: this raddle was built without PostgreSQL\nhelp: build it with --features postgres, or name a file for the store"
    )]
    NoPostgres {
        /// The store.
        store: String,
    },
    /// A statement failed.
    #[error("{store}: {source}")]
    Query {
        /// The store.
        store: String,
        /// The message.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It is a database of another program.
    #[error("{path} is a database of another program\nhelp: name another file for the store", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version wrote it.
    #[error("{path} has store version {version}, this version of raddle supports up to {VERSION}\nhelp: use a newer raddle, or name another file for the store", path = path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i32,
    },
    /// It is not a readable database, and was not a store before.
    #[error("{path} is not a store\nhelp: name another file for the store", path = path.display())]
    NoStore {
        /// The file.
        path: PathBuf,
    },
    /// It is damaged.
    #[error("{path}: the store is damaged ({reason})", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// The folder cannot be opened.
    #[error("{path}: cannot open the folder of the store: {source}", path = path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Another process has locked the folder.
    #[error(
        "{path}: another process has locked the folder of the store for more than {} seconds\nhelp: find the process with `lslocks`, or name another file for the store",
        PATIENCE.as_secs(),
        path = path.display(),
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A damaged file cannot be renamed.
    #[error("{path}: the store is damaged and cannot be renamed to {aside}: {source}", path = path.display(), aside = aside.display())]
    CannotSetAside {
        /// The file.
        path: PathBuf,
        /// The new name.
        aside: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// An open store.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// The new path of the damaged file that was replaced, and the damage.
    pub set_aside: Option<(PathBuf, String)>,
}

/// Opens a store for writing, creates one if there is none, and renames a damaged one.
pub(crate) fn open(path: &Path) -> Result<Opened, StoreError> {
    let _turn = turn(path)?;
    let mut moved = None;
    match look(path) {
        Ok(_) => {}
        Err(StoreError::Damaged { reason, .. }) => moved = Some((set_aside(path)?, reason)),
        Err(error) if path.exists() => return Err(error),
        Err(_) => {}
    }
    let store = match prepare(path, OpenFlags::default()) {
        Err(StoreError::Damaged { reason, .. }) if moved.is_none() => {
            moved = Some((set_aside(path)?, reason));
            prepare(path, OpenFlags::default())?
        }
        prepared => prepared?,
    };
    Ok(Opened { store, set_aside: moved })
}

/// Opens an existing store for writing.
pub(crate) fn change(path: &Path) -> Result<Store, StoreError> {
    let _turn = turn(path)?;
    drop(look(path)?);
    prepare(path, EXISTING)
}

/// Waits until no other process opens a store in this folder for writing. Of several processes only one
/// creates the file or renames a damaged one, and none creates another one meanwhile, whose log would be
/// moved too.
fn turn(path: &Path) -> Result<Option<File>, StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = |source| StoreError::NoFolder { path: path.to_owned(), source };
    let folder = File::open(folder).map_err(cannot)?;
    for _ in 0..PATIENCE.as_millis() / AGAIN.as_millis() {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN),
            // This file system does not support locks on folders. The database has its own locks.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
    Err(StoreError::Locked { path: path.to_owned() })
}

/// Opens an existing store for reading.
pub(crate) fn read(path: &Path) -> Result<Store, StoreError> {
    let mut connection = look(path)?;
    if beside(path, "-shm").exists() {
        // Readers share files next to the store. Only a connection that may write removes them when it is
        // closed.
        let writer = Connection::open_with_flags(path, EXISTING).map_err(failed(path))?;
        writer.busy_timeout(PATIENCE).map_err(failed(path))?;
        connection = writer;
    }
    check(path, &connection)?;
    if is_empty(&connection).map_err(failed(path))? {
        // Another process has begun to create it.
        connection = Connection::open_in_memory().map_err(failed(path))?;
        connection.execute_batch(TABLES).map_err(failed(path))?;
    } else if version(&connection).map_err(failed(path))? < VERSION {
        connection = copy(&connection).map_err(failed(path))?;
        // Another process may have upgraded it meanwhile.
        upgrade(&connection).map_err(failed(path))?;
    }
    connection.pragma_update(None, "query_only", true).map_err(failed(path))?;
    Ok(Store { name: path.display().to_string(), database: Box::new(connection) })
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
}

/// Returns a function that converts a database error for the file at `path`.
fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |source| {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) if is_store(&path) => {
                StoreError::Damaged { path, reason: source.to_string() }
            }
            Some(ErrorCode::NotADatabase) => StoreError::NoStore { path },
            _ => StoreError::Database { path, source },
        }
    }
}

/// Returns true if a damaged file was a store, so that it may be renamed: it has the name of one, its header
/// says so, or it ends within the first bytes of a database.
fn is_store(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    const HEAD: u64 = 100;
    /// The position of the application id in the header.
    const NUMBER: std::ops::Range<usize> = 68..72;
    if path.file_name().is_some_and(|name| name == FILE_NAME) {
        return true;
    }
    let mut head = Vec::new();
    let is_read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head)).is_ok();
    let is_database = MAGIC.starts_with(&head[..head.len().min(MAGIC.len())]);
    let is_ours = head.get(NUMBER).is_none_or(|number| number == APPLICATION.to_be_bytes());
    is_read && is_database && is_ours
}

/// Opens a file read-only, and rejects it if it is not a store. An empty file may become one.
fn look(path: &Path) -> Result<Connection, StoreError> {
    let failed = failed(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    match identify_now(path, &connection) {
        // Readers share a file next to the store, which cannot be created in a read-only folder.
        Err(StoreError::Database { source, .. })
            if (cannot_open(&source) || source.sqlite_error_code() == Some(ErrorCode::ReadOnly))
                && !beside(path, "-wal").exists() =>
        {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(unchanging(path), flags).map_err(failed)?;
            identify_now(path, &connection)?;
            Ok(connection)
        }
        identified => identified.map(|()| connection),
    }
}

/// Returns the URI of an immutable database.
fn unchanging(path: &Path) -> String {
    let mut address = if path.is_absolute() { "file://" } else { "file:" }.to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => address.push_str(&format!("%{byte:02x}")),
        }
    }
    address + "?immutable=1"
}

/// Rejects a file that is neither a store nor empty, in a transaction of its own: another process may be
/// creating it.
fn identify_now(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let moment = connection.unchecked_transaction().map_err(failed(path))?;
    identify(path, &moment)
}

/// Rejects a file that is neither a store nor empty, within a transaction.
fn identify(path: &Path, connection: &Transaction<'_>) -> Result<(), StoreError> {
    let application = connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
    match (application.map_err(failed(path))?, version(connection).map_err(failed(path))?) {
        (APPLICATION, 1..=VERSION) => Ok(()),
        (APPLICATION, version) => Err(StoreError::Newer { path: path.to_owned(), version }),
        (0, 0) if is_empty(connection).map_err(failed(path))? => Ok(()),
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Upgrades the tables to the current version, one version after the other.
fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    if version(connection)? < 2 {
        connection.execute_batch(FROM_1)?;
    }
    if version(connection)? < 3 {
        connection.execute_batch(FROM_2)?;
        connection.pragma_update(None, "user_version", 3)?;
    }
    Ok(())
}

/// Copies a database into memory.
fn copy(connection: &Connection) -> rusqlite::Result<Connection> {
    let mut copy = Connection::open_in_memory()?;
    Backup::new(connection, &mut copy)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
    Ok(copy)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// Rejects a damaged database.
fn check(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let whole: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed(path))?;
    if whole == "ok" {
        return Ok(());
    }
    let path = path.to_owned();
    Err(if is_store(&path) {
        StoreError::Damaged { path, reason: whole }
    } else {
        StoreError::NoStore { path }
    })
}

/// Opens a store or an empty file for writing, and creates the tables if there are none.
fn prepare(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
    let failed = failed(path);
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    check(path, &connection)?;
    // Readers and a writer do not wait for each other, and a commit is one append.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    identify(path, &transaction)?;
    if is_empty(&transaction).map_err(failed)? {
        transaction.execute_batch(TABLES).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    } else {
        upgrade(&transaction).map_err(failed)?;
    }
    transaction.commit().map_err(failed)?;
    Ok(Store { name: path.display().to_string(), database: Box::new(connection) })
}

/// Returns the path with `end` appended to its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Renames a damaged file, and those that belong to it, to an unused name.
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
        // Usually there is none.
        _ = std::fs::rename(with(part), with(&format!("{end}{part}")));
    }
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_returned_unchanged() {
        assert_eq!(unchanging(Path::new("/a b/c?d%.sqlite")), "file:///a%20b/c%3fd%25.sqlite?immutable=1");
        assert_eq!(unchanging(Path::new("x#.sqlite")), "file:x%23.sqlite?immutable=1");
    }
}
