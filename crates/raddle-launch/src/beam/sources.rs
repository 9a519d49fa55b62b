//! The source files of Erlang and Elixir programs. Locations name them without their folders.

use crate::subject::Sources;
use raddle_model::TraceFile;
use std::path::{Path, PathBuf};

/// Folders of sources, relative to a folder with beams.
const BESIDE: [&str; 5] = [".", "../src", "../test", "../include", "../lib"];

/// Folders of sources, relative to `_build/ENVIRONMENT/lib/APPLICATION/ebin`, where mix puts beams.
const OF_MIX: [&str; 2] = ["../../../../../lib", "../../../../../test"];

/// The maximum number of folders, and the depth: large enough for any project, and small enough for a wrong
/// folder.
const MOST_FOLDERS: usize = 1_000;
const DEEPEST: usize = 8;

/// Returns the source files of `locations` in the program of `file`, as far as they are found.
pub(crate) fn of(file: &TraceFile, locations: &[String]) -> Sources {
    let mut names: Vec<&str> = locations.iter().filter_map(|place| Some(place.split_once(':')?.0)).collect();
    names.sort_unstable();
    names.dedup();
    let folders = folders(file);
    names.into_iter().filter_map(|name| Some((name.to_owned(), find(&folders, name)?))).collect()
}

/// Returns the file `name` of the program of `file`.
fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns the folders that may contain sources of the program of `file`.
pub fn folders(file: &TraceFile) -> Vec<PathBuf> {
    let beams = file.arguments.chunks(2).filter_map(|pair| match pair {
        [option, folder] if option == "--pa" => Some(Path::new(folder)),
        _ => None,
    });
    beams.flat_map(beside).collect()
}

fn beside(beams: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = BESIDE.map(|beside| beams.join(beside)).into();
    if beams.ancestors().nth(4).is_some_and(|build| build.ends_with("_build")) {
        for place in OF_MIX {
            walk(&beams.join(place), DEEPEST, &mut folders);
        }
    }
    folders
}

/// Adds `folder` and its subfolders, sorted by name.
fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    if depth == 0 || found.len() >= MOST_FOLDERS {
        return;
    }
    found.push(folder.to_owned());
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut inside: Vec<PathBuf> = entries.flatten().filter(is_folder).map(|entry| entry.path()).collect();
    inside.sort_unstable();
    inside.iter().for_each(|folder| walk(folder, depth - 1, found));
}
