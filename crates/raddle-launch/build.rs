//! Builds the files that the binary contains: the native runtime, and the native functions for Erlang, whose
//! sources are embedded as text. They have a separate target directory, because cargo holds the lock of the
//! usual one while this runs.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "cargo talks to build scripts through the environment")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let crates = here.parent().expect("crates lie beside each other");
    for name in [
        "raddle-native",
        "raddle-beam",
        "raddle-engine",
        "raddle-idioms",
        "raddle-strategies",
        "raddle-explain",
        "raddle-search",
        "raddle-report",
        "raddle-model",
    ] {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    println!("cargo::rerun-if-changed={}", crates.join("raddle-native/build.rs").display());
    let out = PathBuf::from(variable("OUT_DIR"));
    // The quick profile skips the Erlang part.
    let is_quick = profile(&out) == "quick";
    let for_erlang = !is_quick && minor_version().is_none_or(|minor| minor >= FIRST_FOR_ERLANG);
    let folder =
        build(crates, &out, if for_erlang { &["raddle-native", "raddle-beam"] } else { &["raddle-native"] });
    println!("cargo::rustc-env=RADDLE_NATIVE_LIBRARY={}", folder.join("libraddle_native.so").display());
    let beam = if for_erlang {
        folder.join("libraddle_beam.so")
    } else {
        let why = if is_quick { "a release build" } else { &format!("Rust 1.{FIRST_FOR_ERLANG}") };
        println!("cargo::warning=raddle is built without its part for Erlang, which needs {why}");
        let nothing = out.join("nothing");
        std::fs::write(&nothing, b"").expect("cargo's folder can be written to");
        nothing
    };
    println!("cargo::rustc-env=RADDLE_BEAM_LIBRARY={}", beam.display());
    sources(&here.join("../../erlang/raddle/src"), &beam, &out.join("beam_sources.rs"));
}

/// The first release of the compiler, 1.x, that can build rustler.
const FIRST_FOR_ERLANG: u32 = 91;

/// Returns the compiler's release, 1.x; `None` if it is unknown.
fn minor_version() -> Option<u32> {
    let version = Command::new(variable("RUSTC")).arg("--version").output().ok()?;
    let version = String::from_utf8(version.stdout).ok()?;
    version.split_whitespace().nth(1)?.split('.').nth(1)?.parse().ok()
}

/// Returns the profile, which is in the path of the folder of all build scripts. `PROFILE` is `release` for
/// all profiles that inherit from it.
fn profile(out: &Path) -> &str {
    let scripts = out.ancestors().find(|folder| folder.ends_with("build"));
    let profile = scripts.and_then(Path::parent).and_then(Path::file_name);
    profile.and_then(OsStr::to_str).unwrap_or("release")
}

/// Builds the libraries of these crates with a second cargo, and returns their folder.
///
/// That cargo downloads packages that the outer one does not need (rustler and its dependencies), so it is
/// offline only if the user has set `CARGO_NET_OFFLINE`, which it inherits.
fn build(crates: &Path, out: &Path, names: &[&str]) -> PathBuf {
    // Next to the folder of all build scripts, so that lints and tests, which run this script in their own
    // folders, share it.
    let scripts = out.ancestors().find(|folder| folder.ends_with("build")).unwrap_or(out);
    let target = scripts.with_file_name("carried");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "--target-dir"]).arg(&target);
    // Both at once; otherwise their common dependencies would be built for each with its own features.
    cargo.arg("--manifest-path").arg(crates.join("raddle-native/Cargo.toml"));
    names.iter().for_each(|name| _ = cargo.args(["-p", name]));
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_STRIP", "true");
    let profile = profile(out);
    let is_optimized = matches!(profile, "release" | "profiling");
    if !is_optimized {
        // Builds for tests should be fast.
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "false").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    }
    if profile == "quick" {
        cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        cargo.args(["--config", "profile.release.package.\"*\".opt-level=0"]);
    } else if !is_optimized {
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    }
    // Variables of a lint run do not apply here.
    for name in
        ["RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "CLIPPY_ARGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"]
    {
        cargo.env_remove(name);
    }
    let names = names.join(" and ");
    println!("cargo::warning=building {names}, which raddle carries inside, in {}", target.display());
    let output =
        cargo.output().unwrap_or_else(|error| panic!("cannot start cargo to build {names}: {error}"));
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let help = if said.contains("could not compile") {
            "the compiler's errors are above"
        } else {
            "this build needs the crate registry, or a cargo home that `cargo fetch` has filled in this workspace"
        };
        panic!("cannot build {names}:\n{said}\nhelp: {help}");
    }
    target.join("release")
}

/// Writes a table of the Erlang sources in `folder`, and a name for them together with the library.
fn sources(folder: &Path, library: &Path, table: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let folder = folder.canonicalize().expect("the Erlang sources are in the repository");
    let listed = std::fs::read_dir(&folder).expect("the folder of the Erlang sources can be read");
    let mut paths: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    let mut hasher = DefaultHasher::new();
    std::fs::read(library).expect("the library was built").hash(&mut hasher);
    let mut text = "/// The Erlang sources, by name.\nstatic SOURCES: &[(&str, &str)] = &[\n".to_owned();
    for path in &paths {
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        (&name, std::fs::read(path).expect("the Erlang sources can be read")).hash(&mut hasher);
        text += &format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string());
    }
    text += "];\n/// Another one for another library or other sources.\n";
    text += &format!("const ID: &str = \"{:016x}\";\n", hasher.finish());
    std::fs::write(table, text).expect("cargo's folder can be written to");
    println!("cargo::rustc-env=RADDLE_BEAM_SOURCES={}", table.display());
}
