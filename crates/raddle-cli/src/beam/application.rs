//! Where the application is that the VM loads.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// The variable that says where the application is.
const APPLICATION: &str = "RADDLE_ERLANG";

/// Where the application is: where the variable says, beside this program, or in the folder that it was built from.
pub(super) fn find() -> Result<PathBuf> {
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
