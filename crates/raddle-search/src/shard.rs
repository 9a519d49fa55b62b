//! The parts of a search that other processes can execute.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Shard `k` of `n`, written `k/n`, with `k` from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: usize,
    count: usize,
}

/// The largest number of shards.
const MOST: usize = 1_000_000;

/// A text that is not a shard.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a shard\nhelp: write K/N with K from 1 to N and N up to {MOST}, such as 3/100")]
pub struct ShardError(String);

impl Shard {
    /// The only shard of a search.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Returns its index, from 0.
    pub fn index(self) -> usize {
        self.index
    }

    /// Returns the number of shards.
    pub fn count(self) -> usize {
        self.count
    }
}

/// The part of a search that one process executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The shard.
    pub shard: Shard,
    /// The numbers of the runs: those from the first one, before the second one; all if `None`. Only for
    /// strategies that do not learn, and one job.
    pub window: Option<(u64, u64)>,
    /// Number of runs that every process executes first if runs may discover shared memory, so that all of them know
    /// the same memory.
    pub pilot: u64,
}

impl Part {
    /// The default of [`Part::pilot`].
    pub const PILOT: u64 = 200;

    /// Returns one shard.
    pub fn shard(shard: Shard) -> Part {
        Part { shard, window: None, pilot: Part::PILOT }
    }

    /// Returns the runs with these numbers.
    pub fn window(from: u64, to: u64) -> Part {
        Part { window: Some((from, to)), ..Part::shard(Shard::WHOLE) }
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) && count <= MOST => {
                Ok(Shard { index: index - 1, count })
            }
            _ => Err(ShardError(text.to_owned())),
        }
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Shard, ShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}
