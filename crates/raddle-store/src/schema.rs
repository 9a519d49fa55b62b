//! The tables.

/// Locations with their callers: `caller` is the number of the location that called the function of this one,
/// or 0.
macro_rules! place_table {
    () => {
        "
CREATE TABLE place (
    id INTEGER PRIMARY KEY,
    module TEXT NOT NULL,
    function TEXT NOT NULL,
    body INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    shown TEXT NOT NULL,
    is_library INTEGER NOT NULL,
    caller INTEGER NOT NULL,
    UNIQUE (module, function, body, offset, caller)
) STRICT;
"
    };
}

/// The application id in the file header.
pub(crate) const APPLICATION: i32 = 0x5244_4c43;

/// The version of the tables. A store of a later version is rejected, one of an earlier version is upgraded.
pub(crate) const VERSION: i32 = 2;

/// Upgrades a store of version 1 to version 2. Version 1 had no callers, and did not record whether threads
/// had met.
pub(crate) const FROM_1: &str = concat!(
    "ALTER TABLE place RENAME TO place_1;",
    place_table!(),
    "INSERT INTO place (id, module, function, body, offset, shown, is_library, caller)
        SELECT id, module, function, body, offset, shown, is_library, 0 FROM place_1;
    DROP TABLE place_1;
    ALTER TABLE iroot ADD COLUMN met INTEGER NOT NULL DEFAULT 0;
    PRAGMA user_version = 2;"
);

pub(crate) const TABLES: &str = concat!(
    place_table!(),
    "
CREATE TABLE iroot (
    id INTEGER PRIMARY KEY,
    idiom INTEGER NOT NULL,
    sites TEXT NOT NULL,
    exposed INTEGER NOT NULL,
    predicted INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    met INTEGER NOT NULL,
    UNIQUE (idiom, sites)
) STRICT;
CREATE TABLE search (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    program TEXT NOT NULL,
    arguments TEXT NOT NULL,
    strategy TEXT NOT NULL,
    runs INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    fresh INTEGER NOT NULL
) STRICT;
"
);
