//! Information from cargo and rustc about the crates of the current folder.

use anyhow::{Context, Result, ensure};
use cargo_metadata::camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{MetadataCommand, Package, PackageId};
use raddle_cc::rust::{asked, rustc};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The only target that the native runtime supports.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The field of a package whose spelling [`Package`] does not keep.
#[derive(Deserialize)]
struct Spelling {
    id: PackageId,
    rust_version: Option<String>,
}

#[derive(Deserialize)]
struct Spellings {
    packages: Vec<Spelling>,
}

/// The crates that cargo sees from the current folder, or from a manifest.
pub struct Workspace {
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The target directory of builds with hooks.
    pub target: PathBuf,
    packages: Vec<Package>,
    /// The oldest compilers that packages support, in their spelling.
    rust_versions: BTreeMap<PackageId, String>,
    /// The folder of the compiler's own libraries.
    libraries: PathBuf,
}

/// Returns the cargo that started this process, or else the one in `PATH`.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// Returns the host target of the compiler.
pub fn host() -> Result<String> {
    let printed = asked(rustc().arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("the output of `rustc -vV` names no host")?.to_owned())
}

impl Workspace {
    /// Asks cargo about the crates that it sees.
    pub fn find(manifest: Option<&Path>) -> Result<Workspace> {
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
        let printed = asked(&mut metadata)?;
        let metadata = MetadataCommand::parse(&printed).context("cargo's metadata cannot be read")?;
        let Spellings { packages } =
            serde_json::from_str(&printed).context("cargo's metadata cannot be read")?;
        let libraries = asked(rustc().args(["--print", "target-libdir"]))?;
        Ok(Workspace {
            root: metadata.workspace_root.into(),
            target: metadata.target_directory.join("raddle").into(),
            packages: metadata.packages,
            rust_versions: packages
                .into_iter()
                .filter_map(|package| Some((package.id, package.rust_version?)))
                .collect(),
            libraries: PathBuf::from(libraries.trim()),
        })
    }

    /// Returns the package with this id, if it belongs to the workspace.
    pub(crate) fn package(&self, id: &PackageId) -> Option<&Package> {
        self.packages.get(self.position(id)?)
    }

    /// Returns the position of the package with this id in the workspace.
    pub(crate) fn position(&self, id: &PackageId) -> Option<usize> {
        self.packages.iter().position(|package| package.id == *id)
    }

    /// Returns the folders of the packages.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.packages.iter().map(folder)
    }

    /// Returns the library path of a program in `folder`: as cargo sets it, before the existing value. Build
    /// scripts have named `linked`, of which cargo uses only paths that they have built.
    pub(crate) fn library_path(&self, folder: &Path, linked: &BTreeSet<String>) -> Result<String> {
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
        joined.into_string().ok().context("the path of libraries is not valid UTF-8")
    }

    /// Returns the variables that cargo sets for the tests of a package.
    pub(crate) fn environment(&self, package: &Package) -> Vec<(String, String)> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let path = |path: &Option<Utf8PathBuf>| path.clone().unwrap_or_default().into_string();
        let version = &package.version;
        let named = [
            ("MANIFEST_DIR", folder(package).display().to_string()),
            ("MANIFEST_PATH", package.manifest_path.to_string()),
            ("PKG_NAME", package.name.to_string()),
            ("PKG_VERSION", version.to_string()),
            ("PKG_VERSION_MAJOR", version.major.to_string()),
            ("PKG_VERSION_MINOR", version.minor.to_string()),
            ("PKG_VERSION_PATCH", version.patch.to_string()),
            ("PKG_VERSION_PRE", version.pre.to_string()),
            ("PKG_AUTHORS", package.authors.join(":")),
            ("PKG_DESCRIPTION", text(&package.description)),
            ("PKG_HOMEPAGE", text(&package.homepage)),
            ("PKG_REPOSITORY", text(&package.repository)),
            ("PKG_LICENSE", text(&package.license)),
            ("PKG_LICENSE_FILE", path(&package.license_file)),
            ("PKG_RUST_VERSION", text(&self.rust_versions.get(&package.id).cloned())),
            ("PKG_README", path(&package.readme)),
        ];
        named.into_iter().map(|(name, value)| (format!("CARGO_{name}"), value)).collect()
    }
}

/// Returns the folder of a package's `Cargo.toml`, in which its tests are started.
pub(crate) fn folder(package: &Package) -> &Path {
    package.manifest_path.parent().map_or(Path::new("."), Utf8Path::as_std_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_build_scripts_have_built_are_found() {
        let workspace = Workspace {
            root: PathBuf::from("/w"),
            target: PathBuf::from("/w/target/raddle"),
            packages: Vec::new(),
            rust_versions: BTreeMap::new(),
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
