//! The tables.

/// Says in the file's head that it is ours.
pub(crate) const APPLICATION: i32 = 0x5244_4c43;

/// The version of the tables. A store of a later version is refused.
pub(crate) const VERSION: i32 = 1;

pub(crate) const TABLES: &str = "
CREATE TABLE place (
    id INTEGER PRIMARY KEY,
    module TEXT NOT NULL,
    function TEXT NOT NULL,
    body INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    shown TEXT NOT NULL,
    is_library INTEGER NOT NULL,
    UNIQUE (module, function, body, offset)
) STRICT;
CREATE TABLE iroot (
    id INTEGER PRIMARY KEY,
    idiom INTEGER NOT NULL,
    sites TEXT NOT NULL,
    exposed INTEGER NOT NULL,
    predicted INTEGER NOT NULL,
    failed INTEGER NOT NULL,
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
";
