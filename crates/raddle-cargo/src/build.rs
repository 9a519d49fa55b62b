//! Builds with hooks.

use crate::workspace::{TARGET, Workspace, cargo, folder};
use anyhow::{Context, Result, ensure};
use cargo_metadata::camino::Utf8PathBuf;
use cargo_metadata::{Artifact, Message, Package, PackageId, TargetKind};
use raddle_cc::rust::{Flags, Hooks, VARIABLE};
use raddle_model::Environment;
use raddle_search::is_interrupted;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

/// A built program.
pub struct Binary {
    /// Its path.
    pub path: PathBuf,
    /// Its name in reports: `package` for the tests of a library, `package::name` for a file of integration
    /// tests.
    pub name: String,
    /// The folder of its package.
    pub folder: PathBuf,
    /// The environment of its tests.
    pub environment: Environment,
    /// True if its package names it in `default-run`.
    pub is_default: bool,
}

/// The output of build scripts.
#[derive(Default)]
struct Scripts {
    /// Variables, by package.
    environments: BTreeMap<PackageId, Vec<(String, String)>>,
    /// The library search paths of all build scripts.
    linked: BTreeSet<String>,
}

/// The requested programs of a build.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Programs with tests.
    Tests,
    /// Other programs.
    Programs,
}

/// Runs `cargo WORDS OPTIONS` with hooks in everything except build scripts and macros, and returns the built
/// programs. The options select packages, features and the profile. If `with_std`, the standard library has hooks too.
pub fn build(
    workspace: &Workspace,
    hooks: Hooks,
    words: &[String],
    options: &[OsString],
    wanted: Wanted,
    with_std: bool,
) -> Result<Vec<Binary>> {
    let mut flags = Flags::new(hooks)?;
    let mut target = workspace.target.clone();
    if with_std {
        flags = flags.with_standard_library()?;
        target.push("std");
    }
    let here = std::env::current_dir().context("there is no current folder")?;
    let mut command = cargo();
    command.args(words);
    command.args(["--message-format", "json-render-diagnostics", "--target", TARGET, "--target-dir"]);
    command.arg(target).args(flags.arguments).args(options);
    command.env(VARIABLE, flags.encoded(&here, TARGET)).envs(flags.environment.iter().copied());
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let stdout = process.stdout.take().context("cargo's messages cannot be read")?;
    let (read, status) = std::thread::scope(|scope| {
        let ending = scope.spawn(|| end(&mut process));
        let read = read(stdout);
        (read, ending.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)))
    });
    let status = status.context("cargo was not waited for")?;
    let (mut artifacts, scripts) = read?;
    ensure!(status.success(), "the build with hooks failed, as cargo says above");
    artifacts.sort_by_cached_key(|artifact| position(workspace, artifact));
    let mut binaries = Vec::new();
    for artifact in &artifacts {
        let is_wanted = artifact.profile.test == (wanted == Wanted::Tests);
        let (Some(path), Some(package)) = (&artifact.executable, workspace.package(&artifact.package_id))
        else {
            continue;
        };
        if is_wanted {
            binaries.push(binary(workspace, package, artifact, path.as_std_path(), &scripts)?);
        }
    }
    Ok(binaries)
}

/// Waits for cargo to exit. Kills it if this process is interrupted.
fn end(process: &mut Child) -> std::io::Result<ExitStatus> {
    const MOMENT: Duration = Duration::from_millis(20);
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        if is_interrupted() {
            process.kill()?;
        }
        std::thread::sleep(MOMENT);
    }
}

/// Reads cargo's messages.
fn read(stdout: ChildStdout) -> Result<(Vec<Artifact>, Scripts)> {
    let (mut artifacts, mut scripts) = (Vec::new(), Scripts::default());
    for message in Message::parse_stream(BufReader::new(stdout)) {
        match message.context("cargo's messages cannot be read")? {
            Message::CompilerArtifact(artifact) => artifacts.push(artifact),
            Message::BuildScriptExecuted(mut script) => {
                script.env.push(("OUT_DIR".to_owned(), script.out_dir.into_string()));
                scripts.environments.insert(script.package_id, script.env);
                scripts.linked.extend(script.linked_paths.into_iter().map(Utf8PathBuf::into_string));
            }
            // Build scripts may print other lines.
            _ => {}
        }
    }
    Ok((artifacts, scripts))
}

/// Returns the position of a program in the order in which `cargo test` runs them. Cargo reports them in the
/// order in which they were built, which may differ from build to build.
fn position(workspace: &Workspace, artifact: &Artifact) -> (Option<usize>, u8, String) {
    let kind = match artifact.target.kind.first() {
        Some(TargetKind::Bin) => 1,
        Some(TargetKind::Test) => 2,
        Some(TargetKind::Bench) => 3,
        Some(TargetKind::Example) => 4,
        _ => 0,
    };
    (workspace.position(&artifact.package_id), kind, artifact.target.name.clone())
}

fn binary(
    workspace: &Workspace,
    package: &Package,
    artifact: &Artifact,
    path: &Path,
    scripts: &Scripts,
) -> Result<Binary> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path is not valid UTF-8");
    let name = &artifact.target.name;
    let kind = artifact.target.kind.first();
    let mut environment = workspace.environment(package);
    environment.extend(scripts.environments.get(&artifact.package_id).into_iter().flatten().cloned());
    let beside = path.parent().unwrap_or(Path::new("."));
    environment.push(("LD_LIBRARY_PATH".to_owned(), workspace.library_path(beside, &scripts.linked)?));
    // A backtrace in each failing run would take longer than the run.
    environment.push(("RUST_BACKTRACE".to_owned(), "0".to_owned()));
    Ok(Binary {
        path: path.to_owned(),
        name: match kind {
            Some(TargetKind::Test) => format!("{}::{name}", package.name),
            Some(kind @ (TargetKind::Bin | TargetKind::Example | TargetKind::Bench)) => {
                format!("{}::{kind}/{name}", package.name)
            }
            _ => package.name.to_string(),
        },
        folder: folder(package).to_owned(),
        is_default: kind == Some(&TargetKind::Bin) && package.default_run.as_ref() == Some(name),
        environment: Environment {
            directory: Some(text(folder(package))?),
            environment,
            ..Environment::default()
        },
    })
}
