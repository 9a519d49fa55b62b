//! Stores that are written, shared, damaged and cleaned.

use crate::common::{EXPOSED, FAILED, entry, fresh, open, pair, place, search};
use raddle_model::{Action, Idiom, Standing};
use raddle_store::{Entry, FILE_NAME, Location, Store, StoreError};
use std::path::{Path, PathBuf};

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
