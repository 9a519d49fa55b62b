//! Starts an Erlang VM with the application, and reads its answer.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that says where the application is.
const APPLICATION: &str = "RADDLE_ERLANG";

/// The answer of the application.
#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Answer {
    /// Why nothing was decided.
    error: Option<String>,
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) first_failure: Option<u64>,
    pub(super) partial_orders: u64,
    pub(super) threads: u64,
    pub(super) steps: u64,
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) rests: u64,
    pub(super) cut_off: u64,
    pub(super) exhausted: bool,
    /// Of a replay: where it left the recorded run, and why.
    pub(super) left_at: Option<u64>,
    pub(super) what: Option<String>,
    /// Of a replay.
    pub(super) fingerprint: Option<u64>,
}

/// Gives the application its `orders` and waits for the answer.
pub(super) fn ask(orders: &[OsString]) -> Result<Answer> {
    let application = application()?;
    let result = crate::native::Temporary::write("beam.json", b"")?;
    let done = Command::new("erl")
        .args(["-noshell", "-kernel", "logger_level", "none", "-pa"])
        .arg(application.join("ebin"))
        .args(["-s", "raddle_main", "main", "-extra"])
        .arg(result.path())
        .args(orders)
        .stdin(Stdio::null())
        .output()
        .context(
            "cannot start `erl`; Erlang/OTP has to be installed (tools/install.sh does that on Debian)",
        )?;
    let text = std::fs::read_to_string(result.path()).context("cannot read what the Erlang VM left")?;
    ensure!(
        !text.is_empty(),
        "the Erlang VM ended without an answer: {}",
        [done.stdout, done.stderr].map(|said| String::from_utf8_lossy(&said).trim().to_owned()).join(" ")
    );
    let answer: Answer = serde_json::from_str(&text).context("cannot read the answer of the Erlang VM")?;
    match answer.error {
        Some(error) => bail!("{error}"),
        None => Ok(answer),
    }
}

/// Where the application is: where the variable says, beside this program, or in the folder that it was built from.
fn application() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(APPLICATION) {
        let given = PathBuf::from(given);
        ensure!(is_built(&given), "{}: no Erlang application with ebin and priv is here", given.display());
        return Ok(given);
    }
    let beside =
        std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("../lib/raddle/erlang")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../erlang/raddle");
    beside.into_iter().chain([source]).find(|place| is_built(place)).with_context(|| {
        format!("the Erlang application is not built: run `make -C erlang/raddle` in the repository, or say by {APPLICATION} where it is")
    })
}

fn is_built(place: &Path) -> bool {
    place.join("ebin/raddle.app").is_file() && place.join("priv/libraddle_beam.so").is_file()
}
