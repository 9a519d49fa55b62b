//! Stores that are written, shared, damaged and cleaned.

use raddle_model::{Action, Idiom, Standing};
use raddle_store::{Entry, FILE_NAME, Location, Search, Store, StoreError};
use std::path::{Path, PathBuf};

/// Returns the path of a store in an empty folder of its own.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store").join(name);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be created");
    folder.join("coverage.sqlite")
}

fn open(path: &Path) -> Store {
    let opened = Store::open(path).expect("the store can be opened");
    assert_eq!(opened.set_aside, None);
    opened.store
}

fn place(function: &str, body: u64, offset: u64) -> Location {
    Location {
        module: "program".to_owned(),
        function: function.to_owned(),
        body,
        offset,
        shown: format!("{function}.c:{offset}"),
        is_library: function.starts_with("lib"),
        caller: None,
    }
}

fn entry(idiom: Idiom, sites: &[(Location, Action)], standing: Standing) -> Entry {
    Entry { idiom, sites: sites.to_vec(), standing }
}

const EXPOSED: Standing = Standing { exposed: true, predicted: false, failed: 0, met: 0 };
const FAILED: Standing = Standing { exposed: false, predicted: true, failed: 2, met: 1 };

fn pair(offset: u64, standing: Standing) -> Entry {
    let sites = [(place("set", 1, offset), Action::Write), (place("get", u64::MAX, 4), Action::Read)];
    entry(Idiom::One, &sites, standing)
}

fn search(runs: u64) -> Search {
    Search { program: "program".to_owned(), arguments: "in".to_owned(), runs, ..Search::default() }
}

#[test]
fn entries_survive_reopening() {
    let path = fresh("again");
    let mut store = open(&path);
    assert_eq!(store.add(&[pair(1, EXPOSED), pair(2, FAILED)], &search(10)).expect("it is written"), 1);
    drop(store);
    let mut store = open(&path);
    assert_eq!(store.entries().expect("it is read"), [pair(1, EXPOSED), pair(2, FAILED)]);
    // Numbers add up, and only an iRoot exposed for the first time is new.
    let again = [pair(1, EXPOSED), pair(2, FAILED), pair(2, EXPOSED)];
    assert_eq!(store.add(&again, &search(5)).expect("it is written"), 1);
    let both = Standing { exposed: true, predicted: true, failed: 4, met: 2 };
    assert_eq!(store.entries().expect("it is read"), [pair(1, EXPOSED), pair(2, both)]);
    let searches = store.searches().expect("it is read");
    assert_eq!(
        searches.iter().map(|made| (made.what.runs, made.fresh)).collect::<Vec<_>>(),
        [(10, 1), (5, 1)]
    );
}

#[test]
fn the_two_readings_of_idiom_5_are_one() {
    let mut store = open(&fresh("five"));
    let sites: Vec<(Location, Action)> = (0..4).map(|n| (place("f", 1, n), Action::Lock)).collect();
    let mut turned = sites.clone();
    turned.rotate_left(2);
    store.add(&[entry(Idiom::Five, &sites, EXPOSED)], &search(1)).expect("it is written");
    assert_eq!(store.add(&[entry(Idiom::Five, &turned, EXPOSED)], &search(1)).expect("it is written"), 0);
    // In the other idioms order matters.
    store.add(&[entry(Idiom::Four, &sites, EXPOSED)], &search(1)).expect("it is written");
    assert_eq!(store.add(&[entry(Idiom::Four, &turned, EXPOSED)], &search(1)).expect("it is written"), 1);
    assert_eq!(store.entries().expect("it is read").len(), 3);
}

#[test]
fn only_changed_code_is_removed() {
    let mut store = open(&fresh("forget"));
    let other = entry(
        Idiom::One,
        &[(place("other", 7, 1), Action::Write), (place("other", 7, 21), Action::Read)],
        EXPOSED,
    );
    let all: Vec<Entry> = (1..=30).map(|offset| pair(offset, EXPOSED)).chain([other.clone()]).collect();
    store.add(&all, &search(1)).expect("it is written");
    // A location with the number 1 must not take those with 10 or 21 with it.
    let set_1 = |(place, _): &(Location, Action)| place.offset == 1 && place.function == "set";
    assert_eq!(store.forget(|entry| !entry.sites.iter().any(set_1)).expect("it is written"), 1);
    // Shared locations stay, and are reused later.
    assert_eq!(store.entries().expect("it is read"), all[1..]);
    store.add(&[pair(99, EXPOSED)], &search(1)).expect("it is written");
    assert_eq!(store.entries().expect("it is read"), [&all[1..], &[pair(99, EXPOSED)]].concat());
    assert_eq!(store.forget(|entry| entry.sites[1].0.body != u64::MAX).expect("it is written"), 30);
    assert_eq!(store.entries().expect("it is read"), [other]);
}

#[test]
fn locations_with_different_callers_are_different() {
    let mut store = open(&fresh("callers"));
    let called = |callers: &[u64]| {
        let caller = callers
            .iter()
            .rev()
            .fold(None, |caller, &offset| Some(Box::new(Location { caller, ..place("main", 9, offset) })));
        let sites =
            [(Location { caller, ..place("set", 1, 2) }, Action::Write), (place("get", 3, 4), Action::Read)];
        entry(Idiom::One, &sites, EXPOSED)
    };
    let all = [called(&[]), called(&[1]), called(&[2]), called(&[1, 2]), called(&[2, 1])];
    assert_eq!(store.add(&all, &search(1)).expect("it is written"), 5);
    assert_eq!(store.add(&all, &search(1)).expect("it is written"), 0);
    assert_eq!(store.entries().expect("it is read"), all);
    let identities: std::collections::BTreeSet<_> = all.iter().map(Entry::identity).collect();
    assert_eq!(identities.len(), 5);
    // Callers of kept locations are kept, and nothing else.
    let kept = |entry: &Entry| entry.sites[0].0.way().count() == 3;
    assert_eq!(store.forget(kept).expect("it is written"), 3);
    assert_eq!(store.entries().expect("it is read"), all[3..]);
}

#[test]
fn a_store_of_version_1_is_read_and_upgraded_on_change() {
    const FIRST: &str = "CREATE TABLE place (id INTEGER PRIMARY KEY, module TEXT NOT NULL, function TEXT NOT NULL, \
        body INTEGER NOT NULL, offset INTEGER NOT NULL, shown TEXT NOT NULL, is_library INTEGER NOT NULL, \
        UNIQUE (module, function, body, offset)) STRICT; \
        CREATE TABLE iroot (id INTEGER PRIMARY KEY, idiom INTEGER NOT NULL, sites TEXT NOT NULL, \
        exposed INTEGER NOT NULL, predicted INTEGER NOT NULL, failed INTEGER NOT NULL, UNIQUE (idiom, sites)) STRICT; \
        CREATE TABLE search (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, program TEXT NOT NULL, arguments TEXT NOT NULL, \
        strategy TEXT NOT NULL, runs INTEGER NOT NULL, failures INTEGER NOT NULL, fresh INTEGER NOT NULL) STRICT; \
        PRAGMA application_id = 0x52444c43; PRAGMA user_version = 1; \
        INSERT INTO place VALUES (1, 'program', 'set', 1, 2, 'set.c:2', 0), (2, 'program', 'get', 3, 4, 'get.c:4', 0); \
        INSERT INTO iroot VALUES (7, 1, ',1w,2r,', 0, 1, 5);";
    let path = fresh("first");
    let connection = rusqlite::Connection::open(&path).expect("a database can be made");
    connection.execute_batch(FIRST).expect("tables can be made");
    drop(connection);
    let sites = [(place("set", 1, 2), Action::Write), (place("get", 3, 4), Action::Read)];
    let known = entry(Idiom::One, &sites, Standing { failed: 5, met: 0, ..FAILED });
    let before = std::fs::read(&path).expect("the file is there");
    let mut read = Store::open_to_read(&path).expect("it is a store");
    assert_eq!(read.entries().expect("it is read"), std::slice::from_ref(&known));
    assert!(read.add(&[pair(2, EXPOSED)], &search(1)).is_err());
    drop(read);
    assert!(std::fs::read(&path).expect("the file is there") == before, "who only reads changes nothing");
    let mut store = open(&path);
    store.add(&[entry(Idiom::One, &sites, FAILED)], &search(1)).expect("it is written");
    let both = Standing { failed: 7, met: 1, ..FAILED };
    assert_eq!(store.entries().expect("it is read"), [entry(Idiom::One, &sites, both)]);
    drop(store);
    assert_eq!(open(&path).entries().expect("it is read").len(), 1);
}

#[test]
fn concurrent_writes_lose_nothing() {
    let path = fresh("several");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for turn in 0..25 {
                    // The first ones also create the file.
                    let mut store = open(path);
                    store
                        .add(&[pair(writer * 100 + turn, EXPOSED), pair(7_000, FAILED)], &search(1))
                        .expect("it is written");
                }
            });
        }
    });
    let entries = open(&path).entries().expect("it is read");
    assert_eq!(entries.len(), 101);
    let common = entries.iter().find(|entry| entry.sites[0].0.offset == 7_000).expect("it is there");
    assert_eq!(common.standing.failed, 200);
}

#[test]
fn concurrent_creation_yields_one_store() {
    for _ in 0..60 {
        let path = fresh("made");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    drop(open(&path));
                    assert_eq!(
                        Store::open_to_read(&path).map(|store| store.entries().ok()).ok(),
                        Some(Some(vec![]))
                    );
                });
            }
        });
    }
}

#[test]
fn a_damaged_store_is_renamed_with_its_content() {
    let path = fresh("damaged").with_file_name(FILE_NAME);
    let mut store = open(&path);
    let many: Vec<Entry> = (0..500).map(|offset| pair(offset, EXPOSED)).collect();
    store.add(&many, &search(1)).expect("it is written");
    drop(store);
    let good = std::fs::read(&path).expect("the file is there");
    let half = good.len() / 2;
    let middle = [&good[..half], &vec![0xa5; 4096][..], &good[half + 4096..]].concat();
    let damages = [b"no database at all, but some text that is long enough to be looked at".to_vec(), middle];
    for (number, damaged) in damages.iter().enumerate() {
        std::fs::write(&path, damaged).expect("the file can be written");
        let opened = Store::open(&path).expect("a new store is begun");
        let (aside, _) = opened.set_aside.expect("the old one is set aside");
        assert!(aside.to_string_lossy().ends_with(&format!(".damaged-{}", number + 1)), "{aside:?}");
        assert_eq!(&std::fs::read(&aside).expect("it is there"), damaged);
        assert_eq!(opened.store.entries().expect("it is read"), []);
        drop(opened.store);
    }
    // With another name, only a file that says that it was a store.
    let path = path.with_file_name("main.sqlite");
    for damaged in [&damages[1][..], &good[..10]] {
        std::fs::write(&path, damaged).expect("the file can be written");
        assert!(matches!(Store::open_to_read(&path), Err(StoreError::Damaged { .. })));
        assert!(matches!(Store::open_to_change(&path), Err(StoreError::Damaged { .. })));
        assert!(Store::open(&path).expect("a new store is begun").set_aside.is_some());
    }
}

/// Returns the names and contents of the files of a folder.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<_> =
        paths.map(|path| (path.clone(), std::fs::read(&path).expect("it can be read"))).collect();
    files.sort();
    files
}

#[test]
fn foreign_files_are_left_alone() {
    let path = fresh("foreign");
    let folder = path.parent().expect("it is in a folder");
    let theirs = rusqlite::Connection::open(&path).expect("a database can be made");
    theirs.execute_batch("CREATE TABLE birds (name TEXT)").expect("a table can be made");
    drop(theirs);
    std::fs::write(folder.join("main.c"), "int main(void) { return 0; }\n").expect("a file can be written");
    // A damaged file of another program is still theirs.
    let half = std::fs::read(&path).expect("the file is there")[..4096].to_vec();
    std::fs::write(folder.join("half.sqlite"), half).expect("a file can be written");
    let before = files(folder);
    for open in [|path: &Path| Store::open(path).map(|opened| opened.store), Store::open_to_read] {
        assert!(matches!(open(&path), Err(StoreError::Foreign { .. })));
        assert!(matches!(open(&folder.join("main.c")), Err(StoreError::NoStore { .. })));
        assert!(matches!(open(&folder.join("half.sqlite")), Err(StoreError::Database { .. })));
    }
    assert!(files(folder) == before, "they are as they were");

    let path = fresh("newer");
    drop(open(&path));
    let newer = rusqlite::Connection::open(&path).expect("it is a database");
    newer.pragma_update(None, "user_version", 9).expect("it can be changed");
    drop(newer);
    assert!(matches!(Store::open(&path), Err(StoreError::Newer { version: 9, .. })));
    assert!(matches!(Store::open_to_read(&fresh("missing")), Err(StoreError::Database { .. })));
}

#[test]
fn a_store_that_is_read_is_not_changed() {
    let path = fresh("read");
    let folder = path.parent().expect("it is in a folder");
    open(&path).add(&[pair(1, EXPOSED)], &search(1)).expect("it is written");
    let before = files(folder);
    let mut store = Store::open_to_read(&path).expect("it can be opened");
    assert_eq!(store.entries().expect("it is read"), [pair(1, EXPOSED)]);
    assert!(store.add(&[pair(2, EXPOSED)], &search(1)).is_err());
    drop(store);
    assert!(files(folder) == before, "it is as it was");
    // A file that is about to be created is empty.
    let empty = path.with_file_name("empty.sqlite");
    std::fs::write(&empty, "").expect("a file can be written");
    let mut store = Store::open_to_read(&empty).expect("it can be opened");
    assert_eq!(store.entries().expect("it is read"), []);
    assert!(store.add(&[pair(2, EXPOSED)], &search(1)).is_err());
    assert_eq!(std::fs::read(&empty).expect("it is there"), b"");
}

#[test]
fn the_identity_of_an_iroot_does_not_depend_on_lines() {
    let moved = |entry: &Entry| {
        let mut entry = entry.clone();
        entry.sites.iter_mut().for_each(|(place, _)| place.shown.push('0'));
        entry
    };
    let one = pair(1, EXPOSED);
    assert_eq!(one.identity(), moved(&one).identity());
    assert_ne!(one.identity(), pair(2, EXPOSED).identity());
    let changed =
        |place: Location| entry(Idiom::One, &[(place, Action::Write), one.sites[1].clone()], EXPOSED);
    assert_ne!(one.identity(), changed(place("set", 2, 1)).identity());
    let sites: Vec<(Location, Action)> = (0..4).map(|n| (place("f", 1, n), Action::Lock)).collect();
    let mut turned = sites.clone();
    turned.rotate_left(2);
    let same = |idiom| entry(idiom, &sites, EXPOSED).identity() == entry(idiom, &turned, EXPOSED).identity();
    assert!(same(Idiom::Five) && !same(Idiom::Four));
}
