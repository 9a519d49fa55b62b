//! Builds the native runtime, a library that the binary carries as a file. It has a target directory of its own, because
//! cargo holds the lock of the usual one while this runs.

use std::path::PathBuf;
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "cargo talks to build scripts through the environment")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let crates = here.parent().expect("crates lie beside each other");
    for name in ["raddle-native", "raddle-engine", "raddle-idioms", "raddle-strategies", "raddle-model"] {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    // Beside the folder of all build scripts, so that lints and tests, which run this one in folders of their own, share it.
    let out = PathBuf::from(variable("OUT_DIR"));
    let scripts = out.ancestors().find(|folder| folder.ends_with("build")).unwrap_or(&out);
    let target = scripts.with_file_name("native");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "--offline", "--quiet", "--target-dir"]).arg(&target);
    cargo.arg("--manifest-path").arg(crates.join("raddle-native/Cargo.toml"));
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_STRIP", "true");
    if variable("PROFILE") != "release" {
        // Whoever builds for a test waits for it.
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "false").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    }
    // What a lint run sets is not meant for this.
    for name in
        ["RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "CLIPPY_ARGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"]
    {
        cargo.env_remove(name);
    }
    let built = cargo.status().is_ok_and(|status| status.success());
    assert!(built, "the native runtime was not built; see above");
    let library = target.join("release/libraddle_native.so");
    println!("cargo::rustc-env=RADDLE_NATIVE_LIBRARY={}", library.display());
}
