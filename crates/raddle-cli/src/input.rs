//! Files that a user names.

use anyhow::{Result, anyhow};
use raddle_model::{FileError, TraceFile};
use std::io::{ErrorKind, Read};

/// Reads the text of a file, or of standard input for `-`.
pub(crate) fn read(path: &str) -> Result<String> {
    let mut text = String::new();
    let read = match path {
        "-" => std::io::stdin().lock().read_to_string(&mut text).map(drop),
        path => std::fs::read_to_string(path).map(|content| text = content),
    };
    read.map_err(|error| {
        let cause = |help: &str| anyhow!("cannot read {}: {error}\nhelp: {help}", shown(path));
        match error.kind() {
            ErrorKind::InvalidData => anyhow!("{}: is not a text file", shown(path)),
            ErrorKind::NotFound => cause("check the path"),
            ErrorKind::PermissionDenied => cause("make the file readable for this user"),
            ErrorKind::IsADirectory => cause("name a file in it"),
            _ => anyhow!(error).context(format!("cannot read {}", shown(path))),
        }
    })?;
    Ok(text)
}

/// Returns the name of a file in messages.
pub(crate) fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Reads a failure file.
pub(crate) fn failure(path: &str) -> Result<TraceFile> {
    TraceFile::from_json(&read(path)?).map_err(|error| {
        let help = match error {
            FileError::Version { .. } => "use the version of raddle that wrote it",
            FileError::Syntax { .. } | FileError::Foreign => "pass a file that a failing run was recorded to",
            _ => "record the failure again",
        };
        anyhow!("{}: {error}\nhelp: {help}", shown(path))
    })
}
