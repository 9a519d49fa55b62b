//! Temporary files.

use anyhow::{Context, Result};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempPath;

/// A file that is removed when this is dropped.
pub(crate) struct Temporary(TempPath);

impl Temporary {
    /// Writes a file whose name ends in `end`.
    pub(crate) fn write(end: &str, content: &[u8]) -> Result<Temporary> {
        let folder = std::env::temp_dir();
        let mut file = tempfile::Builder::new()
            .prefix("raddle-")
            .suffix(&format!("-{end}"))
            .permissions(Permissions::from_mode(0o700))
            .tempfile_in(&folder)
            .with_context(|| format!("cannot create a file in {}", folder.display()))?;
        file.write_all(content).with_context(|| {
            format!("cannot write {}; TMPDIR names another place for it", file.path().display())
        })?;
        // It is closed before it is loaded.
        Ok(Temporary(file.into_temp_path()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}
