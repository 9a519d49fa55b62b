//! `examples/passthrough`, built both ways: a program gets std's types, the tests of its library the
//! controlled ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Copies the example to a build directory, with the versions of this workspace.
fn example() -> PathBuf {
    let crate_path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_path.join("../..");
    let from = root.join("examples/passthrough");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("passthrough");
    for file in [
        "library/Cargo.toml",
        "library/src/lib.rs",
        "library/tests/deposits.rs",
        "program/Cargo.toml",
        "program/src/main.rs",
    ] {
        fs::create_dir_all(to.join(file).parent().unwrap()).unwrap();
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("\"../../crates/raddle\""), "{manifest}");
    let manifest = manifest.replace("\"../../crates/raddle\"", &format!("{crate_path:?}"));
    fs::write(to.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), to.join("Cargo.lock")).unwrap();
    to
}

fn cargo(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO"));
    command.args(words).arg("--offline").current_dir(directory);
    for name in ["RUSTFLAGS", "RADDLE_REPLAY", "RADDLE_RUNS", "RADDLE_STRATEGY"] {
        command.env_remove(name);
    }
    // The engine takes most of the build time and needs no debug information here.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("CARGO_TARGET_DIR", directory.join("target")).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_program_gets_std_and_a_test_gets_control() {
    let directory = example();
    let tree = cargo(&directory, &["tree", "-p", "program", "--prefix", "none", "--format", "{lib}"]);
    let shown = String::from_utf8_lossy(&tree.stdout).into_owned();
    let lines: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["library", "raddle", "raddle"], "without the feature there are no dependencies");
    let program = cargo(&directory, &["run", "-p", "program"]);
    assert!(program.status.success(), "{}", text(&program));
    assert_eq!(String::from_utf8_lossy(&program.stdout), "1 deposit, balance 2\n");
    // The library alone uses std's types as well, though its tests are in the same package.
    let library = cargo(&directory, &["build", "-p", "library", "--message-format", "json"]);
    assert!(library.status.success(), "{}", text(&library));
    assert!(!text(&library).contains("raddle-engine"), "{}", text(&library));
    let test = cargo(&directory, &["test", "-p", "library", "--test", "deposits"]);
    assert!(!test.status.success(), "the bug is found");
    let text = text(&test);
    assert!(text.contains("`no_deposit_is_lost` fails under this schedule"), "{text}");
    assert!(text.contains("a deposit was lost"), "{text}");
}
