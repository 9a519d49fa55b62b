//! Maintenance tasks of the repository.
//!
//! * `cargo xtask check-layers` checks that dependencies point downwards, that unsafe code is denied where it
//!   does not belong, and that the modules of some crates are free of cycles. With `--modules CRATE` it
//!   checks only the modules of that crate, and lists all uses between modules in a cycle.
//! * `cargo xtask check-api` checks that the public API of `raddle` has no types of the crates below it.
//! * `cargo xtask bless` rewrites the golden texts after an intended change.

mod api;
mod layers;
mod modules;

use anyhow::{Context, Result, bail, ensure};
use layers::Package;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check-layers"] => check_layers(),
        ["check-layers", "--modules", name] => check_modules(name),
        ["check-api"] => check_api(),
        ["bless"] => bless(),
        _ => Err(anyhow::anyhow!("usage: cargo xtask check-layers [--modules CRATE] | check-api | bless")),
    };
    let (text, status) = match done {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (format!("error: {error:#}"), ExitCode::FAILURE),
    };
    let _ = writeln!(std::io::stderr().lock(), "{text}");
    status
}

/// Checks the arrows between crates, their lints, and the modules of some.
fn check_layers() -> Result<String> {
    let packages = packages()?;
    let path = root().join("Cargo.toml");
    let workspace =
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let wrong = layers::check(&packages, &workspace);
    if !wrong.is_empty() {
        bail!("layer violations, see ARCHITECTURE.md:\n  {}", wrong.join("\n  "));
    }
    for name in layers::WITHOUT_CYCLES {
        let cycles = cycles(&packages, name)?;
        if !cycles.is_empty() {
            let texts: Vec<String> = cycles.iter().map(ToString::to_string).collect();
            bail!("{name}: {}", texts.join(&format!("\nerror: {name}: ")));
        }
    }
    let without = layers::WITHOUT_CYCLES.join(", ");
    Ok(format!("{} packages keep their layers; no module cycles in {without}", packages.len()))
}

/// Lists the module cycles of one crate with all uses that are part of them.
fn check_modules(name: &str) -> Result<String> {
    let cycles = cycles(&packages()?, name)?;
    if cycles.is_empty() {
        return Ok(format!("{name} has no module cycles"));
    }
    let texts: Vec<String> = cycles
        .iter()
        .map(|cycle| format!("{cycle}\nall uses between these modules:\n{}", cycle.edges()))
        .collect();
    bail!("{name}: {}", texts.join(&format!("\nerror: {name}: ")))
}

/// Checks the public API of `raddle` through its documentation, in which types of other crates are links to
/// their pages.
fn check_api() -> Result<String> {
    let packages = packages()?;
    let raddle = packages.iter().find(|package| package.name == "raddle").context("no package `raddle`")?;
    let is_below = |name: &&str| raddle.text.contains(&format!("\n{name} = "));
    let below: Vec<&str> = packages.iter().map(|package| &package.name[..]).filter(is_below).collect();
    // Pages of earlier states would stay.
    let pages = root().join("target/doc/raddle");
    if pages.exists() {
        std::fs::remove_dir_all(&pages)?;
    }
    let mut words = vec!["doc", "--no-deps", "--target-dir", "target", "-p", "raddle"];
    words.extend(below.iter().flat_map(|name| ["-p", name]));
    ensure!(cargo(&words).status()?.success(), "cannot build the documentation");
    let crates: Vec<String> = below.iter().map(|name| name.replace('-', "_")).collect();
    let (count, wrong) = api::links(&pages, &crates)?;
    ensure!(wrong.is_empty(), "the API of raddle exposes types of other crates:\n  {}", wrong.join("\n  "));
    Ok(format!("{count} pages of the API of raddle expose no types of {}", below.join(", ")))
}

/// Finds the module cycles in the libraries and programs of a package.
fn cycles(packages: &[Package], name: &str) -> Result<Vec<modules::Cycle>> {
    let package = packages.iter().find(|package| package.name == name);
    let package = package.with_context(|| format!("no package `{name}` in the workspace"))?;
    let root = root().canonicalize()?;
    let mut cycles = Vec::new();
    for target in &package.targets {
        let skipped = ["test", "bench", "example", "custom-build"];
        if target.kind.iter().any(|kind| skipped.contains(&kind.as_str())) {
            continue;
        }
        let path = target.root.strip_prefix(&root).unwrap_or(&target.root);
        let read = modules::read(path, &|path| std::fs::read_to_string(root.join(path)).ok())?;
        cycles.extend(modules::find(&read));
    }
    Ok(cycles)
}

/// Reads the packages of the workspace and their manifests.
fn packages() -> Result<Vec<Package>> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
    let mut packages = layers::packages(&output.stdout)?;
    for package in &mut packages {
        let path = Path::new(&package.manifest);
        package.text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(packages)
}

/// Rewrites the golden texts by running their tests in bless mode.
fn bless() -> Result<String> {
    let words = ["test", "-p", "raddle-cli", "--test", "texts"];
    let status = cargo(&words).env("RADDLE_BLESS", "1").status()?;
    ensure!(status.success(), "cannot rewrite the golden texts");
    Ok("golden texts rewritten; review the diff before you commit it".to_owned())
}

fn cargo(words: &[&str]) -> Command {
    // Use the cargo that runs this tool.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
