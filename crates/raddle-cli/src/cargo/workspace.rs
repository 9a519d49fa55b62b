//! What cargo and rustc tell of the crates around the current folder.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The only target that the native runtime knows.
pub(super) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A package as `cargo metadata` tells it, as far as its tests see that.
#[derive(Deserialize)]
pub(super) struct Package {
    id: String,
    pub(super) name: String,
    pub(super) version: String,
    manifest_path: PathBuf,
    #[serde(default)]
    authors: Vec<String>,
    description: Option<String>,
    homepage: Option<String>,
    repository: Option<String>,
    license: Option<String>,
    license_file: Option<String>,
    rust_version: Option<String>,
    readme: Option<String>,
    /// The program that `cargo run` takes of several.
    pub(super) default_run: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

/// The crates that cargo sees from the current folder, or from a manifest.
pub(super) struct Workspace {
    pub(super) root: PathBuf,
    /// The target directory of builds with hooks.
    pub(super) target: PathBuf,
    /// By cargo's own names.
    packages: BTreeMap<String, Package>,
    /// The folder of the compiler's own libraries.
    libraries: PathBuf,
}

/// The cargo that this was started by, or else the one in `PATH`.
pub(super) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// The compiler that cargo would call.
pub(super) fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")))
}

/// What a command prints; its complaints, if any, are the error.
pub(super) fn asked(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.trim().trim_start_matches("error: ");
        bail!("{name}: {complaint}");
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} prints what is no text"))
}

/// The target that the compiler is made for.
pub(super) fn host() -> Result<String> {
    let told = asked(rustc().arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc tells no host")?.to_owned())
}

impl Workspace {
    /// Asks cargo about the crates that it sees.
    pub(super) fn find(manifest: Option<&Path>) -> Result<Workspace> {
        let host = host()?;
        ensure!(
            host == TARGET,
            "the compiler is made for {host}; raddle controls programs for {TARGET}, so that a toolchain for that is needed"
        );
        let mut metadata = cargo();
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
        if let Some(manifest) = manifest {
            metadata.arg("--manifest-path").arg(manifest);
        }
        let metadata: Metadata =
            serde_json::from_str(&asked(&mut metadata)?).context("cargo's metadata cannot be read")?;
        let libraries = asked(rustc().args(["--print", "target-libdir"]))?;
        Ok(Workspace {
            root: metadata.workspace_root,
            target: metadata.target_directory.join("raddle"),
            packages: metadata.packages.into_iter().map(|package| (package.id.clone(), package)).collect(),
            libraries: PathBuf::from(libraries.trim()),
        })
    }

    /// The package that cargo calls `id`, if it is one of the workspace.
    pub(super) fn package(&self, id: &str) -> Option<&Package> {
        self.packages.get(id)
    }

    /// Where its packages are.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.packages.values().map(Package::folder)
    }

    /// Where a program in `folder` finds the libraries that it may be linked to: as cargo sets it, before what is set already. Build
    /// scripts have named `linked`, of which cargo takes only what they have built.
    pub(super) fn library_path(&self, folder: &Path, linked: &BTreeSet<String>) -> Result<String> {
        const KINDS: [&str; 5] = ["native", "dependency", "crate", "framework", "all"];
        let named = linked.iter().map(|named| match named.split_once('=') {
            Some((kind, path)) if KINDS.contains(&kind) => Path::new(path),
            _ => Path::new(named),
        });
        let built = named.filter(|path| path.starts_with(&self.target));
        let mut paths: Vec<PathBuf> = built.map(Path::to_owned).collect();
        paths.push(folder.to_owned());
        paths.extend(folder.parent().map(Path::to_owned));
        paths.push(self.libraries.clone());
        paths.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
        let joined = std::env::join_paths(paths).context("a path of a library has a colon in it")?;
        joined.into_string().ok().context("the path of libraries is no text")
    }
}

impl Package {
    /// Where its `Cargo.toml` is, and where its tests are started.
    pub(super) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new("."))
    }

    /// The variables that cargo sets for its tests.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (release, pre) = self.version.split_once('-').unwrap_or((&self.version, ""));
        let pre = pre.split('+').next().unwrap_or_default();
        let mut numbers = release.split('+').next().unwrap_or_default().split('.').map(str::to_owned);
        let mut number = || numbers.next().unwrap_or_default();
        let named = [
            ("MANIFEST_DIR", path(self.folder())),
            ("MANIFEST_PATH", path(&self.manifest_path)),
            ("PKG_NAME", self.name.clone()),
            ("PKG_VERSION", self.version.clone()),
            ("PKG_VERSION_MAJOR", number()),
            ("PKG_VERSION_MINOR", number()),
            ("PKG_VERSION_PATCH", number()),
            ("PKG_VERSION_PRE", pre.to_owned()),
            ("PKG_AUTHORS", self.authors.join(":")),
            ("PKG_DESCRIPTION", text(&self.description)),
            ("PKG_HOMEPAGE", text(&self.homepage)),
            ("PKG_REPOSITORY", text(&self.repository)),
            ("PKG_LICENSE", text(&self.license)),
            ("PKG_LICENSE_FILE", text(&self.license_file)),
            ("PKG_RUST_VERSION", text(&self.rust_version)),
            ("PKG_README", text(&self.readme)),
        ];
        named.into_iter().map(|(name, value)| (format!("CARGO_{name}"), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_build_scripts_have_built_are_found() {
        let workspace = Workspace {
            root: PathBuf::from("/w"),
            target: PathBuf::from("/w/target/raddle"),
            packages: BTreeMap::new(),
            libraries: PathBuf::from("/rust/lib"),
        };
        let linked = ["native=/w/target/raddle/debug/build/a/out", "/w/target/raddle/b", "native=/usr/lib"];
        let linked = linked.map(str::to_owned).into_iter().collect();
        let path =
            workspace.library_path(Path::new("/w/target/raddle/debug/deps"), &linked).expect("it is text");
        let expected = "/w/target/raddle/b:/w/target/raddle/debug/build/a/out:/w/target/raddle/debug/deps:\
                        /w/target/raddle/debug:/rust/lib";
        assert!(path.starts_with(expected), "{path}");
    }
}
