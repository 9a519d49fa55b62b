//! Opening: what is ours, what is damaged, and what is neither.

use crate::schema::{APPLICATION, FROM_1, TABLES, VERSION};
use crate::{FILE_NAME, Store};
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait before the next try to lock the folder.
const AGAIN: Duration = Duration::from_millis(5);

/// How a file is opened that is there.
const EXISTING: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_URI)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

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
    /// It is no database that can be read, and was no store before.
    #[error("{path}: it is no store; name another file for the store", path = path.display())]
    NoStore {
        /// The file.
        path: PathBuf,
    },
    /// It is damaged.
    #[error("{path}: the store is damaged ({reason})", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The folder cannot be opened.
    #[error("{path}: the folder of the store cannot be opened: {source}", path = path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Somebody else has the lock of the folder.
    #[error(
        "{path}: another process has locked the folder of the store for more than {} seconds; see `lslocks`, or name another file for the store",
        PATIENCE.as_secs(),
        path = path.display(),
    )]
    Locked {
        /// The file.
        path: PathBuf,
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

/// Opens a store to be changed, begins one where there is none, and sets aside what was found to be damaged.
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

/// Opens a store that exists to be changed.
pub(crate) fn change(path: &Path) -> Result<Store, StoreError> {
    let _turn = turn(path)?;
    drop(look(path)?);
    prepare(path, EXISTING)
}

/// Waits until nobody else opens a store in this folder to change it. Of several processes only one makes the file or moves a
/// damaged one, and none begins another one meanwhile, whose log would be moved too.
fn turn(path: &Path) -> Result<Option<File>, StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = |source| StoreError::NoFolder { path: path.to_owned(), source };
    let folder = File::open(folder).map_err(cannot)?;
    for _ in 0..PATIENCE.as_millis() / AGAIN.as_millis() {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN),
            // Folders cannot be locked on this file system. The database has locks of its own.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
    Err(StoreError::Locked { path: path.to_owned() })
}

/// Opens a store that exists to be read.
pub(crate) fn read(path: &Path) -> Result<Store, StoreError> {
    let mut connection = look(path)?;
    if beside(path, "-shm").exists() {
        // Readers share files beside the store. Only one who may write takes them away when it is closed.
        let writer = Connection::open_with_flags(path, EXISTING).map_err(failed(path))?;
        writer.busy_timeout(PATIENCE).map_err(failed(path))?;
        connection = writer;
    }
    check(path, &connection)?;
    if is_empty(&connection).map_err(failed(path))? {
        // Somebody has begun to make it.
        connection = Connection::open_in_memory().map_err(failed(path))?;
        connection.execute_batch(TABLES).map_err(failed(path))?;
    } else if version(&connection).map_err(failed(path))? < VERSION {
        connection = copy(&connection).map_err(failed(path))?;
        // Somebody may have brought it up meanwhile.
        if version(&connection).map_err(failed(path))? < VERSION {
            connection.execute_batch(FROM_1).map_err(failed(path))?;
        }
    }
    connection.pragma_update(None, "query_only", true).map_err(failed(path))?;
    Ok(Store { path: path.to_owned(), connection })
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
}

/// What an error of the database means for the file at `path`.
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

/// Whether a file that is damaged was a store, so that it may be set aside: it has the name of one, says so in its head, or ends
/// within the first words of a database.
fn is_store(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    const HEAD: u64 = 100;
    /// Where in the head the number of the application is.
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

/// Opens a file so that nothing can be changed, and refuses it if it is not ours. A file without content may become ours.
fn look(path: &Path) -> Result<Connection, StoreError> {
    let failed = failed(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    match identify_now(path, &connection) {
        // Readers share a file beside the store, which cannot be made in a folder that is not to be changed.
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

/// The address of a database that nobody changes.
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

/// Refuses what is neither ours nor without content, as it is at one moment: somebody may be making it.
fn identify_now(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let moment = connection.unchecked_transaction().map_err(failed(path))?;
    identify(path, &moment)
}

/// Refuses what is neither ours nor without content, within a transaction.
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

/// All that is in a database, in memory.
fn copy(connection: &Connection) -> rusqlite::Result<Connection> {
    let mut copy = Connection::open_in_memory()?;
    Backup::new(connection, &mut copy)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
    Ok(copy)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// Refuses what is damaged.
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

/// Opens what is ours, or nobody's, to be changed, and makes the tables if there are none.
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
    } else if version(&transaction).map_err(failed)? < VERSION {
        transaction.execute_batch(FROM_1).map_err(failed)?;
    }
    transaction.commit().map_err(failed)?;
    Ok(Store { path: path.to_owned(), connection })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_as_it_is() {
        assert_eq!(unchanging(Path::new("/a b/c?d%.sqlite")), "file:///a%20b/c%3fd%25.sqlite?immutable=1");
        assert_eq!(unchanging(Path::new("x#.sqlite")), "file:x%23.sqlite?immutable=1");
    }
}
