//! The source files of Erlang programs. Places in the code name them without their folders.

use crate::explain::Sources;
use raddle_model::TraceFile;
use std::path::{Path, PathBuf};

/// Where sources are, seen from a folder with beams.
const BESIDE: [&str; 5] = [".", "../src", "../test", "../include", "../lib"];

/// The source files that `locations`, places in the code of the program of `file`, are in, as far as they are found.
pub(crate) fn of(file: &TraceFile, locations: &[String]) -> Sources {
    let mut names: Vec<&str> = locations.iter().filter_map(|place| Some(place.split_once(':')?.0)).collect();
    names.sort_unstable();
    names.dedup();
    let folders = folders(file);
    names.into_iter().filter_map(|name| Some((name.to_owned(), find(&folders, name)?))).collect()
}

/// The file `name` of the program of `file`.
fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The folders that may have sources of the program of `file`.
pub(crate) fn folders(file: &TraceFile) -> Vec<PathBuf> {
    let beams = file.arguments.chunks(2).filter_map(|pair| match pair {
        [option, folder] if option == "--pa" => Some(Path::new(folder)),
        _ => None,
    });
    beams.flat_map(|folder| BESIDE.map(|beside| folder.join(beside))).collect()
}
