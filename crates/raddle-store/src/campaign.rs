//! The state of a campaign: nights, turns, and failures by cause.
//!
//! Every row is named by what it is about, and none is counted up. So adding a row again changes nothing, and stores of several
//! machines can be merged in any order: of two rows with one name, a rule keeps one ([`Campaign::merge`]).

use crate::db::{Database, DbError, Row, Value, transaction};
use crate::{Opened, Store, StoreError};
use std::path::Path;

/// A search of one target, as long as one turn of the campaign.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CampaignTurn {
    /// The target.
    pub target: String,
    /// The machine.
    pub worker: String,
    /// The number of the turn among those of this target and worker, from 1.
    pub number: u64,
    /// The night of this worker.
    pub night: u64,
    /// The time of its end, in seconds since 1970.
    pub at: i64,
    /// The build of the target.
    pub build: String,
    /// The seed.
    pub seed: u64,
    /// The duration, in seconds.
    pub seconds: f64,
    /// Complete runs.
    pub runs: u64,
    /// Failing runs.
    pub failures: u64,
    /// The largest number of threads of a run.
    pub threads: u64,
    /// The largest number of steps of a run.
    pub steps: u64,
    /// The number of partial orders that no earlier turn had; an estimate if they are sampled.
    pub fresh: u64,
    /// The sampled partial orders begin with this many zero bits.
    pub sampled: u64,
    /// The fingerprints of the new partial orders.
    pub orders: Vec<u64>,
    /// The reason why the build of the target needs no further turn; empty if it does.
    pub ended: String,
    /// The cause of its first failing run; empty if none failed.
    pub cause: String,
    /// The reason why the target cannot be controlled; empty if it can.
    pub lost: String,
}

/// The work of one call on one worker.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Night {
    /// The machine.
    pub worker: String,
    /// Its number, from 1.
    pub number: u64,
    /// The time of its begin, in seconds since 1970.
    pub began: i64,
    /// The time of its end; 0 if it was not completed.
    pub ended: i64,
    /// Its limits.
    pub budget: String,
}

/// A cause of failures.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CampaignCause {
    /// Its identity.
    pub id: String,
    /// The target.
    pub target: String,
    /// The kind of failure.
    pub kind: String,
    /// The pair of locations whose order matters.
    pub pair: String,
    /// The location at which failing runs end.
    pub end: String,
    /// The functions of the pair.
    pub functions: String,
    /// The first failure, in sentences.
    pub message: String,
}

/// A failing run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sighting {
    /// The cause.
    pub cause: String,
    /// The machine.
    pub worker: String,
    /// The number of the turn among those of the target and the worker.
    pub turn: u64,
    /// The night of this worker.
    pub night: u64,
    /// The time, in seconds since 1970.
    pub at: i64,
}

/// The result of a replay of a kept schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replay {
    /// The cause.
    pub cause: String,
    /// The machine.
    pub worker: String,
    /// The night of this worker.
    pub night: u64,
    /// The time, in seconds since 1970.
    pub at: i64,
    /// The result in a word.
    pub status: String,
}

/// The state of a campaign.
#[derive(Debug)]
pub struct Campaign {
    name: String,
    database: Box<dyn Database>,
}

/// A table: its name, its columns, those that name a row, and the condition under which a row replaces one with the same name.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    key: usize,
    replaces: &'static str,
}

const NIGHT: Table = Table {
    name: "night",
    columns: &["worker", "number", "began", "ended", "budget"],
    key: 2,
    replaces: "excluded.ended > night.ended",
};
/// The same turn has the same schedules, so more runs include fewer.
const TURN: Table = Table {
    name: "turn",
    columns: &[
        "target", "worker", "number", "night", "at", "build", "seed", "seconds", "runs", "failures",
        "threads", "steps", "fresh", "sampled", "orders", "ended", "cause", "lost",
    ],
    key: 3,
    replaces: "excluded.runs > turn.runs",
};
const CAUSE: Table = Table {
    name: "cause",
    columns: &["id", "target", "kind", "pair", "ends", "functions", "message"],
    key: 1,
    replaces: "excluded.message < cause.message",
};
const ALIAS: Table =
    Table { name: "alias", columns: &["name", "cause"], key: 1, replaces: "excluded.cause < alias.cause" };
const SIGHTING: Table = Table {
    name: "sighting",
    columns: &["cause", "worker", "turn", "night", "at"],
    key: 3,
    replaces: "excluded.at < sighting.at",
};
const SCHEDULE: Table = Table {
    name: "schedule",
    columns: &["cause", "steps", "text"],
    key: 1,
    replaces: "excluded.steps < schedule.steps OR excluded.steps = schedule.steps AND excluded.text < schedule.text",
};
const REPLAY: Table = Table {
    name: "replay",
    columns: &["cause", "worker", "night", "at", "status"],
    key: 3,
    replaces: "excluded.at > replay.at",
};
/// Settings are not merged.
const ALL: [&Table; 7] = [&NIGHT, &TURN, &CAUSE, &ALIAS, &SIGHTING, &SCHEDULE, &REPLAY];

impl Table {
    /// Returns the statement that adds a row, or keeps the one that has its name.
    fn insert(&self) -> String {
        let marks: Vec<String> = (1..=self.columns.len()).map(|number| format!("${number}")).collect();
        let set: Vec<String> =
            self.columns[self.key..].iter().map(|column| format!("{column} = excluded.{column}")).collect();
        format!(
            "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {} WHERE {}",
            self.name,
            self.columns.join(", "),
            marks.join(", "),
            self.columns[..self.key].join(", "),
            set.join(", "),
            self.replaces
        )
    }

    fn select(&self) -> String {
        let key = self.columns[..self.key].join(", ");
        format!("SELECT {} FROM {} ORDER BY {key}", self.columns.join(", "), self.name)
    }
}

impl Campaign {
    /// Opens the state in a file or in a PostgreSQL database, or creates it. A damaged file is renamed, which is reported.
    pub fn open(path: &Path) -> Result<(Campaign, Option<(std::path::PathBuf, String)>), StoreError> {
        let Opened { store, set_aside } = Store::open(path)?;
        Ok((Campaign::of(store), set_aside))
    }

    /// Opens an existing file for reading.
    pub fn open_to_read(path: &Path) -> Result<Campaign, StoreError> {
        Ok(Campaign::of(Store::open_to_read(path)?))
    }

    fn of(store: Store) -> Campaign {
        Campaign { name: store.name, database: store.database }
    }

    fn error(&self, source: DbError) -> StoreError {
        StoreError::Query { store: self.name.clone(), source }
    }

    fn add(&self, table: &Table, values: Vec<Value>) -> Result<(), DbError> {
        self.database.execute(&table.insert(), &values).map(drop)
    }

    fn all<T>(&self, table: &Table, row: impl Fn(&Row) -> T) -> Result<Vec<T>, StoreError> {
        let rows = self.database.query(&table.select(), &[]).map_err(|error| self.error(error))?;
        Ok(rows.iter().map(row).collect())
    }

    /// Returns a setting.
    pub fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let rows = self.database.query("SELECT value FROM setting WHERE name = $1", &[name.into()]);
        Ok(rows.map_err(|error| self.error(error))?.first().map(|row| row.text(0)))
    }

    /// Changes a setting.
    pub fn set(&self, name: &str, value: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.database.execute(sql, &[name.into(), value.into()]).map(drop).map_err(|error| self.error(error))
    }

    /// Adds a night, or records its end.
    pub fn add_night(&self, night: &Night) -> Result<(), StoreError> {
        let values = vec![
            night.worker.as_str().into(),
            night.number.into(),
            night.began.into(),
            night.ended.into(),
            night.budget.as_str().into(),
        ];
        self.add(&NIGHT, values).map_err(|error| self.error(error))
    }

    /// Returns all nights, by worker and number.
    pub fn nights(&self) -> Result<Vec<Night>, StoreError> {
        self.all(&NIGHT, |row| Night {
            worker: row.text(0),
            number: row.number(1),
            began: row.integer(2),
            ended: row.integer(3),
            budget: row.text(4),
        })
    }

    /// Adds a turn, and its failing run with its cause and its schedule, if it has one: all, or nothing.
    pub fn add_turn(&self, turn: &CampaignTurn, failure: Option<&NewFailure>) -> Result<(), StoreError> {
        let added = transaction(&*self.database, || {
            failure.map_or(Ok(()), |failure| self.insert_failure(failure))?;
            self.add(&TURN, turn_values(turn))
        });
        added.map_err(|error| self.error(error))
    }

    /// Adds a failing run alone.
    pub fn add_failure(&self, failure: &NewFailure) -> Result<(), StoreError> {
        transaction(&*self.database, || self.insert_failure(failure)).map_err(|error| self.error(error))
    }

    fn insert_failure(&self, failure: &NewFailure) -> Result<(), DbError> {
        let NewFailure { cause, sighting, schedule, steps } = failure;
        let CampaignCause { id, target, kind, pair, end, functions, message } = cause;
        let texts = [id, target, kind, pair, end, functions, message];
        self.add(&CAUSE, texts.map(|text| text.as_str().into()).to_vec())?;
        self.add(
            &SIGHTING,
            vec![
                sighting.cause.as_str().into(),
                sighting.worker.as_str().into(),
                sighting.turn.into(),
                sighting.night.into(),
                sighting.at.into(),
            ],
        )?;
        self.add(&SCHEDULE, vec![cause.id.as_str().into(), (*steps).into(), schedule.as_str().into()])
    }

    /// Returns all turns, by target, worker and number.
    pub fn turns(&self) -> Result<Vec<CampaignTurn>, StoreError> {
        self.all(&TURN, turn_of)
    }

    /// Returns all causes, by id.
    pub fn causes(&self) -> Result<Vec<CampaignCause>, StoreError> {
        self.all(&CAUSE, |row| CampaignCause {
            id: row.text(0),
            target: row.text(1),
            kind: row.text(2),
            pair: row.text(3),
            end: row.text(4),
            functions: row.text(5),
            message: row.text(6),
        })
    }

    /// Records that a name is that of a known cause: code above it was changed, so its lines have other numbers.
    pub fn add_alias(&self, name: &str, cause: &str) -> Result<(), StoreError> {
        self.add(&ALIAS, vec![name.into(), cause.into()]).map_err(|error| self.error(error))
    }

    /// Returns all further names of causes, with the causes.
    pub fn aliases(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.all(&ALIAS, |row| (row.text(0), row.text(1)))
    }

    /// Returns all failing runs.
    pub fn sightings(&self) -> Result<Vec<Sighting>, StoreError> {
        self.all(&SIGHTING, |row| Sighting {
            cause: row.text(0),
            worker: row.text(1),
            turn: row.number(2),
            night: row.number(3),
            at: row.integer(4),
        })
    }

    /// Returns the kept schedules: the cause, and the failure file.
    pub fn schedules(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.all(&SCHEDULE, |row| (row.text(0), row.text(2)))
    }

    /// Adds the result of a replay.
    pub fn add_replay(&self, replay: &Replay) -> Result<(), StoreError> {
        let values = vec![
            replay.cause.as_str().into(),
            replay.worker.as_str().into(),
            replay.night.into(),
            replay.at.into(),
            replay.status.as_str().into(),
        ];
        self.add(&REPLAY, values).map_err(|error| self.error(error))
    }

    /// Returns the results of all replays.
    pub fn replays(&self) -> Result<Vec<Replay>, StoreError> {
        self.all(&REPLAY, |row| Replay {
            cause: row.text(0),
            worker: row.text(1),
            night: row.number(2),
            at: row.integer(3),
            status: row.text(4),
        })
    }

    /// Adds everything that another campaign has. Doing that again changes nothing, and the order of merges does not matter: of two
    /// rows with one name, the turn with more runs, the shorter schedule, the first sighting and the last replay stay.
    pub fn merge(&self, other: &Campaign) -> Result<(), StoreError> {
        let read = ALL.iter().map(|table| other.database.query(&table.select(), &[]));
        let rows = read.collect::<Result<Vec<_>, _>>().map_err(|error| other.error(error))?;
        let merged = transaction(&*self.database, || {
            for (table, rows) in ALL.into_iter().zip(&rows) {
                for row in rows {
                    self.add(table, row.0.clone())?;
                }
            }
            Ok(())
        });
        merged.map_err(|error| self.error(error))
    }
}

/// A failing run to be added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFailure {
    /// Its cause.
    pub cause: CampaignCause,
    /// Its turn.
    pub sighting: Sighting,
    /// The failure file. The shortest one of a cause is kept.
    pub schedule: String,
    /// The number of its steps.
    pub steps: u64,
}

fn turn_values(turn: &CampaignTurn) -> Vec<Value> {
    vec![
        turn.target.as_str().into(),
        turn.worker.as_str().into(),
        turn.number.into(),
        turn.night.into(),
        turn.at.into(),
        turn.build.as_str().into(),
        turn.seed.into(),
        Value::Real(turn.seconds),
        turn.runs.into(),
        turn.failures.into(),
        turn.threads.into(),
        turn.steps.into(),
        turn.fresh.into(),
        turn.sampled.into(),
        Value::Bytes(turn.orders.iter().flat_map(|order| order.to_le_bytes()).collect()),
        turn.ended.as_str().into(),
        turn.cause.as_str().into(),
        turn.lost.as_str().into(),
    ]
}

fn turn_of(row: &Row) -> CampaignTurn {
    let (orders, _) = row.bytes(14).as_chunks::<8>();
    CampaignTurn {
        target: row.text(0),
        worker: row.text(1),
        number: row.number(2),
        night: row.number(3),
        at: row.integer(4),
        build: row.text(5),
        seed: row.number(6),
        seconds: row.real(7),
        runs: row.number(8),
        failures: row.number(9),
        threads: row.number(10),
        steps: row.number(11),
        fresh: row.number(12),
        sampled: row.number(13),
        orders: orders.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect(),
        ended: row.text(15),
        cause: row.text(16),
        lost: row.text(17),
    }
}
