//! The allowed dependencies between crates, and the crates that may have unsafe code.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::PathBuf;

/// A crate and the crates of this repository that it may depend on. Other crates of the repository may not
/// depend on anything of it, nor be depended on.
const LAYERS: &[(&str, &[&str])] = &[
    ("raddle-model", &[]),
    ("raddle-engine", &["raddle-model"]),
    ("raddle-history", &[]),
    ("raddle-idioms", &["raddle-model", "raddle-engine"]),
    ("raddle-strategies", &["raddle-model", "raddle-engine", "raddle-idioms"]),
    ("raddle-explain", &["raddle-model", "raddle-engine"]),
    (
        "raddle",
        &[
            "raddle-model",
            "raddle-engine",
            "raddle-strategies",
            "raddle-explain",
            "raddle-search",
            "raddle-report",
            "raddle-history",
            "raddle-macros",
        ],
    ),
    ("raddle-macros", &[]),
    ("raddle-native", &["raddle-model", "raddle-engine", "raddle-strategies"]),
    (
        "raddle-beam",
        &[
            "raddle-model",
            "raddle-engine",
            "raddle-strategies",
            "raddle-explain",
            "raddle-search",
            "raddle-report",
        ],
    ),
    ("raddle-search", &["raddle-model", "raddle-engine", "raddle-strategies", "raddle-explain"]),
    (
        "raddle-lab",
        &["raddle-model", "raddle-engine", "raddle-strategies", "raddle-explain", "raddle-search"],
    ),
    ("raddle-report", &["raddle-model"]),
    ("raddle-symbols", &["raddle-model"]),
    ("raddle-cc", &[]),
    ("raddle-store", &["raddle-symbols", "raddle-report", "raddle-model"]),
    // The native runtime is embedded as a file, never linked.
    (
        "raddle-launch",
        &[
            "raddle-model",
            "raddle-strategies",
            "raddle-explain",
            "raddle-search",
            "raddle-lab",
            "raddle-report",
            "raddle-symbols",
            "raddle-cc",
        ],
    ),
    (
        "raddle-bench",
        &[
            "raddle-model",
            "raddle-engine",
            "raddle-search",
            "raddle-lab",
            "raddle-report",
            "raddle-launch",
            "raddle-cc",
        ],
    ),
    ("raddle-cargo", &["raddle-model", "raddle-search", "raddle-launch", "raddle-cc"]),
    (
        "raddle-cli",
        &[
            "raddle-launch",
            "raddle-cargo",
            "raddle-bench",
            "raddle-model",
            "raddle-engine",
            "raddle-strategies",
            "raddle-explain",
            "raddle-search",
            "raddle-lab",
            "raddle-report",
            "raddle-store",
            "raddle-symbols",
            "raddle-cc",
            "raddle",
        ],
    ),
    ("raddle-testkit", &["raddle-model", "raddle-engine"]),
    ("xtask", &[]),
    // Benchmarks measure the layers that have a hot path.
    (
        "benchmark-steps",
        &["raddle-model", "raddle-engine", "raddle-strategies", "raddle-search", "raddle-lab"],
    ),
    // Shares no code with what it checks.
    ("exact", &[]),
    ("benchmark-maple", &[]),
    ("benchmark-native", &[]),
    ("lockfree", &["raddle"]),
    (
        "benchmark-strategies",
        &["raddle-model", "raddle-engine", "raddle-strategies", "raddle-search", "raddle-lab"],
    ),
];

/// Crates for tests only.
const FOR_TESTS: &[&str] = &["raddle-testkit", "exact"];
/// Crates that may set their own lints because they need unsafe code.
const UNSAFE: &[&str] = &["raddle-native", "raddle"];

/// Crates whose modules must not use each other in cycles; see [`crate::modules`].
pub(crate) const WITHOUT_CYCLES: &[&str] = &[
    "raddle-cli",
    "raddle-bench",
    "raddle-cargo",
    "raddle-launch",
    "raddle-search",
    "raddle-native",
    "xtask",
];

/// A package of the workspace.
#[derive(Deserialize, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    #[serde(rename = "manifest_path")]
    pub(crate) manifest: String,
    dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    /// The text of the manifest, which the metadata do not contain.
    #[serde(skip)]
    pub(crate) text: String,
}

/// A library, program, test or build script of a package.
#[derive(Deserialize, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    #[serde(rename = "src_path")]
    pub(crate) root: PathBuf,
}

#[derive(Deserialize, Debug)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or `None` for a normal one.
    kind: Option<String>,
    /// Set for crates of this repository.
    path: Option<String>,
}

/// Reads the output of `cargo metadata`.
pub(crate) fn packages(metadata: &[u8]) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let metadata: Metadata = serde_json::from_slice(metadata).context("cannot read cargo's metadata")?;
    Ok(metadata.packages)
}

/// Returns everything that is wrong with the packages, a sentence each.
pub(crate) fn check(packages: &[Package], workspace: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages {
        let name = &package.name;
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == name) else {
            wrong.push(format!("{name} has no layer; add it to xtask/src/layers.rs"));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let (target, for_tests) = (&dependency.name, dependency.kind.as_deref() == Some("dev"));
            // Tests may use these, and what lies below.
            let is_for_tests = FOR_TESTS.contains(&target.as_str());
            let fine = allowed.contains(&target.as_str()) || for_tests && is_for_tests;
            if !fine && is_for_tests {
                wrong.push(format!("{name} depends on {target}, which is for dev-dependencies only"));
            } else if !fine {
                wrong.push(format!("{name} may not depend on {target}"));
            }
        }
        if !UNSAFE.contains(&name.as_str()) && !has(&package.text, "[lints]", "workspace = true") {
            wrong.push(format!("{name} does not inherit the workspace lints, which deny unsafe code"));
        }
    }
    if !has(workspace, "[workspace.lints.rust]", "unsafe_code = \"deny\"") {
        wrong.push("the workspace does not deny unsafe code".to_owned());
    }
    wrong
}

/// Returns true if a section of a manifest has this line.
fn has(text: &str, section: &str, line: &str) -> bool {
    let inside = text.lines().map(str::trim).skip_while(|&found| found != section).skip(1);
    inside.take_while(|found| !found.starts_with('[')).any(|found| found == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "[workspace.lints.rust]\nunsafe_code = \"deny\"\n";

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |&(name, kind): &(&str, Option<&str>)| Dependency {
            name: name.to_owned(),
            kind: kind.map(str::to_owned),
            path: (name != "serde").then(|| name.to_owned()),
        };
        Package {
            name: name.to_owned(),
            manifest: String::new(),
            dependencies: dependencies.iter().map(dependency).collect(),
            targets: Vec::new(),
            text: "[package]\n\n[lints]\nworkspace = true\n".to_owned(),
        }
    }

    #[test]
    fn arrows_downwards_are_fine() {
        let packages = [
            package("raddle-model", &[("serde", None)]),
            package("raddle-engine", &[("raddle-model", None), ("raddle-testkit", Some("dev"))]),
            package("raddle-cli", &[("raddle-lab", None), ("raddle-report", None), ("exact", Some("dev"))]),
        ];
        assert_eq!(check(&packages, WORKSPACE), [""; 0]);
    }

    #[test]
    fn forbidden_arrows_are_caught() {
        for (from, to, kind, part) in [
            ("raddle-model", "raddle-engine", None, "raddle-model may not depend on raddle-engine"),
            ("raddle-engine", "raddle-strategies", Some("dev"), "may not depend on raddle-strategies"),
            ("raddle-report", "raddle-engine", None, "raddle-report may not depend on raddle-engine"),
            ("raddle-cli", "raddle-native", None, "raddle-cli may not depend on raddle-native"),
            ("raddle-lab", "raddle-testkit", None, "dev-dependencies only"),
            ("raddle-lab", "raddle-testkit", Some("build"), "dev-dependencies only"),
            ("raddle-cli", "exact", None, "dev-dependencies only"),
            ("exact", "raddle-model", None, "exact may not depend on raddle-model"),
            ("raddle-novelty", "serde", None, "raddle-novelty has no layer"),
        ] {
            let wrong = check(&[package(from, &[(to, kind)])], WORKSPACE);
            assert!(matches!(&wrong[..], [only] if only.contains(part)), "{from} -> {to}: {wrong:?}");
        }
    }

    #[test]
    fn unsafe_code_has_to_be_denied() {
        let mut careless = package("raddle-lab", &[]);
        careless.text = "[lints]\n\n[features]\nworkspace = true\n".to_owned();
        assert_eq!(check(&[careless], WORKSPACE).len(), 1);
        assert_eq!(check(&[], "[workspace.lints.rust]\nunsafe_code = \"warn\"\n").len(), 1);
    }
}
