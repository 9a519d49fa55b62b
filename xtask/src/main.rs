//! Chores of the repository.
//!
//! `cargo xtask check-layers` checks that dependencies point downwards and that unsafe code is denied where
//! it has no place. `cargo xtask bless` rewrites the golden texts after a wanted change.

mod layers;

use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let done = match (words.next().as_deref(), words.next()) {
        (Some("check-layers"), None) => check_layers(),
        (Some("bless"), None) => bless(),
        _ => Err(anyhow::anyhow!("say `check-layers` or `bless`")),
    };
    let (text, status) = match done {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (format!("error: {error:#}"), ExitCode::FAILURE),
    };
    let _ = writeln!(std::io::stderr().lock(), "{text}");
    status
}

/// Checks the arrows between crates, and their lints.
fn check_layers() -> Result<String> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
    let mut packages = layers::packages(&output.stdout)?;
    for package in &mut packages {
        let path = Path::new(&package.manifest);
        package.text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    let path = root().join("Cargo.toml");
    let workspace =
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let wrong = layers::check(&packages, &workspace);
    if !wrong.is_empty() {
        bail!("the layers of ARCHITECTURE.md are broken:\n  {}", wrong.join("\n  "));
    }
    Ok(format!("{} packages keep their layers", packages.len()))
}

/// Rewrites the golden texts by running their tests with leave to write.
fn bless() -> Result<String> {
    let words = ["test", "-p", "raddle-cli", "--test", "texts"];
    let status = cargo(&words).env("RADDLE_BLESS", "1").status()?;
    ensure!(status.success(), "the golden texts could not be rewritten");
    Ok("golden texts are rewritten; look at the difference before you commit it".to_owned())
}

fn cargo(words: &[&str]) -> Command {
    // The cargo that runs this tool is the one to ask.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
