//! Temporary files, and those that killed processes have left behind.

use anyhow::{Result, anyhow};
use std::fs::{File, Metadata, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Once;
use std::time::Duration;
use tempfile::TempPath;

/// The prefix of their names.
const PREFIX: &str = "raddle-";

/// Younger files are kept: their process may not have locked them yet.
const NEW: Duration = Duration::from_secs(60);

/// A file that is removed when this is dropped.
pub struct Temporary {
    path: TempPath,
    /// Marks the file as in use for other processes.
    _lock: File,
}

impl Temporary {
    /// Writes a file whose name ends in `end`.
    pub fn write(end: &str, content: &[u8]) -> Result<Temporary> {
        let folder = std::env::temp_dir();
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(&format!("-{end}"))
            .permissions(Permissions::from_mode(0o700))
            .tempfile_in(&folder)
            .map_err(|error| unwritable(&folder, &error))?;
        let unwritable = |error| unwritable(file.path(), &error);
        file.as_file().write_all(content).map_err(unwritable)?;
        let lock = File::open(file.path()).map_err(unwritable)?;
        // On a file system without locks, nothing is removed either.
        _ = lock.lock_shared();
        static SWEPT: Once = Once::new();
        if let Ok(own) = lock.metadata() {
            SWEPT.call_once(|| sweep(&folder, &own));
        }
        // It is closed for writing before it is loaded.
        Ok(Temporary { path: file.into_temp_path(), _lock: lock })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    // The message of a failed creation repeats the path.
    let cause = error.to_string();
    let cause = cause.split(" at path ").next().unwrap_or_default();
    anyhow!(
        "cannot write {}: {cause}\nhelp: set TMPDIR to a folder that can be written and has space",
        path.display()
    )
}

/// Removes files of this user that killed processes have left behind: those that no process has locked.
fn sweep(folder: &Path, own: &Metadata) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let Some(about) = entry.metadata().ok().filter(|about| named && about.is_file()) else { continue };
        let age = own
            .modified()
            .ok()
            .zip(about.modified().ok())
            .and_then(|(own, its)| own.duration_since(its).ok());
        if about.uid() != own.uid() || age.is_none_or(|age| age < NEW) {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            // Somebody else may have been faster.
            _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_old_files_that_nobody_holds_are_swept() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let make = |name: &str, seconds: u64| {
            let path = folder.path().join(name);
            let file = File::create(&path).expect("a file can be made");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("it has a time");
            (path, file)
        };
        let (own, own_file) = make("raddle-own", 1_000);
        let (stale, _) = make("raddle-stale", 100);
        let (held, held_file) = make("raddle-held", 100);
        let (new, _) = make("raddle-new", 990);
        let (other, _) = make("other", 100);
        held_file.lock_shared().expect("it can be locked");
        sweep(folder.path(), &own_file.metadata().expect("it is there"));
        assert!(!stale.exists());
        [own, held, new, other].iter().for_each(|path| assert!(path.exists(), "{}", path.display()));
    }
}
