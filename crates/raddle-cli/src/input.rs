//! Files that a user names.

use anyhow::{Context, Result, anyhow};
use raddle_model::TraceFile;
use std::io::{ErrorKind, Read};

/// Reads the text of a file, or of standard input for `-`.
pub(crate) fn read(path: &str) -> Result<String> {
    let mut text = String::new();
    let read = match path {
        "-" => std::io::stdin().lock().read_to_string(&mut text).map(drop),
        path => std::fs::read_to_string(path).map(|content| text = content),
    };
    read.map_err(|error| match error.kind() {
        ErrorKind::InvalidData => anyhow!("{}: is not a text file", shown(path)),
        _ => anyhow!(error).context(format!("cannot read {}", shown(path))),
    })?;
    Ok(text)
}

/// Returns the name of a file in messages.
pub(crate) fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Reads a failure file.
pub(crate) fn failure(path: &str) -> Result<TraceFile> {
    TraceFile::from_json(&read(path)?).with_context(|| shown(path).to_owned())
}
