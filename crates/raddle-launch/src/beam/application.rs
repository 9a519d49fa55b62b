//! The application that the VM loads. The binary contains it: the native library, and the Erlang sources,
//! which are compiled at first use. So it matches any installed OTP release.

use anyhow::{Context, Result, bail, ensure};
use raddle_cc::cache;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The native library; empty if it could not be built.
static LIBRARY: &[u8] = include_bytes!(env!("RADDLE_BEAM_LIBRARY"));

include!(env!("RADDLE_BEAM_SOURCES"));

/// The variable that names another application.
const APPLICATION: &str = "RADDLE_ERLANG";

/// The message if Erlang is missing.
pub(super) const NO_ERLANG: &str = "Erlang/OTP is not installed, or not in PATH: there is no `erl`; on Debian the package erlang-base \
     has what is needed";

/// Returns the folder of the application, which is compiled first if necessary.
pub(super) fn find() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(APPLICATION) {
        let given = PathBuf::from(given);
        ensure!(is_built(&given), "{}: no Erlang application with ebin and priv is here", given.display());
        return Ok(given);
    }
    ensure!(
        !LIBRARY.is_empty(),
        "this raddle was built without its part for Erlang, by the profile `quick` or a Rust older than 1.91; `cargo install --path \
         crates/raddle-cli` builds one with it, or {APPLICATION} names the folder of one that `make -C erlang/raddle` has built"
    );
    let place = cache()?.join("erlang").join(format!("application-{ID}-{:016x}", release()?));
    if !is_built(&place) {
        build(&place)?;
    }
    Ok(place)
}

fn is_built(place: &Path) -> bool {
    ["ebin/raddle.app", "ebin/raddle_main.beam", "priv/libraddle_beam.so"]
        .iter()
        .all(|part| place.join(part).is_file())
}

/// Erlang's own variables are for the user's programs: options could cause errors in the application's
/// sources, and flags could override those given here.
const VARIABLES: [&str; 5] =
    ["ERL_COMPILER_OPTIONS", "ERLC_USE_SERVER", "ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS"];

/// Returns a command for a program of Erlang/OTP, without these variables.
pub(super) fn otp(program: &str) -> Command {
    let mut command = Command::new(program);
    VARIABLES.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    command
}

/// Returns a number for the installed Erlang; code compiled by one release may not load in another. Which one
/// `erl` is may depend on the folder and on variables, so the program is run.
fn release() -> Result<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let said = match otp("erl").arg("+V").output() {
        Ok(said) => said,
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(NO_ERLANG),
        Err(error) => bail!("cannot start erl: {error}"),
    };
    let mut hasher = DefaultHasher::new();
    (said.stdout, said.stderr).hash(&mut hasher);
    Ok(hasher.finish())
}

/// Writes the application to `place`. Other processes may do the same at the same time.
fn build(place: &Path) -> Result<()> {
    let folder = place.parent().context("the application has no folder")?;
    std::fs::create_dir_all(folder).with_context(|| no_room(folder))?;
    // With the permissions of any other new folder.
    let own = tempfile::Builder::new().permissions(Permissions::from_mode(0o777)).tempdir_in(folder);
    let own = own.with_context(|| no_room(folder))?;
    write(own.path())?;
    match std::fs::rename(own.path(), place) {
        // Another process was faster.
        Err(_) if is_built(place) => Ok(()),
        renamed => renamed.with_context(|| no_room(place)),
    }
}

fn no_room(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "cannot write the Erlang application to {folder}; set RADDLE_CACHE to a folder that can be written to"
    )
}

/// Compiles the named files, all but the first argument, into the folder in the first argument. `erlc` would
/// do so, too, but mistakes the current folder for that of a file if its path begins with the same letters.
const COMPILE: &str = "[Folder | Files] = init:get_plain_arguments(), \
    Compiled = [compile:file(File, [report_errors, {outdir, Folder}]) || File <- Files], \
    halt(case lists:member(error, Compiled) of true -> 1; false -> 0 end).";

/// Compiles the application into `folder`.
fn write(folder: &Path) -> Result<()> {
    for part in ["src", "ebin", "priv"] {
        std::fs::create_dir_all(folder.join(part)).with_context(|| no_room(folder))?;
    }
    for (name, text) in SOURCES {
        std::fs::write(folder.join("src").join(name), text).with_context(|| no_room(folder))?;
    }
    let [source, ready] = ["src/raddle.app.src", "ebin/raddle.app"].map(|name| folder.join(name));
    std::fs::copy(source, ready).with_context(|| no_room(folder))?;
    std::fs::write(folder.join("priv/libraddle_beam.so"), LIBRARY).with_context(|| no_room(folder))?;
    let modules = SOURCES.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".erl"));
    let mut compile = otp("erl");
    compile.args(["-noinput", "-boot", "no_dot_erlang", "-eval", COMPILE, "-extra"]);
    compile.arg(folder.join("ebin")).args(modules.map(|name| folder.join("src").join(name)));
    let compiled = compile.output().context("cannot start erl")?;
    ensure!(
        compiled.status.success(),
        "erl cannot compile the Erlang application: {}{}",
        String::from_utf8_lossy(&compiled.stdout),
        String::from_utf8_lossy(&compiled.stderr)
    );
    Ok(())
}
