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
    \"offset\" INTEGER NOT NULL,
    shown TEXT NOT NULL,
    is_library INTEGER NOT NULL,
    caller INTEGER NOT NULL,
    UNIQUE (module, function, body, \"offset\", caller)
) STRICT;
"
    };
}

/// The failed attempts at iRoots, by search.
macro_rules! attempt_table {
    () => {
        "
CREATE TABLE attempt (
    iroot INTEGER NOT NULL,
    worker TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    met INTEGER NOT NULL,
    PRIMARY KEY (iroot, worker, epoch)
) STRICT;
"
    };
}

/// The tables of a campaign.
macro_rules! campaign_tables {
    () => {
        "
CREATE TABLE setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE night (
    worker TEXT NOT NULL,
    number INTEGER NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    budget TEXT NOT NULL,
    PRIMARY KEY (worker, number)
) STRICT;
CREATE TABLE turn (
    target TEXT NOT NULL,
    worker TEXT NOT NULL,
    number INTEGER NOT NULL,
    night INTEGER NOT NULL,
    at INTEGER NOT NULL,
    build TEXT NOT NULL,
    seed INTEGER NOT NULL,
    seconds REAL NOT NULL,
    runs INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    threads INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    fresh INTEGER NOT NULL,
    sampled INTEGER NOT NULL,
    orders BLOB NOT NULL,
    ended TEXT NOT NULL,
    cause TEXT NOT NULL,
    lost TEXT NOT NULL,
    PRIMARY KEY (target, worker, number)
) STRICT;
CREATE TABLE cause (
    id TEXT NOT NULL PRIMARY KEY,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    pair TEXT NOT NULL,
    ends TEXT NOT NULL,
    functions TEXT NOT NULL,
    message TEXT NOT NULL
) STRICT;
CREATE TABLE alias (name TEXT NOT NULL PRIMARY KEY, cause TEXT NOT NULL) STRICT;
CREATE TABLE sighting (
    cause TEXT NOT NULL,
    worker TEXT NOT NULL,
    turn INTEGER NOT NULL,
    night INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (cause, worker, turn)
) STRICT;
CREATE TABLE schedule (cause TEXT NOT NULL PRIMARY KEY, steps INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE replay (
    cause TEXT NOT NULL,
    worker TEXT NOT NULL,
    night INTEGER NOT NULL,
    at INTEGER NOT NULL,
    status TEXT NOT NULL,
    PRIMARY KEY (cause, worker, night)
) STRICT;
"
    };
}

/// The application id in the file header.
pub(crate) const APPLICATION: i32 = 0x5244_4c43;

/// The version of the tables. A store of a later version is rejected, one of an earlier version is upgraded.
pub(crate) const VERSION: i32 = 3;

/// Upgrades a store of version 1 to version 2. Version 1 had no callers, and did not record whether threads
/// had met.
pub(crate) const FROM_1: &str = concat!(
    "ALTER TABLE place RENAME TO place_1;",
    place_table!(),
    "INSERT INTO place (id, module, function, body, \"offset\", shown, is_library, caller)
        SELECT id, module, function, body, \"offset\", shown, is_library, 0 FROM place_1;
    DROP TABLE place_1;
    ALTER TABLE iroot ADD COLUMN met INTEGER NOT NULL DEFAULT 0;
    PRAGMA user_version = 2;"
);

/// Upgrades a store of version 2 to version 3, which also has the state of a campaign, and counts failed attempts by search, so that
/// stores can be merged.
pub(crate) const FROM_2: &str = concat!(
    attempt_table!(),
    "ALTER TABLE search ADD COLUMN worker TEXT NOT NULL DEFAULT '';
    ALTER TABLE search ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
    UPDATE search SET epoch = id;
    INSERT INTO attempt (iroot, worker, epoch, failed, met)
        SELECT id, '', 0, failed, met FROM iroot WHERE failed > 0 OR met > 0;
    ALTER TABLE iroot DROP COLUMN failed;
    ALTER TABLE iroot DROP COLUMN met;
    CREATE UNIQUE INDEX search_name ON search (worker, epoch);",
    campaign_tables!(),
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
    fresh INTEGER NOT NULL,
    worker TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    UNIQUE (worker, epoch)
) STRICT;
",
    attempt_table!(),
    campaign_tables!(),
);
