//! Translates `module+0x12ab`, the native runtime's form of locations and objects, to source names.
//!
//! Replay compares the numbers of locations and objects, never their texts, so the texts may change.

use super::address::address;
use super::{rust_names, values};
use crate::{Frame, Symbols};
use raddle_model::TraceFile;
use raddle_model::native::{self, CALLED_BY};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The paths of source files, by their names in locations.
pub type Sources = BTreeMap<String, PathBuf>;

/// The separator between a function and the one that it was inlined into.
const INLINED: &str = ", inlined into ";

/// The separator between a function and its caller, if locations have callers and are not from Rust.
const CALLED: &str = ", called by ";

/// The separator between a user function and the library function that it calls.
const CALLING: &str = ", in ";

/// Folders of system code.
const SYSTEM: &[&str] = &["/usr/include/", "/usr/lib/"];
/// Parts of the paths of Rust's own libraries: as built, and as installed.
const STANDARD: &[&str] = &["/rustc/", "/rustlib/src/rust/"];
/// Parts of the paths of crates that cargo has fetched.
const CRATES: &[&str] = &["/registry/src/", "/git/checkouts/"];

/// Translates the locations of a run to `function at file.c:12` and its objects to the names of global
/// variables, as far as the files of the program know them, and sets the types of values. A source file is
/// named by the shortest suffix of its path that is unique; returns the path of each of those files.
pub fn translate(file: &mut TraceFile, symbols: &mut Symbols) -> Sources {
    let named = locate(symbols, &mut file.locations);
    for text in &mut file.objects {
        let Some((module, address)) = address(symbols, text) else { continue };
        match symbols.variable(&module, address) {
            Some((name, 0)) => *text = name,
            Some((name, offset)) => *text = format!("{name}+{offset:#x}"),
            None => {}
        }
    }
    values::translate(file, symbols);
    if file.environment.test.is_some() {
        name_harness(file);
    }
    named
}

/// Names the first thread of a test the harness, and the second one after the test.
fn name_harness(file: &mut TraceFile) {
    for (thread, (before, name)) in file.threads.iter_mut().zip([("main", "harness"), ("T1", "test")]) {
        if thread == before {
            *thread = name.to_owned();
        }
    }
    for object in &mut file.objects {
        for (before, name) in [("T0", "harness"), ("T1", "test")] {
            match object.strip_suffix(before) {
                Some("") => *object = name.to_owned(),
                Some("futex of ") => *object = format!("futex of {name}"),
                _ => {}
            }
        }
    }
}

/// Translates locations like [`translate`], and returns the paths of their files.
pub fn locate(symbols: &mut Symbols, places: &mut [String]) -> Sources {
    let located: Vec<Vec<Frame>> = places
        .iter()
        .map(|text| match text.contains(CALLED_BY) {
            true => called(symbols, text),
            false => frames(symbols, text),
        })
        .collect();
    let sources: BTreeSet<PathBuf> =
        located.iter().flatten().filter_map(|frame| frame.file.as_deref()).map(plain).collect();
    for (text, frames) in places.iter_mut().zip(located) {
        let frames = frames.into_iter().map(|mut frame| {
            frame.file = frame.file.map(|file| short(&plain(&file), &sources));
            frame.to_string()
        });
        let between = if text.contains(CALLED_BY) { CALLED } else { INLINED };
        let joined = frames.collect::<Vec<_>>().join(between);
        if !joined.is_empty() {
            *text = joined;
        }
    }
    sources.iter().map(|path| (short(path, &sources), path.clone())).collect()
}

/// Returns the functions at a location, the innermost first, from the first user function on.
fn frames(symbols: &mut Symbols, text: &str) -> Vec<Frame> {
    let Some((module, address)) = address(symbols, text) else { return Vec::new() };
    let mut frames = symbols.locate(&module, address).frames;
    let users = |frame: &Frame| {
        frame.file.as_ref().is_some_and(|file| !SYSTEM.iter().any(|system| file.starts_with(system)))
    };
    if let Some(first) = frames.iter().position(users) {
        frames.drain(..first);
    } else if frames.iter().all(|frame| frame.file.is_none()) {
        // The name of a function alone is less informative than the address.
        for frame in &mut frames {
            frame.function = frame.function.take().map(|function| format!("{function} ({text})"));
        }
    }
    frames
}

/// Returns the frames of a location with callers. For Rust that is one frame, see [`user_frame`]; for C all
/// with known lines, the innermost first.
fn called(symbols: &mut Symbols, text: &str) -> Vec<Frame> {
    let mut way = Vec::new();
    for (module, offset) in native::way(text) {
        if let Some((module, address)) = address(symbols, &format!("{module}{offset}")) {
            way.extend(symbols.locate(&module, address).frames);
        }
    }
    let is_rust = |frame: &Frame| frame.file.as_ref().is_some_and(|file| file.ends_with(".rs"));
    if way.iter().any(is_rust) {
        return user_frame(&way).into_iter().collect();
    }
    let known: Vec<Frame> = way.iter().filter(|frame| is_known(frame)).cloned().collect();
    if known.is_empty() {
        way.truncate(1)
    } else {
        way = known
    }
    way
}

fn is_in(frame: &Frame, folders: &[&str]) -> bool {
    frame.file.as_ref().is_some_and(|file| folders.iter().any(|folder| file.contains(folder)))
}

/// Returns true if a line is known that is not of the system.
fn is_known(frame: &Frame) -> bool {
    frame.line.is_some() && !is_in(frame, SYSTEM)
}

/// Returns the innermost user line among a location and its callers, and the function called there. If no
/// line is the user's, a line of another crate; if there is none, as much as is known.
fn user_frame(way: &[Frame]) -> Option<Frame> {
    let known = |frame: &Frame| is_known(frame);
    let own = |frame: &Frame| known(frame) && !is_in(frame, STANDARD) && !is_in(frame, CRATES);
    let chosen = way
        .iter()
        .position(own)
        .or_else(|| way.iter().position(|frame| known(frame) && !is_in(frame, STANDARD)))
        .or_else(|| way.iter().position(known))
        .unwrap_or(0);
    let called =
        chosen.checked_sub(1).and_then(|inner| way[inner].function.as_deref()).map(rust_names::short);
    let mut frame = way.get(chosen)?.clone();
    frame.function = frame.function.map(|function| {
        let function = rust_names::short(&function);
        called.map_or(function.clone(), |called| format!("{function}{CALLING}{called}"))
    });
    Some(frame)
}

/// Returns a path without `.` and `..`.
fn plain(path: &str) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the shortest suffix of `path` that no other path has.
fn short(path: &Path, paths: &BTreeSet<PathBuf>) -> String {
    let parts: Vec<Component<'_>> = path.components().collect();
    let ends = (0..parts.len()).rev().map(|from| parts[from..].iter().collect::<PathBuf>());
    let alone = |end: &PathBuf| paths.iter().filter(|path| path.ends_with(end)).count() <= 1;
    ends.into_iter().find(alone).unwrap_or_else(|| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_as_little_as_needed() {
        let paths = ["/home/a/x/../lock.c", "/home/b/lock.c", "/home/b/./main.c"].map(plain);
        let set = BTreeSet::from(paths.clone());
        assert_eq!(paths.map(|path| short(&path, &set)), ["a/lock.c", "b/lock.c", "main.c"]);
    }
}
