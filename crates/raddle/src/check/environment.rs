//! Settings from the environment; no other module reads it.

use super::config::Memory;
use crate::runtime::WATCHDOG;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The overrides that the environment sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Overrides {
    pub(super) runs: Option<u64>,
    pub(super) seed: Option<u64>,
    pub(super) jobs: Option<usize>,
    pub(super) strategy: Option<String>,
    pub(super) replay: Option<PathBuf>,
    pub(super) tolerant: bool,
    pub(super) serve: Option<PathBuf>,
    pub(super) minimize: Option<bool>,
    pub(super) explain: Option<bool>,
    pub(super) memory: Option<Memory>,
    /// The time without a step after which a run is examined; `None` for never.
    pub(super) watchdog: Option<Duration>,
}

impl Overrides {
    /// Reads the environment. Panics if a variable has an invalid value.
    pub(super) fn read() -> Overrides {
        Overrides {
            runs: number("RADDLE_RUNS"),
            seed: number("RADDLE_SEED"),
            jobs: number("RADDLE_JOBS"),
            strategy: text("RADDLE_STRATEGY"),
            replay: text("RADDLE_REPLAY").map(PathBuf::from),
            tolerant: switch("RADDLE_REPLAY_TOLERANT").unwrap_or(false),
            serve: text("RADDLE_SERVE").map(PathBuf::from),
            minimize: switch("RADDLE_MINIMIZE"),
            explain: switch("RADDLE_EXPLAIN"),
            memory: memory(),
            watchdog: watchdog(),
        }
    }
}

fn memory() -> Option<Memory> {
    text("RADDLE_MEMORY").map(|text| match &*text {
        "auto" => Memory::Auto,
        "sc" => Memory::Sc,
        "weak" => Memory::Weak,
        _ => panic!("RADDLE_MEMORY must be `auto`, `sc` or `weak`, not `{text}`"),
    })
}

/// The default time without a step after which a run is examined.
const WATCHDOG_SPAN: Duration = Duration::from_secs(5);

fn watchdog() -> Option<Duration> {
    let Some(text) = text(WATCHDOG) else { return Some(WATCHDOG_SPAN) };
    let span = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let span = span.unwrap_or_else(|| panic!("{WATCHDOG} must be a number of seconds, not `{text}`"));
    Some(span).filter(|span| !span.is_zero())
}

fn switch(name: &str) -> Option<bool> {
    number::<u8>(name).map(|number| number != 0)
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let text = text(name)?;
    let number = text.trim().parse();
    Some(number.unwrap_or_else(|_| panic!("{name} must be a whole number, not `{text}`")))
}

/// Returns the value of a variable; an empty one counts as unset.
#[expect(clippy::disallowed_methods, reason = "a test that is replayed receives no arguments")]
fn text(name: &str) -> Option<String> {
    match std::env::var(name) {
        Ok(value) => Some(value).filter(|value| !value.is_empty()),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(value)) => {
            panic!("{name} is not valid UTF-8: {}", value.display())
        }
    }
}
