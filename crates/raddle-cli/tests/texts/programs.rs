//! The programs that transcripts run, each built once.

use crate::{is_set, root, scratch};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// The way a program is built.
#[derive(Clone, Copy)]
enum Build {
    /// With hooks, by `raddle cc`.
    Hooks,
    /// Without.
    Plain,
    /// Without, and linked statically.
    Static,
    /// An Erlang module.
    Erlang,
}

/// Names in commands, and the sources.
const PROGRAMS: [(&str, &str, Build); 16] = [
    ("./abba_deadlock", "tests/c/fail/abba_deadlock.c", Build::Hooks),
    ("./barrier", "tests/c/pass/barrier.c", Build::Hooks),
    ("./lost_update", "tests/c/fail/lost_update.c", Build::Hooks),
    ("./livelock_spin", "tests/c/fail/livelock_spin.c", Build::Hooks),
    ("./lost_wakeup", "tests/c/fail/lost_wakeup.c", Build::Hooks),
    ("./mutexes", "tests/c/pass/mutexes.c", Build::Hooks),
    ("./null_dereference", "tests/c/fail/null_dereference.c", Build::Hooks),
    ("./race_on_flag", "tests/c/fail/race_on_flag.c", Build::Hooks),
    ("./unlock_by_stranger", "tests/c/fail/unlock_by_stranger.c", Build::Hooks),
    ("./use_after_free", "tests/c/fail/use_after_free.c", Build::Hooks),
    ("./values", "crates/raddle-cli/tests/native/values.c", Build::Hooks),
    ("./plain", "crates/raddle-cli/tests/native/lost_update.c", Build::Plain),
    ("./static", "crates/raddle-cli/tests/native/lost_update.c", Build::Static),
    ("./status", "crates/raddle-cli/tests/native/status.c", Build::Plain),
    ("race:", "crates/raddle-cli/tests/beam/race.erl", Build::Erlang),
    ("stock:", "crates/raddle-cli/tests/beam/stock.erl", Build::Erlang),
];

/// Puts the programs that a command names into its folder.
pub(crate) fn provide(folder: &Path, command: &str) {
    let words = command.split([' ', ';']);
    for (name, source, build) in PROGRAMS {
        let named = match build {
            Build::Erlang => words.clone().any(|word| word.starts_with(name)),
            _ => words.clone().any(|word| word == name),
        };
        let built = named.then(|| built(name, source, build));
        let Some(file) = built.filter(|file| !folder.join(file.file_name().expect("a name")).exists()) else {
            continue;
        };
        // A copy would be open for writing while other threads start processes.
        let link = folder.join(file.file_name().expect("a program has a name"));
        std::fs::hard_link(&file, link).expect("the program can be linked");
    }
    if command.contains("cargo raddle") && !folder.join("Cargo.toml").exists() {
        copy_crate(folder);
    }
}

/// Returns the built program. The first caller builds it.
fn built(name: &str, source: &str, build: Build) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let slot =
        BUILT.lock().expect("no code panics while it is locked").entry(name.to_owned()).or_default().clone();
    let make = || {
        let source = root().join(source);
        let folder = scratch().join("programs");
        std::fs::create_dir_all(&folder).expect("a folder for the programs can be made");
        let file = match build {
            Build::Erlang => folder.join(source.with_extension("beam").file_name().expect("it has a name")),
            _ => folder.join(name.trim_start_matches("./")),
        };
        let mut compiler = match build {
            Build::Hooks => Command::new(env!("CARGO_BIN_EXE_raddle")),
            Build::Plain | Build::Static => Command::new("gcc"),
            Build::Erlang => Command::new("erlc"),
        };
        match build {
            Build::Hooks => compiler.args(["cc", "-g", "-O1", "-pthread", "-o"]).arg(&file),
            Build::Plain => compiler.args(["-g", "-O0", "-pthread", "-o"]).arg(&file),
            Build::Static => compiler.args(["-g", "-O0", "-pthread", "-static", "-o"]).arg(&file),
            Build::Erlang => compiler.args(["+debug_info", "-o"]).arg(&folder),
        };
        // With a source in the current folder, messages have its name without a path.
        compiler
            .arg(source.file_name().expect("it has a name"))
            .current_dir(source.parent().expect("a folder"));
        assert!(compiler.status().expect("the compiler starts").success(), "{name} is compiled");
        file
    };
    slot.get_or_init(make).clone()
}

/// Copies the crate for `cargo raddle` into a folder. All copies share the build.
fn copy_crate(folder: &Path) {
    let from = root().join("crates/raddle-cli/tests/fixture-crate");
    for name in ["Cargo.toml", "raddle.toml", "src/lib.rs", "src/main.rs", "tests/surroundings.rs"] {
        let copy = folder.join(name);
        std::fs::create_dir_all(copy.parent().expect("a file is in a folder")).expect("it can be made");
        std::fs::copy(from.join(name), copy).expect("the crate can be copied");
    }
}

/// Returns true if Erlang is installed. Prints a message if not, and fails if it is required.
pub(crate) fn has_erlang() -> bool {
    let found = Command::new("erlc").arg("-help").output().is_ok();
    if !found {
        assert!(!is_set("RADDLE_BEAM"), "no Erlang; tools/install.sh installs it");
        let words = "NOT TESTED: Erlang programs; tools/install.sh installs Erlang";
        writeln!(std::io::stderr(), "\n{words}\n").expect("standard error is writable");
    }
    found
}
