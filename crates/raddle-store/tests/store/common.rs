//! Stores of tests.

use raddle_model::{Action, Idiom, Standing};
use raddle_store::{Entry, Location, Search, Store};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the path of a store in an empty folder of its own.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store").join(name);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be created");
    folder.join("coverage.sqlite")
}

pub(crate) fn open(path: &Path) -> Store {
    let opened = Store::open(path).expect("the store can be opened");
    assert_eq!(opened.set_aside, None);
    opened.store
}

pub(crate) fn place(function: &str, body: u64, offset: u64) -> Location {
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

pub(crate) fn entry(idiom: Idiom, sites: &[(Location, Action)], standing: Standing) -> Entry {
    Entry { idiom, sites: sites.to_vec(), standing }
}

pub(crate) const EXPOSED: Standing = Standing { exposed: true, predicted: false, failed: 0, met: 0 };
pub(crate) const FAILED: Standing = Standing { exposed: false, predicted: true, failed: 2, met: 1 };

pub(crate) fn pair(offset: u64, standing: Standing) -> Entry {
    let sites = [(place("set", 1, offset), Action::Write), (place("get", u64::MAX, 4), Action::Read)];
    entry(Idiom::One, &sites, standing)
}

pub(crate) fn search(runs: u64) -> Search {
    Search { program: "program".to_owned(), arguments: "in".to_owned(), runs, ..Search::default() }
}

/// Runs a test with a new store in a file, and with one in a database if there is a server.
pub(crate) fn each(name: &str, test: impl Fn(&Path)) {
    test(&fresh(name));
    match remote(name) {
        Some(url) => test(Path::new(&url)),
        None => {
            let text = "NOT TESTED: stores in PostgreSQL; tools/postgres.sh tests them";
            // It is only a message.
            _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

/// Returns the URL of a new store in the database of the tests, if there is one.
#[cfg(feature = "postgres")]
pub(crate) fn remote(name: &str) -> Option<String> {
    let url = std::env::var_os("RADDLE_POSTGRES")?.into_string().expect("it is a text");
    let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("the server runs");
    let sql = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    client.batch_execute(&sql).expect("a schema can be made");
    Some(format!("{url}?options=-csearch_path%3D{name}"))
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn remote(_name: &str) -> Option<String> {
    None
}
