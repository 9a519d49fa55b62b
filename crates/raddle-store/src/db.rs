//! The database under a store. SQLite and PostgreSQL execute the same statements: parameters are written `$1`, `$2`, .. in the
//! order of their first use.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::fmt::Debug;

/// The error of a database.
pub(crate) type DbError = Box<dyn std::error::Error + Send + Sync>;

/// A parameter, or a value of a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}

/// All 64 bits are kept; large numbers are negative in the database.
impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Integer(number as i64)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// A row of a result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// Returns a whole number.
    pub(crate) fn integer(&self, column: usize) -> i64 {
        match self.0[column] {
            Value::Integer(number) => number,
            ref other => panic!("column {column} is an integer in the schema, not {other:?}"),
        }
    }

    /// Returns a number whose 64 bits were stored.
    pub(crate) fn number(&self, column: usize) -> u64 {
        self.integer(column) as u64
    }

    /// Returns a number with a fraction.
    pub(crate) fn real(&self, column: usize) -> f64 {
        match self.0[column] {
            Value::Real(number) => number,
            ref other => panic!("column {column} is a real number in the schema, not {other:?}"),
        }
    }

    /// Returns a text.
    pub(crate) fn text(&self, column: usize) -> String {
        match &self.0[column] {
            Value::Text(text) => text.clone(),
            other => panic!("column {column} is a text in the schema, not {other:?}"),
        }
    }

    /// Returns bytes.
    pub(crate) fn bytes(&self, column: usize) -> &[u8] {
        match &self.0[column] {
            Value::Bytes(bytes) => bytes,
            other => panic!("column {column} has bytes in the schema, not {other:?}"),
        }
    }
}

/// A connection to a database.
pub(crate) trait Database: Debug {
    /// Executes a statement. Returns the number of changed rows.
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, DbError>;

    /// Executes a query.
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DbError>;

    /// Begins a transaction that no other one that writes runs beside.
    fn begin(&self) -> Result<(), DbError>;

    /// Begins a transaction whose queries see the same state.
    fn begin_read(&self) -> Result<(), DbError>;

    /// Ends the transaction.
    fn commit(&self) -> Result<(), DbError>;

    /// Ends the transaction without its changes.
    fn roll_back(&self);

    /// Returns true if the connection to a server was lost.
    fn was_lost(&self) -> bool {
        false
    }
}

/// Executes `work` in a transaction: all of its changes are made, or none. If the server was restarted meanwhile, the transaction is
/// made again. It may then have been made already, so `work` must have the same effect twice as once.
pub(crate) fn transaction<T>(
    database: &dyn Database,
    mut work: impl FnMut() -> Result<T, DbError>,
) -> Result<T, DbError> {
    const MOST: u32 = 5;
    let mut attempt = 1;
    loop {
        let done = database.begin().and_then(|()| work()).and_then(|done| database.commit().map(|()| done));
        match done {
            Err(error) => {
                let was_lost = database.was_lost();
                database.roll_back();
                if !was_lost || attempt == MOST {
                    return Err(error);
                }
            }
            done => return done,
        }
        attempt += 1;
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// A value of SQLite. No column of a store may be null.
fn value(value: ValueRef<'_>) -> Result<Value, DbError> {
    Ok(match value {
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8(text.to_vec())?),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Null => return Err("a value is missing".into()),
    })
}

impl Database for Connection {
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, DbError> {
        Ok(self.prepare_cached(sql)?.execute(params_from_iter(values))? as u64)
    }

    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DbError> {
        let mut statement = self.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|column| value(row.get_ref(column)?));
            all.push(Row(cells.collect::<Result<_, _>>()?));
        }
        Ok(all)
    }

    fn begin(&self) -> Result<(), DbError> {
        // Two processes that both read first and then want to write would block each other.
        Ok(self.execute_batch("BEGIN IMMEDIATE")?)
    }

    fn begin_read(&self) -> Result<(), DbError> {
        Ok(self.execute_batch("BEGIN")?)
    }

    fn commit(&self) -> Result<(), DbError> {
        Ok(self.execute_batch("COMMIT")?)
    }

    fn roll_back(&self) {
        // If the connection has lost it, there is nothing to roll back.
        _ = self.execute_batch("ROLLBACK");
    }
}
