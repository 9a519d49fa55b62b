//! Builds with hooks.

use super::flags::{Flags, VARIABLE};
use super::workspace::{Package, TARGET, Workspace, cargo};
use crate::args::BuildArgs;
use anyhow::{Context, Result, ensure};
use raddle_model::Surroundings;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that was built.
pub(super) struct Binary {
    pub(super) path: PathBuf,
    /// What people call it: `package` for the tests of a library, `package::name` for a file of integration tests.
    pub(super) name: String,
    /// The folder of its package.
    pub(super) folder: PathBuf,
    /// What its tests are started in.
    pub(super) surroundings: Surroundings,
    /// Whether it is the one that its package names by `default-run`.
    pub(super) is_default: bool,
}

/// One of cargo's messages, as far as they matter here.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact(Artifact),
    BuildScriptExecuted {
        package_id: String,
        #[serde(default)]
        env: Vec<(String, String)>,
        #[serde(default)]
        linked_paths: Vec<String>,
        out_dir: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// What build scripts have told.
#[derive(Default)]
struct Scripts {
    /// Variables, by package.
    environments: BTreeMap<String, Vec<(String, String)>>,
    /// Where they have libraries looked for, all together.
    linked: BTreeSet<String>,
}

/// Which programs of a build are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those with tests.
    Tests,
    /// The others.
    Programs,
}

/// Runs `cargo WORDS` with hooks in everything but build scripts and macros, and gives the programs that came out.
pub(super) fn build(
    workspace: &Workspace,
    args: &BuildArgs,
    words: &[String],
    wanted: Wanted,
) -> Result<Vec<Binary>> {
    let flags = Flags::new(args.hooks)?;
    let here = std::env::current_dir().context("there is no current folder")?;
    let mut command = cargo();
    command.args(words);
    command.args(["--message-format", "json-render-diagnostics", "--target", TARGET, "--target-dir"]);
    command.arg(&workspace.target);
    choose(&mut command, args);
    command.env(VARIABLE, flags.encoded(&here, TARGET)).envs(flags.environment.iter().copied());
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let stdout = process.stdout.take().context("cargo's messages cannot be read")?;
    let (mut artifacts, mut scripts) = (Vec::new(), Scripts::default());
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cargo's messages cannot be read")?;
        // Build scripts may print lines of their own.
        match serde_json::from_str(&line) {
            Ok(Message::CompilerArtifact(artifact)) => artifacts.push(artifact),
            Ok(Message::BuildScriptExecuted { package_id, mut env, linked_paths, out_dir }) => {
                env.push(("OUT_DIR".to_owned(), out_dir));
                scripts.environments.insert(package_id, env);
                scripts.linked.extend(linked_paths);
            }
            Ok(Message::Other) | Err(_) => {}
        }
    }
    let status = process.wait().context("cargo was not waited for")?;
    ensure!(status.success(), "the build with hooks failed, as cargo says above");
    let mut binaries = Vec::new();
    for artifact in &artifacts {
        let is_wanted = artifact.profile.test == (wanted == Wanted::Tests);
        let (Some(path), Some(package)) = (&artifact.executable, workspace.package(&artifact.package_id))
        else {
            continue;
        };
        if is_wanted {
            binaries.push(binary(workspace, package, artifact, path, &scripts)?);
        }
    }
    Ok(binaries)
}

/// Hands on what is to be built.
fn choose(command: &mut Command, args: &BuildArgs) {
    for (option, values) in
        [("--package", &args.package), ("--exclude", &args.exclude), ("--features", &args.features)]
    {
        for value in values {
            command.args([option, value]);
        }
    }
    for (option, given) in [
        ("--workspace", args.workspace),
        ("--all-features", args.all_features),
        ("--no-default-features", args.no_default_features),
        ("--release", args.release),
        ("--offline", args.offline),
        ("--locked", args.locked),
    ] {
        if given {
            command.arg(option);
        }
    }
    if let Some(profile) = &args.profile {
        command.args(["--profile", profile]);
    }
    if let Some(manifest) = &args.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
}

fn binary(
    workspace: &Workspace,
    package: &Package,
    artifact: &Artifact,
    path: &Path,
    scripts: &Scripts,
) -> Result<Binary> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path is no text");
    let Target { name, kind } = &artifact.target;
    let kind = kind.first().map_or("", |kind| kind);
    let mut environment = package.environment();
    environment.extend(scripts.environments.get(&artifact.package_id).into_iter().flatten().cloned());
    let folder = path.parent().unwrap_or(Path::new("."));
    environment.push(("LD_LIBRARY_PATH".to_owned(), workspace.library_path(folder, &scripts.linked)?));
    // Each failing run would make a backtrace, which takes longer than the run.
    environment.push(("RUST_BACKTRACE".to_owned(), "0".to_owned()));
    Ok(Binary {
        path: path.to_owned(),
        name: match kind {
            "test" => format!("{}::{name}", package.name),
            "bin" | "example" | "bench" => format!("{}::{kind}/{name}", package.name),
            _ => package.name.clone(),
        },
        folder: package.folder().to_owned(),
        is_default: kind == "bin" && package.default_run.as_ref() == Some(name),
        surroundings: Surroundings {
            directory: Some(text(package.folder())?),
            environment,
            ..Surroundings::default()
        },
    })
}
