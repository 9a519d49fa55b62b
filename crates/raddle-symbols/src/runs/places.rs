//! Translates `module+0x12ab`, the native runtime's form of locations and objects, to source names.
//!
//! Replay compares the numbers of locations and objects, never their texts, so the texts may change.

use super::address::address;
use super::{library, rust_names, values};
use crate::{Frame, Symbols};
use raddle_model::native;
use raddle_model::{CALLED, INLINED, TraceFile, is_standard};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// The paths of source files, by their names in locations.
pub type Sources = BTreeMap<String, PathBuf>;

/// The most functions of a location that are kept.
const MOST_FRAMES: usize = 16;

/// Translates the locations of a run to `function at file.c:12` and its objects to the names of global
/// variables, as far as the files of the program know them, and sets the types of values. A source file is
/// named by the shortest suffix of its path that is unique; returns the path of each of those files.
pub fn translate(file: &mut TraceFile, symbols: &mut Symbols) -> Sources {
    let own = file.environment.directory.clone();
    let named = locate_of(symbols, &mut file.locations, own.as_deref());
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
    locate_of(symbols, places, None)
}

/// Tells places as [`locate`] does, for the user whose code is in the folder `own`.
pub fn locate_of(symbols: &mut Symbols, places: &mut [String], own: Option<&str>) -> Sources {
    let located: Vec<Rc<[Step]>> = places.iter().map(|text| known_frames(symbols, text, own)).collect();
    let users = located.iter().flat_map(|steps| steps.iter()).filter(|step| step.library.is_none());
    let files: BTreeSet<&str> = users.filter_map(|step| step.frame.file.as_deref()).collect();
    let sources: BTreeSet<PathBuf> = files.iter().map(|file| plain(file)).collect();
    let names: BTreeMap<&str, String> =
        files.iter().map(|&file| (file, short(&plain(file), &sources))).collect();
    for (text, steps) in places.iter_mut().zip(&located) {
        let mut described = String::new();
        for Step { frame, library, is_call } in steps.iter() {
            let named = || names.get(frame.file.as_deref()?).cloned();
            let frame = Frame { file: library.clone().or_else(named), ..frame.clone() };
            if !described.is_empty() {
                described.push_str(if *is_call { CALLED } else { INLINED });
            }
            described.push_str(&frame.to_string());
        }
        if !described.is_empty() {
            *text = described;
        }
    }
    sources.iter().map(|path| (short(path, &sources), path.clone())).collect()
}

/// The functions at places that were looked up before: the runs of one program have mostly the same places.
#[derive(Default)]
pub(crate) struct KnownPlaces {
    /// The folder of the user's own code.
    own: Option<String>,
    steps: BTreeMap<String, Rc<[Step]>>,
}

/// Returns the same as [`frames`], looked up once for each place.
fn known_frames(symbols: &mut Symbols, text: &str, own: Option<&str>) -> Rc<[Step]> {
    if symbols.places.own.as_deref() != own {
        symbols.places = KnownPlaces { own: own.map(str::to_owned), steps: BTreeMap::new() };
    }
    if let Some(steps) = symbols.places.steps.get(text) {
        return Rc::clone(steps);
    }
    let mut steps = frames(symbols, text, own);
    for Step { frame, library, .. } in &mut steps {
        let file = library.as_ref().or(frame.file.as_ref());
        if file.is_some_and(|file| file.ends_with(".rs")) {
            frame.function = frame.function.take().map(|function| rust_names::short(&function));
        }
    }
    let steps: Rc<[Step]> = Rc::from(steps);
    symbols.places.steps.insert(text.to_owned(), Rc::clone(&steps));
    steps
}

/// A function on the way to a place.
struct Step {
    frame: Frame,
    /// The name of the file if it belongs to a library.
    library: Option<String>,
    /// True if it called the previous function, which was inlined into it otherwise.
    is_call: bool,
}

/// The functions at a place, the innermost first, up to the outermost of the user.
fn frames(symbols: &mut Symbols, text: &str, own: Option<&str>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (module, offset) in native::way(text) {
        let location = format!("{module}{offset}");
        let Some((path, address)) = address(symbols, &location) else { continue };
        let frames = symbols.locate(&path, address).frames;
        let is_nameless = frames.iter().all(|frame| frame.file.is_none());
        for (index, mut frame) in frames.into_iter().enumerate() {
            let mut library = frame.file.as_deref().and_then(|file| library::name(file, own));
            if is_nameless && library::is_system(&path) {
                library = Some(library::module_name(&location));
            } else if is_nameless {
                // The name of a function alone says less than the address.
                frame.function = frame.function.take().map(|function| format!("{function} ({location})"));
            }
            steps.push(Step { frame, library, is_call: index == 0 });
        }
    }
    let is_user = |step: &Step| step.library.is_none() && step.frame.file.is_some();
    match (steps.iter().position(is_user), steps.iter().rposition(is_user)) {
        (Some(first), Some(last)) => {
            steps.truncate(last + 1);
            if steps.len() > first + 1 && wraps_test(&steps) {
                steps.pop();
            }
            // Of a long way through libraries its two ends say the most.
            let users = steps.len() - first;
            let most = MOST_FRAMES.saturating_sub(users).max(2);
            if first > most {
                steps.drain(most / 2..first - most.div_ceil(2));
            }
            steps.truncate(MOST_FRAMES);
        }
        _ => {
            // Where no line is the user's, that of another crate says the most.
            let crates = |step: &Step| step.library.as_deref().is_some_and(|file| !is_standard(file));
            let known = |step: &Step| step.frame.line.is_some();
            let last = steps.iter().position(crates).or_else(|| steps.iter().position(known)).unwrap_or(0);
            steps.truncate(last + 1);
        }
    }
    steps
}

/// Returns true if the outermost function is the closure by which a harness calls a test.
fn wraps_test(steps: &[Step]) -> bool {
    let name = |step: &Step| step.frame.function.as_deref().map(rust_names::short);
    let [.., inner, outer] = steps else { return false };
    name(inner).zip(name(outer)).is_some_and(|(inner, outer)| outer == format!("{inner}::{{closure}}"))
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
